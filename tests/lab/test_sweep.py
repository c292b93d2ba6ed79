"""A study of one's own: combinations, labels, and what is refused."""

from __future__ import annotations

import polars as pl
import pytest

import inweights as iw
from inweights.config import Config
from inweights.errors import ConfigError
from inweights.lab import Computation, Paper, Plan, share
from inweights.lab.settle import settle
from inweights.lab.sweep import grid, sweep
from inweights.runs import RunStore
from inweights.seeds import Streams

WORLD, MODEL = iw.TwoHop(n=3), iw.EmbMLPConfig(width=8)
SHORT = iw.Curriculum(phases=(iw.Phase(steps=3), iw.Phase(name="more", steps=2)))


def test_a_sweep_is_one_tidy_table(tmp_path) -> None:
    table = sweep(
        WORLD,
        MODEL,
        SHORT,
        over={"world.n": [3, 4], "learner.phases.0.optimizer.rate": [1e-3, 1e-2]},
        seeds=2,
        measures=[iw.probes.accuracy],
        runs=tmp_path,
    )
    assert table.columns[:3] == ["n", "rate", "seed"]
    groups = table.group_by("n", "rate", "seed").len()
    assert groups.height == 8
    assert groups["len"].n_unique() == 1
    stamps = {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*.parquet")}
    more = sweep(
        WORLD, MODEL, SHORT, over={"world.n": [4]}, seeds=(1, 9),
        measures=[iw.probes.accuracy, iw.probes.margins], runs=tmp_path,
    )  # fmt: skip
    assert set(more["measure"]) == {"accuracy", "margins"}
    assert {p: p.stat().st_mtime_ns for p in stamps} == stamps
    kept = table.filter(pl.col("n") == 4, pl.col("rate") == 1e-3, pl.col("seed") == 1)
    again = more.filter(pl.col("measure") == "accuracy", pl.col("seed") == 1)
    assert again["accuracy"].to_list() == kept["accuracy"].to_list()


def test_whole_parts_are_varied_by_name() -> None:
    trials = grid(
        WORLD, None, SHORT, {"model": {"narrow": MODEL, "wide": iw.EmbMLPConfig(width=32)}}
    )
    assert [trial.labels for trial in trials] == [{"model": "narrow"}, {"model": "wide"}]
    assert [trial.model.width for trial in trials] == [8, 32]


def test_columns_of_one_name_keep_their_paths() -> None:
    over = {"learner.phases.0.steps": [1], "learner.phases.1.steps": [2]}
    (trial,) = grid(WORLD, MODEL, SHORT, over)
    assert trial.labels == {"learner_phases_0_steps": 1, "learner_phases_1_steps": 2}
    assert [phase.steps for phase in trial.learner.phases] == [1, 2]


@pytest.mark.parametrize(
    ("over", "why"),
    [
        ({"wrld.n": [3]}, "unknown part 'wrld'; did you mean 'world'"),
        ({"world.m": [3]}, "unknown key 'm'"),
        ({"learner.phases.2.steps": [3]}, "has 2 items"),
        ({"learner.phases.first.steps": [3]}, "has 2 items"),
        ({"world.n.m": [3]}, "holds a value, not keys"),
        ({"world.n": ["three"]}, "int"),
        ({"world.n": []}, "over no value"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_runs(over, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        grid(WORLD, MODEL, SHORT, over)


def test_a_sweep_measures_something(tmp_path) -> None:
    with pytest.raises(ConfigError, match="measures something"):
        sweep(WORLD, MODEL, SHORT, measures=[], runs=tmp_path)
    assert not list(tmp_path.iterdir())


class Settings(Config):
    share: float = 0.5


def tossed(seed: int, share: float) -> pl.DataFrame:
    return pl.DataFrame({"heads": [Streams(seed).numpy("coin").binomial(20, share) / 20]})


PAPER = Paper("mine", "My lab", claims_of="ours")
state = PAPER.stating("coin", "nowhere")
COIN = PAPER.recipe(
    "coin",
    title="A coin",
    place="nowhere",
    summary="Tosses a coin.",
    scales={"cpu": Settings()},
    seeds={"cpu": 4},
    plan=lambda settings: Plan(
        computations=[
            Computation(
                name="tosses",
                labels={},
                compute=tossed,
                options={"share": settings.share},
                seeded=True,
            )
        ]
    ),
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
    # A mean on the edge is never settled, but for chance; the most that is tried is 64 times.
    assert done.left == ("mine/coin/edge",)
    assert len(done.outcome.seeds) == 256
    assert "256 seeds are the most" in done.why


def test_a_budget_is_kept(tmp_path) -> None:
    done = settle(COIN, "cpu", store=RunStore(tmp_path), seconds=0.0)
    assert done.left == done.before
    assert len(done.outcome.seeds) == 4
    assert "more seeds take about" in done.why
