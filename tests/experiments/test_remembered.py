"""Cost estimates and hashes of claims are cached, so a second call needs no PyTorch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from inweights import actions
from inweights.actions.ledger import hashes
from inweights.recipes import get_recipe
from inweights.runs.tables.store import Store
from inweights.support.keys import remembered
from inweights.support.keys.remembered import cache_folder, recall, remember

RECIPE = "geometric-memory/fig2-10-11"


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("INWEIGHTS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_a_result_is_forgotten_when_the_library_changes(monkeypatch) -> None:
    assert recall("claims", [1], dict[str, str]) is None
    remember("claims", [1], {"a": "b"})
    found = recall("claims", [1], dict[str, str])
    assert found is not None
    assert found[0] == {"a": "b"}
    assert recall("claims", [2], dict[str, str]) is None
    assert recall("claims", [1], dict[str, int]) is None  # a damaged file
    monkeypatch.setattr(remembered, "library_state", lambda: "another")
    assert recall("claims", [1], dict[str, str]) is None


def test_damaged_files_and_a_cache_that_cannot_be_written(own_cache) -> None:
    remember("claims", [1], {"a": "b"})
    (file,) = (own_cache / "remembered").iterdir()
    file.write_bytes(b"{")
    assert recall("claims", [1], dict[str, str]) is None
    file.unlink()
    (own_cache / "remembered").rmdir()
    (own_cache / "remembered").write_text("no folder")
    remember("claims", [1], {"a": "b"})
    assert recall("claims", [1], dict[str, str]) is None
    assert cache_folder() == own_cache


def test_hashes_of_claims_are_those_that_are_computed(monkeypatch) -> None:
    recipe = get_recipe(RECIPE)
    found = hashes.remembered_hashes(recipe, "cpu")
    assert found == hashes.hashes(recipe, "cpu")
    monkeypatch.setattr(hashes, "hashes", lambda *_: pytest.fail("computed again"))
    assert hashes.remembered_hashes(recipe, "cpu") == found


def test_the_second_dry_run_loads_no_torch(tmp_path, own_cache) -> None:
    """This holds until a table is stored, or a new estimate is requested."""
    runs = tmp_path / "runs"
    ahead = actions.forecast(RECIPE, "cpu", seeds=1, runs=runs)
    assert not ahead.timed
    script = (
        "import sys; from inweights import actions\n"
        f"ahead = actions.forecast({RECIPE!r}, 'cpu', seeds=1, runs={str(runs)!r})\n"
        "assert 'torch' not in sys.modules and 'scipy' not in sys.modules\n"
        "print(ahead)"
    )
    told = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout
    assert told.startswith(f"{ahead}; timed on this machine on 2")
    assert not runs.exists()
    again = actions.forecast(RECIPE, "cpu", seeds=1, runs=runs, fresh=True)
    assert not again.timed
    assert str(again) == str(ahead)
    assert not actions.forecast(RECIPE, "cpu", seeds=2, runs=runs).timed


def test_an_estimate_counts_for_the_tables_that_were_stored(
    tmp_path, monkeypatch
) -> None:
    ahead = actions.forecast(RECIPE, "cpu", runs=tmp_path)
    assert actions.forecast(RECIPE, "cpu", runs=tmp_path).timed
    monkeypatch.setattr(Store, "has", lambda *_: True)
    after = actions.forecast(RECIPE, "cpu", runs=tmp_path)
    assert not after.timed
    assert (ahead.stored, after.stored) == (0, ahead.runs)
