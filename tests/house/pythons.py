"""``make test-pythons``: the fast tier on every Python that the project names and the machine has.

Each Python has an environment in ``.venvs/``. There the tests run with the versions of
``constraints.txt``, and then with the newest of everything but torch. What could not be
run is said in a line, and is no failure: a machine without a Python says nothing about
it.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

from tests.house.environment import Environment, SetupError, name_of, read_pins, set_up

ROOT = Path(__file__).parents[2]
#: Of a project's classifier.
VERSION = re.compile(r"Programming Language :: Python :: (3\.\d+)")
TIER = "not slow and not gpu and not network"


def versions() -> list[str]:
    """The Pythons that the project says it runs on."""
    said = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]
    return [m[1] for one in said["classifiers"] if (m := VERSION.fullmatch(one))]


def find(version: str) -> str | None:
    """A Python of a version: in the path, or one that pyenv has built."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    built = sorted(pyenv.glob(f"versions/{version}.*/bin/python"))
    for path in (shutil.which(f"python{version}"), *map(str, built)):
        if (
            path
            and subprocess.run([path, "-c", ""], capture_output=True).returncode == 0
        ):
            return path
    return None


def install(folder: Path, found: str, newest: bool, cuda: bool) -> str:
    """Install the project and what tests need; return what went wrong, or nothing.

    With the newest versions, torch keeps its own.
    """
    environment = Environment(folder, found)
    try:
        set_up(environment, "dev", cuda)
        if newest:
            pins = read_pins()
            torch = next(pin for pin in pins["demo"] if name_of(pin) == "torch")
            newer = ["--upgrade", "--upgrade-strategy", "eager", torch, "-e", ".[dev]"]
            environment.install_by_pip(newer)
            optional = [name_of(pin) for pin in pins["optional"]]
            environment.install_by_pip(["--upgrade", "--no-deps", *optional])
    except SetupError as error:
        return str(error)
    return ""


def run(version: str, given: argparse.Namespace) -> bool:
    """Run the tests twice on one Python, a line each; return whether none failed."""
    found = find(version)
    if found is None:
        print(f"{version}: not run, this machine has no Python {version}")
        return True
    folder = ROOT / ".venvs" / version
    python = folder / "bin" / "python"
    well = True
    for kind in ("pinned", "newest"):
        wrong = install(folder, found, kind == "newest", given.cuda)
        if wrong:
            print(f"{version} {kind}: not run, {wrong}")
            continue
        words = given.words or [
            "src",
            "tests",
            "-n",
            "auto",
            "--dist",
            "worksteal",
            "-m",
            TIER,
        ]
        log = folder / f"{kind}.log"
        with log.open("w", encoding="utf-8") as file:
            done = subprocess.run(
                [python, "-m", "pytest", "-q", *words], cwd=ROOT, stdout=file
            )
        last = log.read_text(encoding="utf-8").strip().rpartition("\n")[2]
        print(
            f"{version} {kind}: {last}" + (f"; see {log}" if done.returncode else ""),
            flush=True,
        )
        well &= done.returncode == 0
    return well


def main() -> int:
    """Run every Python that is wanted; 1 where a test fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="a version, such as 3.13")
    parser.add_argument(
        "--cuda", action="store_true", help="take torch's build for NVIDIA GPUs"
    )
    parser.add_argument(
        "words", nargs="*", help="for pytest, in place of all tests of the tier"
    )
    given = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    return int(
        False in [run(one, given) for one in versions() if given.only in (None, one)]
    )


if __name__ == "__main__":
    sys.exit(main())
