"""Processes that train: what they import, and when they end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.waiting import ended, wait_until

ROOT = Path(__file__).parents[2]
#: Runs the demonstration in two processes like the console script, which does not import
#: from the current folder.
RUN = (
    "import sys; from inweights.cli import main; "
    "sys.exit(main(['run', sys.argv[1], '--scale', 'smoke', '--jobs', '2', *sys.argv[2:]]))"
)
PLUGIN = """
from dataclasses import replace
from inweights.recipes import get_recipe, register
register(replace(get_recipe("demo/two-hop"), name="mine/demo", claims=()))
"""


def start(
    here: Path, *words: str, path: tuple[Path, ...] = ()
) -> subprocess.Popen[str]:
    search = os.pathsep.join(map(str, (ROOT / "src", *path)))
    environment = os.environ | {
        "PYTHONPATH": search,
        "INWEIGHTS_RUNS": str(here / "runs"),
    }
    return subprocess.Popen(
        [sys.executable, "-P", "-c", RUN, *words],
        cwd=here,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


@pytest.mark.slow
def test_plugins_are_found_on_the_path_and_nothing_in_the_current_folder(
    tmp_path,
) -> None:
    marker = tmp_path / "HIT"
    for name in ("polars", "queue"):
        (tmp_path / f"{name}.py").write_text(f"open({str(marker)!r}, 'w').close()\n")
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "my_recipes.py").write_text(PLUGIN)
    words = ("mine/demo", "--plugin", "my_recipes")
    process = start(tmp_path, *words, path=(tmp_path / "lib",))
    _, error = process.communicate()
    assert process.returncode == 0, error
    assert not marker.exists()


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs Linux's /proc")
def test_processes_end_with_their_parent(tmp_path) -> None:
    """The child processes end after their parent alone was killed with SIGKILL."""
    process = start(tmp_path, "demo/two-hop", "--set", "gpt.phase.steps=100000")
    children: list[str] = []

    def two_children() -> bool:
        lists = Path(f"/proc/{process.pid}/task").glob("*/children")
        children[:] = [child for one in lists for child in one.read_text().split()]
        return len(children) == 2

    try:
        wait_until(two_children, unless=ended(process))
        wait_until(
            lambda: list(tmp_path.glob("runs/store/unfinished/*")),
            unless=ended(process),
        )
        process.kill()
        process.wait()
        wait_until(lambda: not any(_lives(child) for child in children))
    finally:
        process.kill()
        for child in filter(_lives, children):
            os.kill(int(child), signal.SIGKILL)
        process.communicate()


def _lives(process: str) -> bool:
    try:
        return (
            Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
            != "Z"
        )
    except OSError:
        return False
