"""``make release``: build wheel and sdist, and test both in fresh environments.

Each file of ``dist/`` is installed into a fresh environment of every available Python
that the classifiers of ``pyproject.toml`` name, and runs the demonstration outside of
the checkout. Both commands of the README run in the unpacked sdist. A table with stage,
seconds and result is printed at the end.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from tests.house.environment import (
    PINS,
    ROOT,
    TORCH_ALONE,
    Environment,
    SetupError,
    call,
    set_up,
)

DIST = ROOT / "dist"
PYTHON = re.compile(r"Programming Language :: Python :: (3\.\d+)")
#: Files that wheel and sdist have to contain; paths of an sdist are below its folder.
IN_WHEEL = (
    "inweights/py.typed",
    "inweights/results/ledger.jsonl",
    "inweights/report/assets/",
)
IN_SDIST = (
    "LICENSE",
    "README.md",
    "CHANGELOG.md",
    "CITATION.cff",
    "Makefile",
    "constraints.txt",
    "src/inweights/py.typed",
    "tests/conftest.py",
    "docs/index.md",
)
NOT_IN_WHEEL = ("tests/", "docs/", "benchmarks/")
#: Commands of the README, run in the unpacked sdist.
README_COMMANDS = (("make", "demo"), ("make", "test"))
OK = "passed"


class NotHereError(Exception):
    """A stage cannot run on this machine; the message says why."""


@dataclass
class Stages:
    """Run stages one after another and record their results.

    Attributes:
        rows: Name, seconds and result of each stage.
    """

    rows: list[tuple[str, float, str]] = field(default_factory=list)

    def run(self, name: str, work: Callable[[], object]) -> bool:
        """Run a stage, print its name before and its result after, and return if it passed."""
        print(f"== {name}", flush=True)
        began = time.monotonic()
        try:
            work()
        except NotHereError as reason:
            result = f"not tried: {reason}"
        except SetupError as error:
            print(error, flush=True)
            first = str(error).splitlines()[0].rstrip(":")
            result = f"failed: {first}; its last lines are above"
        else:
            result = OK
        seconds = time.monotonic() - began
        self.rows.append((name, seconds, result))
        print(f"   {result}, {seconds:.0f} s", flush=True)
        return result == OK

    @property
    def failed(self) -> list[str]:
        """Names of the stages that failed."""
        return [name for name, _, result in self.rows if result.startswith("failed")]

    def table(self) -> str:
        """Return the closing table.

        Example:
            >>> print(Stages([("build", 3.2, "passed")]).table())
            stage | seconds | result
            build |       3 | passed
        """
        rows = [(name, f"{seconds:.0f}", result) for name, seconds, result in self.rows]
        rows = [("stage", "seconds", "result"), *rows]
        wide = max(len(name) for name, _, _ in rows)
        return "\n".join(
            f"{name:<{wide}} | {seconds:>7} | {result}"
            for name, seconds, result in rows
        )


def supported_pythons() -> list[str]:
    """Return the versions that the classifiers name, such as ``3.11``."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    found = (PYTHON.fullmatch(line) for line in project["classifiers"])
    return [match[1] for match in found if match]


def find_python(version: str) -> str:
    """Return the path of this version of Python; an empty string if it is not found."""
    name = f"python{version}"
    known = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    places = [shutil.which(name) or "", *known.glob(f"{version}.*/bin/{name}")]
    for place in map(str, places):
        if place and _says(place) == version:
            return place
    return ""


def _says(python: str) -> str:
    program = "import ensurepip, ssl, sys, venv; print('%d.%d' % sys.version_info[:2])"
    done = subprocess.run([python, "-c", program], capture_output=True, text=True)
    return done.stdout.strip()


def lacking(names: Iterable[str], wanted: Iterable[str]) -> list[str]:
    """Return the wanted prefixes with which no name begins.

    Example:
        >>> lacking(["a/b.py"], ["a/", "c.py"])
        ['c.py']
    """
    names = list(names)
    return [one for one in wanted if not any(name.startswith(one) for name in names)]


