"""Seeds are doubled until all claims are decided or the time limit is reached."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from tests.coins import PAPER, Settings, of_coins

from inweights.experiments import share
from inweights.experiments.engine.execution import ExecutionOptions
from inweights.experiments.studies.settle import settle
from inweights.runs import RunStore

state = PAPER.stating("coin", "nowhere")
COIN = PAPER.recipe(
    "coin",
    title="A coin",
    place="nowhere",
    summary="Tosses a coin.",
    scales={"cpu": Settings()},
    seeds={"cpu": 4},
    plan=of_coins({"coin": 0.5}),
    claims=(
        state("clear", "It is above a tenth.", share("tosses", "heads") >= 0.1),
        state("close", "It is above .45.", share("tosses", "heads") >= 0.45),
        state("edge", "It is above a half.", share("tosses", "heads") >= 0.5),
    ),
)


def test_more_seeds_settle_what_is_undecided(tmp_path) -> None:
    done = settle(COIN, "cpu", store=RunStore(tmp_path), seconds=1000)
    verdicts = {claim.id.rpartition("/")[2]: claim for claim in done.outcome.claims}
    assert "mine/coin/close" in done.before
    assert verdicts["close"].verdict == "reproduced"
    assert verdicts["close"].level > 0.99
    # A mean at the boundary is decided only by chance; at most 64 times the seeds are
    # tried.
    assert done.left == ("mine/coin/edge",)
    assert done.seeds == 256
    assert "no more than 256 seeds" in done.why


def test_a_budget_is_kept(tmp_path) -> None:
    done = settle(COIN, "cpu", store=RunStore(tmp_path), seconds=0.0)
    assert done.left == done.before
    assert done.seeds == 4
    assert "more seeds would take about" in done.why


@pytest.mark.slow
def test_a_look_that_takes_longer_than_it_should_is_stopped(
    tmp_path, monkeypatch
) -> None:
    """Seeds that take longer than was estimated are stopped when the time limit is reached."""
    clock = [0.0]
    monkeypatch.setattr(
        "inweights.experiments.studies.settle.time",
        SimpleNamespace(monotonic=lambda: clock[0]),
    )

    def later(*_: object) -> None:
        clock[0] += 100.0

    execution = ExecutionOptions(progress=later)
    done = settle(
        COIN, "cpu", store=RunStore(tmp_path), seconds=600, execution=execution
    )
    assert (done.seeds, done.left) == (4, done.before)
    assert "8 seeds took too long" in done.why
    done = settle(COIN, "cpu", store=RunStore(tmp_path), seconds=1000)
    assert done.left == ("mine/coin/edge",)
