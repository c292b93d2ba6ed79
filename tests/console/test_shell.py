"""Printed commands with strings, lists and plugins work when they are pasted into bash."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import pytest
from tests.experiments.test_plugins import CODE
from tests.forks import Forks
from tests.shell import Shell

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    "words",
    [
        'demo/two-hop --scale smoke --set models=["emb-mlp"] --set n=4 --set every=2',
        "demo/two-hop --scale smoke --set models=emb-mlp,gpt --set gpt.model.attention=uniform",
        'demo/two-hop --scale smoke --seeds 7..8 --set \'models=["gpt", "emb-mlp"]\'',
        "mine/rings --plugin ./my_lab.py --set n=3",
    ],
)
def test_the_command_on_a_page_finds_the_same_run(
    forks: Forks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    monkeypatch.setenv("INWEIGHTS_RUNS", str(tmp_path / "runs"))
    (tmp_path / "my_lab.py").write_text(CODE)
    shell = Shell(forks, tmp_path)
    done = json.loads(shell.run(f"inweights run {words} --json"))
    text = Path(done["page"]).read_text(encoding="utf-8")
    again = html.unescape(re.findall(r'data-copy="(inweights run [^"]*)"', text)[-1])
    assert again.startswith("inweights run ")
    repeated = json.loads(shell.run(f"{again} --json"))
    assert repeated["cached"]
    assert repeated["folder"] == done["folder"]
