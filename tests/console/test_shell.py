"""Commands that are printed are pasted into bash: strings, lists and plugins arrive, and work."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.experiments.test_plugins import CODE

pytestmark = pytest.mark.slow

BASH = shutil.which("bash")


@pytest.fixture
def shell(tmp_path):
    """Run lines in bash, where ``inweights`` is this library's command."""
    if BASH is None:
        pytest.skip("needs bash")
    command = tmp_path / "bin" / "inweights"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m inweights "$@"\n')
    command.chmod(0o755)
    (tmp_path / "my_lab.py").write_text(CODE)
    path = f"{command.parent}{os.pathsep}{os.environ['PATH']}"
    source = os.pathsep.join(filter(None, sys.path))
    environment = os.environ | {"PATH": path, "PYTHONPATH": source}
    environment["INWEIGHTS_RUNS"] = str(tmp_path / "runs")

    def run(line: str) -> str:
        done = subprocess.run(
            [BASH], input=line, text=True, capture_output=True, cwd=tmp_path, env=environment
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.mark.parametrize(
    "words",
    [
        'demo/two-hop --scale smoke --set models=["emb-mlp"] --set n=4 --set every=2',
        "demo/two-hop --scale smoke --set models=emb-mlp,gpt --set gpt.model.attention=uniform",
        'demo/two-hop --scale smoke --seeds 7..8 --set \'models=["gpt", "emb-mlp"]\'',
        "mine/rings --plugin ./my_lab.py --set n=3",
    ],
)
def test_the_command_on_a_page_finds_the_same_run(shell, words: str) -> None:
    done = json.loads(shell(f"inweights run {words} --json"))
    text = Path(done["page"]).read_text(encoding="utf-8")
    again = html.unescape(re.findall(r'data-copy="(inweights run [^"]*)"', text)[-1])
    assert again.startswith("inweights run ")
    repeated = json.loads(shell(f"{again} --json"))
    assert repeated["cached"]
    assert repeated["folder"] == done["folder"]
