"""What tests of the console share."""

from __future__ import annotations

from pathlib import Path

import pytest

from inweights.cli import main


@pytest.fixture(scope="session")
def demos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two finished runs of the demonstration, one with changed settings; they are only read."""
    root = tmp_path_factory.mktemp("runs")
    words = ["run", "two-hop", "--scale", "smoke", "--runs", str(root), "--json"]
    assert main([*words, "--set", "n=5", "--set", "models=emb-mlp,gpt"]) == 0
    assert main(words) == 0
    return root
