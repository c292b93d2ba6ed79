"""Fixtures with a separate ledger for tests of stated and judged claims."""

from __future__ import annotations

import pytest
from tests.recipes.ledger_home import Home, git


@pytest.fixture
def home(tmp_path, monkeypatch) -> Home:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("INWEIGHTS_RESULTS")
    git("init", "-q")
    return Home(monkeypatch)
