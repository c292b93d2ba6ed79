"""What is built is what works: the wheel, installed on its own, has its code, pages and data."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel alone in a folder; its dependencies are those of this environment."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    subprocess.run([*pip, "wheel", "--no-deps", "-w", str(folder), str(ROOT)], check=True)
    [wheel] = folder.glob("inweights-*.whl")
    into = ["install", "--no-deps", "--target", str(folder / "lib"), str(wheel)]
    subprocess.run([*pip, *into], check=True)
    return folder


def run(installed: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "INWEIGHTS_RUNS")}
    code = f"import sys; sys.path.insert(0, {str(installed / 'lib')!r}); "
    code += "import inweights; assert inweights.__file__.startswith(sys.path[0]), inweights; "
    code += "from inweights.cli import main; sys.exit(main(sys.argv[1:]))"
    return subprocess.run(
        [sys.executable, "-P", "-c", code, *words],
        cwd=installed, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_wheel_has_no_tests_and_all_assets(installed: Path) -> None:
    names = zipfile.ZipFile(next(installed.glob("*.whl"))).namelist()
    assert not [name for name in names if name.startswith(("tests/", "docs/", "benchmarks/"))]
    here = ROOT / "src" / "inweights"
    kept = {str(f.relative_to(ROOT / "src")) for f in here.rglob("*") if f.is_file()}
    assert {name for name in kept if "__pycache__" not in name} <= set(names)


def test_commands_work_where_nothing_else_is(installed: Path) -> None:
    for words in (["list"], ["predict", "@people"], ["explore", "bridge"], ["world", "two-hop"]):
        done = run(installed, *words)
        assert done.returncode == 0, (words, done.stderr)
    assert (installed / "explore-bridge.html").stat().st_size > 20_000
