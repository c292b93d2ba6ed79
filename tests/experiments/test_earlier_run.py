"""A run stored by version 0.1.0 can be read, since keys do not depend on module paths.

``tests/data/earlier`` was written by ``inweights sweep bridges.toml --keep-models``
before modules were moved into sub-packages. These files are never regenerated. Versions
that were increased since then are ignored here, since they intentionally change keys.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import inweights as iw
from inweights.experiments.engine.attempts import task
from inweights.probes import accuracy
from inweights.support.keys import sources

EARLIER = Path(__file__).parents[1] / "data" / "earlier"


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in list(sources.RAISED):
        monkeypatch.delitem(sources.RAISED, name)
    return Path(shutil.copytree(EARLIER / "kept", tmp_path / "runs"))


def study() -> iw.Recipe:
    return iw.experiments.open_study(EARLIER / "bridges.toml")


def test_the_run_is_found_whole(runs: Path) -> None:
    outcome = iw.run(study(), runs=runs)
    assert outcome.cached
    assert outcome.tables["accuracy"]["seed"].unique().sort().to_list() == [0, 1]


def test_with_a_raised_version_it_is_another_run(
    runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sources.RAISED, "Curriculum", 2)
    assert not iw.run(study(), runs=runs).cached


def test_its_single_runs_are_not_trained_again(
    runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = iw.run(study(), runs=runs).tables["accuracy"]
    shutil.rmtree(runs / "study")
    monkeypatch.setattr(task, "_train", None)
    outcome = iw.run(study(), runs=runs, keep_models=True)
    assert not outcome.cached
    assert outcome.tables["accuracy"].equals(before)
    (kept,) = outcome.models(identity=1.0, seed=0)
    assert accuracy(kept.model, kept.world).height
