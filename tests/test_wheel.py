"""The wheel, installed alone, contains all code, pages and data."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
import zipfile
from collections.abc import Collection
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from tests.docs.printed import blocks

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the installed wheel and an environment with its requirements."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    subprocess.run(
        [*pip, "wheel", "--no-deps", "-w", str(folder), str(ROOT)], check=True
    )
    [wheel] = folder.glob("inweights-*.whl")
    venv.create(folder / "empty", with_pip=False)
    python = folder / "empty" / "bin" / "python"
    # Modules are compiled when they are imported, and few of them are.
    into = ["--python", str(python), "install", "--no-deps", "--no-compile", str(wheel)]
    subprocess.run([*pip, *into], check=True)
    link_needed(packages_of(folder / "empty"), ())
    return folder


def with_extra(folder: Path, extra: str) -> Path:
    """Make an environment with the wheel and an extra, and return its Python."""
    venv.create(folder / extra, with_pip=False)
    packages = packages_of(folder / extra)
    for item in packages_of(folder / "empty").iterdir():
        (packages / item.name).symlink_to(item)
    link_needed(packages, [extra])
    return folder / extra / "bin" / "python"


def packages_of(environment: Path) -> Path:
    """Return the folder in which an environment has its packages."""
    [packages] = (environment / "lib").glob("python*/site-packages")
    return packages


def link_needed(packages: Path, extras: Collection[str]) -> None:
    """Link the wheel's requirements, including extras, into a folder of packages."""
    for package in needed("inweights", extras):
        for file in metadata.files(package) or ():
            link = packages / file.parts[0]
            if file.parts[0] != ".." and not link.exists():
                link.symlink_to(
                    str(metadata.distribution(package).locate_file(file.parts[0]))
                )


def needed(
    name: str, extras: Collection[str] = (), known: frozenset[str] = frozenset()
) -> frozenset[str]:
    """Return the names of all requirements of a distribution with some of its extras."""
    for line in metadata.requires(name) or ():
        need = Requirement(line)
        wanted = need.marker is None or any(
            need.marker.evaluate({"extra": extra}) for extra in ("", *extras)
        )
        if wanted and need.name not in known:
            known = needed(need.name, need.extras, known | {need.name})
    return known


def run(installed: Path, program: str, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {
        k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "INWEIGHTS_RUNS")
    }
    return subprocess.run(
        [installed / "empty" / "bin" / program, *words],
        cwd=installed,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_wheel_has_no_tests_and_all_assets(installed: Path) -> None:
    names = zipfile.ZipFile(next(installed.glob("*.whl"))).namelist()
    assert not [
        name for name in names if name.startswith(("tests/", "docs/", "benchmarks/"))
    ]
    here = ROOT / "src" / "inweights"
    kept = {str(f.relative_to(ROOT / "src")) for f in here.rglob("*") if f.is_file()}
    assert "inweights/py.typed" in kept
    assert {name for name in kept if "__pycache__" not in name} <= set(names)


#: Program that runs other programs one after another, each in its own folder, so that
#: their imports happen once.
IN_TURN = """
import os, runpy, sys
for program in sys.argv[1:]:
    os.chdir(os.path.dirname(program))
    runpy.run_path(program, run_name="__main__")
"""


@pytest.mark.parametrize(
    ("pages", "extra"),
    [
        (("own-model", "own-function", "trained-model", "looking", "course/*"), ""),
        (("own-rows",), "hf"),
    ],
)
def test_pages_run_where_nothing_else_is(
    installed: Path, pages: tuple[str, ...], extra: str, tmp_path: Path
) -> None:
    """Pages print the expected output if only the wheel is installed."""
    python = installed / "empty" / "bin" / "python"
    if extra:
        python = with_extra(installed, extra)
    programs = []
    checks = 0
    for number, page in enumerate(pages):
        files = sorted((ROOT / "docs").glob(f"{page}.md"))
        text = "\n".join(file.read_text("utf-8") for file in files)
        checks += text.count("\ncheck(")
        folder = tmp_path / str(number)
        folder.mkdir()
        program = folder / "page.py"
        program.write_text("\n".join(block.code for block in blocks(text)))
        programs.append(str(program))
    kept = {
        k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "INWEIGHTS_RUNS")
    }
    done = subprocess.run(
        [python, "-c", IN_TURN, *programs],
        cwd=tmp_path,
        env=kept | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    # Exercises are run with their solutions, which are checked there.
    assert done.stdout.count("Right.\n") == checks
    assert "Not yet" not in done.stdout


#: Program that runs commands one after another, with arguments separated by spaces.
COMMANDS = """
import sys
from inweights.cli import main
for line in sys.argv[1:]:
    assert main(line.split()) == 0, line
"""


def test_commands_work_where_nothing_else_is(installed: Path) -> None:
    """The first command is started as users do, the others in one process."""
    done = run(installed, "inweights", "list")
    assert done.returncode == 0, done.stderr
    lines = ("predict @people", "explore bridge", "world two-hop")
    done = run(installed, "python", "-c", COMMANDS, *lines)
    assert done.returncode == 0, done.stderr
    assert (installed / "explore-bridge.html").stat().st_size > 20_000
