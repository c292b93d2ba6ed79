"""Links in stores, plans and run folders are not followed, also by ``tidy``."""

from __future__ import annotations

import os
import shutil
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import polars as pl
import pytest
from tests.experiments.small import DRAWS, Draws
from tests.parameters import mostly_slow
from tests.runs.tiny import RECIPE

from inweights.actions.plans import work, write_plan
from inweights.actions.plans.files import Planned
from inweights.errors import ConfigError, FolderError
from inweights.experiments.engine.engine import execute
from inweights.experiments.engine.execution import ExecutionOptions
from inweights.experiments.engine.outcome_files import refresh
from inweights.runs import RunFolder, RunStore, about
from inweights.runs.tables.store import Store

KINDS = ("folder", "file", "dangling")
RUNS = (
    *(
        "tests",
        "tests/tiny",
        "tests/tiny/????????????",
        "tests/tiny/*.work",
        "tests/tiny/*.old",
    ),
    *(
        f"tests/tiny/*/{name}"
        for name in ("config.json", "manifest.json", "outcome.json")
    ),
    *("tests/tiny/*/tables", "tests/tiny/*/tables/*", ".locks", ".locks/*"),
    *("store", "store/??", "store/??/*", "store/??/*/*.parquet", "store/??/*/run.json"),
    *("store/locks", "store/locks/task.lock", "store/unfinished", "store/unfinished/*"),
    *("store/unfinished/*/wanted.json", "store/unfinished/*/state"),
)
PLAN = (
    *("plan.json", "index.json", "tasks", "tasks/*", "failed", "failed/*"),
    *("store", "store/??", "store/??/*", "store/??/*/*.parquet"),
    *("store/leases", "store/leases/*", "store/leases/*/*"),
)
Doing = list[Callable[[], object]]
#: Audit events of Python that read, list, write or delete a path.
TOUCHES = {
    "open",
    "os.listdir",
    "os.scandir",
    "os.remove",
    "os.rmdir",
    "os.rename",
    "os.truncate",
}
watched: list[tuple[Path, list[str]]] = []


def _hook(event: str, given: tuple[object, ...]) -> None:
    if (
        watched
        and event in TOUCHES
        and given
        and isinstance(given[0], str | os.PathLike)
    ):
        outside, touched = watched[-1]
        place = Path.cwd() / given[0]
        # Renaming and removing affect the link itself; opening affects the file to which it
        # points to.
        real = (
            place.parent.resolve()
            if event in ("os.remove", "os.rename")
            else place.resolve()
        )
        if real.is_relative_to(outside):
            touched.append(f"{event} {place}")


sys.addaudithook(_hook)


@contextmanager
def nothing_touched(outside: Path) -> Iterator[None]:
    """Check that nothing below a folder is opened, listed, written or deleted in the block."""
    before = {p: p.is_file() and p.read_bytes() for p in outside.rglob("*")}
    touched: list[str] = []
    watched.append((outside.resolve(), touched))
    try:
        yield
    finally:
        watched.pop()
    assert touched == []
    assert {p: p.is_file() and p.read_bytes() for p in outside.rglob("*")} == before


def plant(root: Path, pattern: str, kind: str, outside: Path) -> None:
    """Replace the first match of a pattern with a link to a valid copy."""
    place = min(root.glob(pattern))
    outside.mkdir()
    target = outside / "there"
    if kind == "folder":
        if place.is_dir():
            shutil.copytree(place, target)
        target.mkdir(exist_ok=True)
        (target / "precious").write_text("mine")
        (target / "wanted.json").write_text("[]")
    elif kind == "file":
        shutil.copy(place, target) if place.is_file() else target.write_text("mine")
    shutil.rmtree(place) if place.is_dir() else place.unlink()
    place.symlink_to(target)


def said(doing: Doing) -> list[str]:
    """Perform actions one after another, and return the messages about links."""
    told = []
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        for do in doing:
            try:
                do()
            except FolderError as error:
                told.append(str(error))
    return told + [str(one.message) for one in warned]


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> Path:
    """Return a complete run, a running one, an earlier one, and an interrupted training run."""
    root = tmp_path_factory.mktemp("links") / "runs"
    folder = execute(RECIPE, "smoke", store=RunStore(root)).folder
    for other in (folder.work, folder.old):
        shutil.copytree(
            folder.path, other, ignore=shutil.ignore_patterns("manifest.json")
        )
    store = Store(root / "store")
    made = min(store.listed())
    store.describe(made[0], {})
    with store.lock("task"):
        pass
    with suppress(KeyboardInterrupt), store.unfinished("k", [made]) as (file, _):
        file.write_bytes(b"half")
        raise KeyboardInterrupt
    return root


