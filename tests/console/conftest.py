"""Fixtures of the console tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from inweights.cli import main


@pytest.fixture(scope="session")
def demos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of two finished demonstration runs, one with changed settings."""
    root = tmp_path_factory.mktemp("runs")
    words = ["run", "two-hop", "--scale", "smoke", "--runs", str(root), "--json"]
    assert main([*words, "--set", "n=5", "--set", "models=emb-mlp,gpt"]) == 0
    assert main(words) == 0
    return root


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a temporary folder the folder of all runs, and return it."""
    monkeypatch.setenv("INWEIGHTS_RUNS", str(tmp_path))
    return tmp_path
