"""Files and folders are complete or absent, at whatever step writing is interrupted."""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from inweights.support.publish import publish_file, publish_folder

#: Operations of writing to a disk; each may be the last one.
STEPS = ("fsync", "replace", "link", "unlink", "rmdir", "rename")


class Stop:
    """Make the n-th operation raise an error or kill the process."""

    def __init__(self, monkeypatch, n: int, *, kill: bool = False) -> None:
        self.done, self.n, self.kill = 0, n, kill
        for name in STEPS:
            monkeypatch.setattr(os, name, partial(self.step, getattr(os, name)))

    def step(self, do, *words, **options):
        self.done += 1
        if self.done == self.n:
            if self.kill:
                os.kill(os.getpid(), signal.SIGKILL)
            raise OSError(28, "No space left on device")
        return do(*words, **options)


def content(place: Path) -> object:
    """Return the content of a path; ``None`` if it does not exist."""
    if place.is_dir():
        return {file.name: file.read_bytes() for file in place.iterdir()}
    return place.read_bytes() if place.exists() else None


def file(root: Path, *, new: bool = False) -> None:
    publish_file(root / "x", b"new", new=new)


def folder(root: Path, *, replace: bool = True) -> None:
    made = root / "made"
    made.mkdir(exist_ok=True)
    for name in "ab":
        (made / name).write_bytes(b"new")
    publish_folder(made, root / "x", replace=replace)


WAYS: dict[str, tuple[Callable[[Path], None], Any, Any]] = {
    "file": (file, b"old", b"new"),
    "new file": (partial(file, new=True), None, b"new"),
    "folder": (folder, {"a": b"old"}, {"a": b"new", "b": b"new"}),
    "new folder": (partial(folder, replace=False), None, {"a": b"new", "b": b"new"}),
}


def begin(root: Path, old: object) -> None:
    root.mkdir()
    if isinstance(old, bytes):
        (root / "x").write_bytes(old)
    elif old:
        (root / "x").mkdir()
        (root / "x" / "a").write_bytes(b"old")


@pytest.mark.parametrize("way", WAYS)
def test_a_step_that_fails(tmp_path, way) -> None:
    write, old, new = WAYS[way]
    for n in itertools.count(1):
        root = tmp_path / str(n)
        begin(root, old)
        with pytest.MonkeyPatch.context() as patch:
            stop = Stop(patch, n)
            with suppress(OSError):
                write(root)
            reached = stop.done >= n
        whole = [content(root / name) for name in ("x", "x.old")]
        assert whole[0] in (old, new) or whole[1] == old, (n, whole)
        if content(root / "x") != new:
            write(root)
        assert content(root / "x") == new
        if not reached:
            assert n > 2
            assert {p.name for p in root.iterdir()} == {"x"}
            return


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that are forked")
@pytest.mark.parametrize("way", WAYS)
def test_a_kill_at_a_step(tmp_path, way) -> None:
    write, old, new = WAYS[way]
    for n in itertools.count(1):
        root = tmp_path / str(n)
        begin(root, old)
        child = os.fork()
        if not child:  # does only this, and exits without cleaning up
            Stop(pytest.MonkeyPatch(), n, kill=True)
            write(root)
            os._exit(0)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert content(root / "x") in (old, new) or content(root / "x.old") == old
        if code == 0:
            assert content(root / "x") == new
            return
        assert code == -signal.SIGKILL


def test_a_file_that_is_there_stays_if_a_new_one_is_wanted(tmp_path) -> None:
    publish_file(tmp_path / "x", b"one", new=True)
    with pytest.raises(FileExistsError):
        publish_file(tmp_path / "x", b"two", new=True)
    assert content(tmp_path) == {"x": b"one"}


def test_a_folder_that_is_there_stays_unless_it_is_to_be_replaced(tmp_path) -> None:
    begin(tmp_path / "r", {"a": b"old"})
    with pytest.raises(OSError, match="not empty"):
        folder(tmp_path / "r", replace=False)
    assert content(tmp_path / "r" / "x") == {"a": b"old"}


def test_a_link_in_the_place_is_replaced_and_not_followed(tmp_path) -> None:
    (tmp_path / "precious").write_bytes(b"mine")
    (tmp_path / "x").symlink_to(tmp_path / "precious")
    publish_file(tmp_path / "x", b"new")
    assert (tmp_path / "precious").read_bytes() == b"mine"
    assert content(tmp_path / "x") == b"new"
