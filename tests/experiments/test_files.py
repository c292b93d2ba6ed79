"""Files in a folder and in an object store satisfy the same contract."""

from __future__ import annotations

import errno
import os
import threading

import polars as pl
import pytest

from inweights.errors import ConfigError, WriteError
from inweights.experiments import Plan
from inweights.experiments.engine.collect import collect
from inweights.runs.tables.files import Folder, open_files
from inweights.runs.tables.object_store import ObjectStore
from inweights.runs.tables.store import Store


@pytest.fixture(params=["folder", "object store"])
def files(request, tmp_path):
    if request.param == "folder":
        return open_files(tmp_path)
    pytest.importorskip("obstore", reason="needs the extra 'cluster'")
    return open_files("memory:///")


def test_what_is_written_is_read(files) -> None:
    assert files.read("a/b") is None
    files.write("a/b", b"one")
    files.write("a/b", b"two")
    assert files.read("a/b") == b"two"


def test_of_several_that_create_one_does(files) -> None:
    ready, won = threading.Barrier(8), []

    def create(number: int) -> None:
        ready.wait()
        if files.create("x/lease", b"%d" % number):
            won.append(number)

    threads = [threading.Thread(target=create, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1
    assert files.read("x/lease") == b"%d" % won[0]


def test_names_are_those_below_a_folder(files) -> None:
    for name in ("a/2", "a/b/1", "ab/3"):
        files.write(name, b"")
    assert files.names("a") == ["a/2", "a/b/1"]
    assert files.names("") == ["a/2", "a/b/1", "ab/3"]
    files.remove_folder("a")
    assert files.names("") == ["ab/3"]
    files.remove("ab/3")
    files.remove("never/there")
    files.remove_folder("never")
    assert files.names("") == []


def test_near_files_are_kept_when_they_say_so(files) -> None:
    with files.near("u/state") as (path, saved):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"half")
        saved()
    with files.near("u/state") as (path, _):
        assert path.read_bytes() == b"half"


def test_a_checkpoint_that_was_half_removed_is_tidied_up_later(
    tmp_path, monkeypatch
) -> None:
    """A process killed while it removes a finished checkpoint leaves the list of its tables."""
    store = Store(tmp_path)
    with (
        monkeypatch.context() as patch,
        store.unfinished("k", [("a" * 20, "x")]) as (state, _),
    ):
        state.write_bytes(b"1" * 100)
        store.write("a" * 20, "x", pl.DataFrame({"x": [1]}))
        patch.setattr(Folder, "remove_folder", lambda *_: None)
        store._remove_unfinished("unfinished/k")
        assert store.files.names("unfinished") == ["unfinished/k/wanted.json"]
        patch.undo()
        collect(
            Plan(), [0], store
        )  # nothing is left to do, and the checkpoint is removed nevertheless
        assert not store.files.names("unfinished")


@pytest.mark.skipif(
    not hasattr(os, "mkfifo"), reason="there are no pipes in folders here"
)
def test_a_file_of_somebody_else_in_the_root_is_not_listed(files, monkeypatch) -> None:
    monkeypatch.setattr("inweights.runs.tables.stored.open_files", lambda _root: files)
    store = Store("a")
    store.write("aabb", "recall", pl.DataFrame({"hit": [1.0]}))
    files.write("mine.parquet", b"")
    assert store.listed() == {("aabb", "recall")}


def test_a_pipe_in_the_place_of_a_file_keeps_nobody_waiting(tmp_path) -> None:
    os.mkfifo(tmp_path / "one")
    assert Folder(tmp_path).read("one") is None


def test_a_folder_that_is_away_is_tried_again(tmp_path, monkeypatch) -> None:
    calls: list[int] = []
    monkeypatch.setattr("time.sleep", lambda _: None)

    def put(old: str, new: str) -> None:
        calls.append(1)
        if len(calls) < 4:
            raise OSError(errno.ESTALE, "Stale file handle")
        real(old, new)

    real = os.replace
    monkeypatch.setattr("os.replace", put)
    Folder(tmp_path).write("a", b"1")
    assert len(calls) == 4
    assert [path.name for path in tmp_path.iterdir()] == ["a"]

    def full(old: object, new: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(WriteError, match="No space left"):
        Folder(tmp_path).write("b", b"1")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_an_address_that_cannot_be_is_refused() -> None:
    pytest.importorskip("obstore", reason="needs the extra 'cluster'")
    with pytest.raises(ConfigError, match="not an address of an object store"):
        ObjectStore("gopher://x/y")
    assert isinstance(Store("memory:///").files, ObjectStore)


@pytest.mark.parametrize("arrived", [True, False])
def test_a_creation_without_an_answer_is_tried_again(
    monkeypatch, arrived: bool
) -> None:
    """The first attempt may have succeeded; the second then finds its own file."""
    obstore = pytest.importorskip("obstore", reason="needs the extra 'cluster'")
    store = open_files("memory:///")
    monkeypatch.setattr("time.sleep", lambda _: None)
    put, tries = obstore.put, []

    def hangs_once(*words, **options):
        tries.append(words)
        if len(tries) > 1 or arrived:
            put(*words, **options)
        if len(tries) == 1:
            raise obstore.exceptions.GenericError("error sending request")

    monkeypatch.setattr(obstore, "put", hangs_once)
    assert store.create("lease", b"mine")
    assert len(tries) == 2
    assert store.read("lease") == b"mine"
    assert not store.create("lease", b"another's")


def test_a_refusal_is_not_tried_again(monkeypatch) -> None:
    obstore = pytest.importorskip("obstore", reason="needs the extra 'cluster'")
    store, tries = open_files("memory:///"), []

    def refused(*words, **options):
        tries.append(words)
        raise obstore.exceptions.PermissionDeniedError("no")

    monkeypatch.setattr(obstore, "put", refused)
    with pytest.raises(WriteError, match="cannot read or write"):
        store.create("lease", b"mine")
    assert len(tries) == 1
