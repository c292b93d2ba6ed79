"""``python -m inweights`` and its launchers import nothing from the current folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

#: Modules that the library, or a package that it imports, imports after its first line.
HOSTILE = (
    "polars",
    "numpy",
    "torch",
    "msgspec",
    "scipy",
    "csv",
    "email",
    "zipfile",
    "rich",
)
FACTS = "ann,mother,beth\nbeth,born_in,rome\n"
PROGRAM = Path(sys.executable).parent
LAUNCHERS = {
    "python": [sys.executable, "-m"],
    "torchrun": [str(PROGRAM / "torchrun"), "--nproc-per-node", "2", "-m"],
    "accelerate": [
        str(PROGRAM / "accelerate"),
        "launch",
        "--cpu",
        "--num_processes",
        "1",
        "-m",
    ],
}


@pytest.fixture
def folder(tmp_path) -> Path:
    """Return a folder of data with modules that write a file when they are imported."""
    for name in HOSTILE:
        (tmp_path / f"{name}.py").write_text(
            f"open({str(tmp_path / 'imported')!r}, 'a').write('{name} ')\nraise ImportError\n"
        )
    (tmp_path / "facts.csv").write_text(FACTS)
    return tmp_path


def start(
    folder: Path, launcher: list[str], *words: str
) -> subprocess.CompletedProcess[str]:
    # A library that is not installed is found by these paths, which leave out the
    # current folder.
    paths = [path for path in sys.path if path and Path(path) != Path.cwd()]
    return subprocess.run(
        [*launcher, "inweights", *words],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )


@pytest.mark.fast_cases(1)
@pytest.mark.parametrize(
    "name",
    ["python", *(pytest.param(n, marks=pytest.mark.slow) for n in list(LAUNCHERS)[1:])],
)
def test_nothing_is_imported_from_there(folder, name) -> None:
    if not Path(LAUNCHERS[name][0]).exists():
        pytest.skip(f"needs {name}, which is not installed")
    # torchrun starts two processes, of which the second takes its work from the first.
    trained = ("run", "demo/two-hop", "--scale", "smoke")
    words = trained if name == "torchrun" else ("audit", "facts.csv")
    done = start(folder, LAUNCHERS[name], *words)
    imported = folder / "imported"
    assert not imported.exists(), imported.read_text()
    assert done.returncode == 0, done.stderr


def test_what_is_named_is_imported(folder) -> None:
    (folder / "mine.py").write_text("print('mine is here')\n")
    done = start(folder, LAUNCHERS["python"], "list", "demo", "--plugin", "mine")
    assert "mine is here" in done.stdout
    assert done.returncode == 0, done.stderr
    assert not (folder / "imported").exists()


def test_a_program_of_ones_own_keeps_its_folder(tmp_path) -> None:
    """``python -m mine`` imports from its folder even after it has imported this library."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "__init__.py").write_text("import inweights\n")
    (tmp_path / "mine" / "__main__.py").write_text(
        "import sys, beside\nprint(beside.x)\n"
    )
    (tmp_path / "beside.py").write_text("x = 3\n")
    paths = [path for path in sys.path if path and Path(path) != Path.cwd()]
    done = subprocess.run(
        [sys.executable, "-m", "mine"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (0, "3\n"), done.stderr