def build(tools: Environment) -> None:
    """Write wheel and sdist to an empty ``dist/``."""
    shutil.rmtree(DIST, ignore_errors=True)
    tools.make()
    tools.install_by_pip(["build", "twine"])
    call([str(tools.python), "-m", "build", "--outdir", str(DIST), "."])


def check(tools: Environment, wheel: Path, sdist: Path) -> None:
    """Check metadata and contents of both files."""
    twine = [str(tools.python), "-m", "twine", "check", "--strict"]
    call([*twine, str(wheel), str(sdist)])
    with zipfile.ZipFile(wheel) as archive:
        in_wheel = archive.namelist()
    with tarfile.open(sdist) as archive:
        in_sdist = [name.partition("/")[2] for name in archive.getnames()]
    wrong = [name for name in in_wheel if name.startswith(NOT_IN_WHEEL)]
    lacks = [*lacking(in_wheel, IN_WHEEL), *lacking(in_sdist, IN_SDIST)]
    if wrong or lacks:
        raise SetupError(
            f"the wheel has {wrong[:3]}, which it should not; missing: {lacks}"
        )


def try_artefact(file: Path, python: str, place: Path, cuda: bool) -> None:
    """Install a file into a fresh environment, and run the demonstration in it."""
    fresh = Environment(place / "fresh", python)
    shutil.rmtree(fresh.folder, ignore_errors=True)
    try:
        set_up(fresh, TORCH_ALONE, cuda)
    except SetupError as error:
        if "for CPUs was not found" not in str(error):
            raise
        raise NotHereError(
            "no CPU build of torch for it is within reach (CUDA=1 takes the large one)"
        ) from error
    fresh.install_by_pip(["-c", str(PINS), str(file)])
    shutil.rmtree(place / "runs", ignore_errors=True)
    command = str(fresh.bin / "inweights")
    call([command, "--version"], cwd=place)
    call([command, "demo", "--fresh"], cwd=place, INWEIGHTS_RUNS=str(place / "runs"))


def try_sources(sdist: Path, place: Path, command: tuple[str, ...]) -> None:
    """Run a command in the unpacked sdist, which is unpacked by the first call only."""
    home = place / "unpacked"
    if not home.exists():
        with tarfile.open(sdist) as archive:
            archive.extractall(home, filter="data")
    (folder,) = home.iterdir()
    call(list(command), cwd=folder)


def main() -> int:
    """Run all stages; return 1 if one failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cuda", action="store_true", help="torch's large build, too")
    given = parser.parse_args()
    stages = Stages()
    with tempfile.TemporaryDirectory() as folder:
        _run(stages, Path(folder), given.cuda)
    print(f"\n{stages.table()}")
    if stages.failed:
        print(f"failed: {', '.join(stages.failed)}")
        return 1
    print(f"both files are in {DIST.relative_to(ROOT)}/, with these hashes (SHA-256):")
    for file in sorted(DIST.iterdir()):
        print(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}")
    return 0


def _run(stages: Stages, place: Path, cuda: bool) -> None:
    tools = Environment(place / "tools")
    if not stages.run("build wheel and sdist", lambda: build(tools)):
        return
    (wheel,), (sdist,) = DIST.glob("*.whl"), DIST.glob("*.tar.gz")
    stages.run("check metadata and contents", lambda: check(tools, wheel, sdist))
    for version in supported_pythons():
        python = find_python(version)
        for kind, file in (("wheel", wheel), ("sdist", sdist)):

            def work(python: str = python, file: Path = file) -> None:
                if not python:
                    raise NotHereError("this Python is not on this machine")
                try_artefact(file, python, place, cuda)

            stages.run(f"install {kind} on Python {version}, and demo", work)
    for command in README_COMMANDS:

        def work_from_sources(command: tuple[str, ...] = command) -> None:
            try_sources(sdist, place, command)

        stages.run(f"{' '.join(command)} in the unpacked sdist", work_from_sources)


if __name__ == "__main__":
    sys.exit(main())