def use_runs(root: Path) -> Doing:
    runs, config = RunStore(root), RECIPE.resolve("smoke")[2]

    def look() -> None:
        for one in (*runs, *runs.of(RECIPE.name)):
            about(one)
            one.verify()
            one.tables()

    def mine() -> RunFolder:
        return runs.folder(RECIPE.name, config)

    def store() -> Store:
        return ExecutionOptions().open_store(root)

    def fill() -> None:
        for owner, part in store().listed():
            store().describe(owner, {"a": 1})
            store().write(owner, part, pl.DataFrame({"a": [1]}))
            store().forget(owner, part)

    def train() -> None:
        with store().unfinished("k", [("ab", "cd")]) as (file, _):
            file.write_bytes(b"more")

    def hold() -> None:
        with store().lock("task"):
            pass

    return [
        lambda: [one.state for one in runs],
        look,
        hold,
        lambda: store().tidy(),
        train,
        fill,
        lambda: execute(RECIPE, "smoke", store=runs),
        lambda: refresh(RECIPE, mine()),
        lambda: execute(
            RECIPE, "smoke", store=runs, execution=ExecutionOptions(fresh=True)
        ),
        lambda: mine().discard(),
    ]


@pytest.fixture(scope="module")
def plan(tmp_path_factory) -> Path:
    """Return a plan with a failed task and an abandoned lease."""
    root = tmp_path_factory.mktemp("links") / "plan"
    write(root)
    planned = Planned(str(root))
    assert work(planned).failed == 1
    planned.store.files.write("leases/task/00000001", b"{}")
    return root


def write(root: Path) -> None:
    write_plan(
        DRAWS.plan(Draws(poison=1)),
        range(2),
        str(root),
        plugins=["tests.experiments.small"],
    )


def use_plan(root: Path) -> Doing:
    def again() -> None:
        with suppress(ConfigError):  # there is a link
            write(root)

    return [
        again,
        lambda: Planned(str(root)).status(),
        lambda: Planned(str(root)).forgive(),
        lambda: work(Planned(str(root))),
        lambda: Planned(str(root)).store.leases.free("task"),
    ]


@pytest.mark.parametrize("kind", mostly_slow(KINDS, "folder".__eq__))
@pytest.mark.parametrize(
    ("what", "pattern"),
    [*(("runs", one) for one in RUNS), *(("plan", one) for one in PLAN)],
)
def test_a_link_at_any_level(request, tmp_path, what, pattern, kind) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    shutil.copytree(request.getfixturevalue(what), root)
    plant(root, pattern, kind, outside)
    with nothing_touched(outside):
        told = said((use_runs if what == "runs" else use_plan)(root))
    assert any(" is a link, " in text and "not followed" in text for text in told), told


@pytest.mark.parametrize(
    "wanted",
    [
        b"[]",
        b"",
        b"{",
        b'[["a"]]',
        b'[["", ""]]',
        b'[["../../x", "a"]]',
        b'[["ab", "a/../b"]]',
    ],
)
def test_tidy_removes_nothing_without_a_list_of_what_is_waited_for(
    tmp_path, wanted
) -> None:
    store = Store(tmp_path)
    store.files.write("unfinished/k/wanted.json", wanted)
    store.files.write("unfinished/k/state", b"half")
    store.tidy()
    assert store.files.read("unfinished/k/state") == b"half"


def test_tidy_removes_folders_of_trainings_alone(tmp_path) -> None:
    store = Store(tmp_path)
    store.write("abcd", "x", pl.DataFrame({"a": [1]}))
    for folder in ("unfinished", "unfinished/a/b", "unfinished/k"):
        store.files.write(f"{folder}/wanted.json", b'[["abcd", "x"]]')
    store.tidy()
    assert store.files.names("unfinished") == [
        "unfinished/a/b/wanted.json",
        "unfinished/wanted.json",
    ]


def test_what_cannot_be_removed_is_an_error(tmp_path, monkeypatch) -> None:
    files = Store(tmp_path).files
    files.write("a/b", b"")
    files.remove_folder("none")

    def denied(*_words: object, **_options: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "unlink", denied)
    with pytest.raises(PermissionError):
        files.remove_folder("a")


@pytest.mark.parametrize("name", ["..", "a/../../b", "/etc/passwd", "a//b", "a/./b"])
def test_a_name_leads_to_no_other_folder(tmp_path, name) -> None:
    files = Store(tmp_path / "store").files
    for use in (files.read, files.names, files.remove, files.remove_folder):
        with pytest.raises(FolderError, match="must refer to a file inside"):
            use(name)
