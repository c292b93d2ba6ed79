"""A diverged run is reported, alone and in a group, and does not affect other runs."""

from __future__ import annotations

import math
import warnings

import polars as pl
import pytest
import torch

import inweights as iw
from inweights.cli.entry import _warnings_in_a_line
from inweights.errors import RunError
from inweights.experiments import Stating, judge, share
from inweights.experiments.claims.numbers import diverged_runs, warn_of_divergence
from inweights.models import EmbMLPConfig, Model
from inweights.probes import accuracy
from inweights.training import Curriculum, Optimizer, Phase
from inweights.worlds import TwoHop

#: Studies in tests are too small for their models to memorise the facts.
pytestmark = pytest.mark.filterwarnings("ignore::inweights.errors.CautionWarning")

RATE = "learner.phases.0.optimizer.rate"


state = Stating("a/b", "ours", "Fig. 1")


def picky(model: Model, worlds: object) -> pl.DataFrame:
    values = torch.linalg.svdvals(next(model.parameters()))
    return pl.DataFrame(
        {"replica": range(model.replicas), "first": values[:, 0].tolist()}
    )


def study(runs, rates, steps=45):
    phase = Phase(name="facts", steps=steps, optimizer=Optimizer(rate=0.1))
    return iw.sweep(
        TwoHop(n=3),
        EmbMLPConfig(width=4),
        Curriculum(phases=(phase,)),
        measures=[accuracy],
        over={RATE: rates},
        seeds=[0],
        runs=runs,
    )


# Runs diverge long before the end, or in the last two steps.
@pytest.mark.parametrize("steps", [45, 22])
def test_one_of_two_diverges(tmp_path, steps) -> None:
    rates = [0.1, 1e30]
    with pytest.warns(
        UserWarning, match=r"1 of 2 runs diverged.*The first: rate 1e\+30, seed 0"
    ):
        both = study(tmp_path / "both", rates, steps)
    alone = study(tmp_path / "alone", rates[:1], steps)
    assert both.filter(rate=0.1).equals(alone)
    with pytest.warns(
        UserWarning, match="1 of 2 runs diverged"
    ):  # also if it is read from the store
        study(tmp_path / "both", rates, steps)


def test_all_diverge(tmp_path) -> None:
    """There is no error, the tables are those of runs in a group, and claims are not judged."""
    with pytest.warns(UserWarning, match="1 of 1 runs diverged"):
        alone = study(tmp_path, [1e30])
    assert alone.height


def test_claims_about_runs_that_diverged_are_not_judged() -> None:
    runs = pl.DataFrame({"rate": [0.1, 0.1, 9.0, 9.0], "seed": [0, 1] * 2, "kind": "a"})
    losses = runs.with_columns(
        loss=pl.Series([1.0, 1.0, 1.0, math.nan]), step=0, phase=pl.lit("")
    )
    recall = runs.with_columns(recall=pl.Series([0.9, 1.0, 0.0, 0.0])).drop("kind")
    # Many runs are not listed separately.
    means = recall.group_by("seed").agg(pl.mean("recall"))
    tables = {"recall": recall, "means": means, "losses": losses}
    score = share("recall", "recall")
    whys = {
        name: judge(state(name, "It works.", judged), tables, minimum=1).why
        for name, judged in {
            "fine": score.at(rate=0.1) >= 0.5,
            "wild": score.at(rate=9.0) >= 0.5,
            "difference": score.at(rate=0.1) - score.at(rate=9.0) >= 0.5,
            "all": score.over("rate") >= 0.5,
            "means": share("means", "recall") >= 0.5,
        }.items()
    }
    said = "1 of its runs diverged: their numbers are meaningless"
    assert whys == {
        "fine": "",
        "wild": said,
        "difference": said,
        "all": said,
        "means": "",
    }


@pytest.mark.parametrize("loss", [math.inf, -math.inf, math.nan, None])
def test_a_loss_that_is_no_number_is_that_of_a_run_that_diverged(
    loss: float | None,
) -> None:
    losses = pl.DataFrame({"seed": [0, 1], "loss": [1.0, loss], "step": 0, "phase": ""})
    assert diverged_runs({"losses": losses})["seed"].to_list() == [1]


@pytest.mark.parametrize(
    ("step", "advice"), [(0, "make the logits finite"), (1, "lower the rate")]
)
def test_what_helps_depends_on_when_it_diverged(step: int, advice: str) -> None:
    losses = pl.DataFrame(
        {"seed": [0, 0], "loss": [1.0, math.nan], "step": [1 - step, step]}
    )
    with pytest.warns(
        UserWarning, match=f"1 of 1 runs diverged.*{advice}.*The first: seed 0"
    ):
        warn_of_divergence({"losses": losses.with_columns(phase=pl.lit(""))})


def test_a_run_without_a_label_diverges_too() -> None:
    runs = pl.DataFrame({"rate": [0.1, 0.1, None, None], "seed": [0, 1] * 2})
    losses = runs.with_columns(
        loss=pl.Series([1.0, 1.0, 1.0, math.nan]), step=0, phase=pl.lit("")
    )
    tables = {"recall": runs.with_columns(recall=1.0), "losses": losses}
    claim = state("all", "It works.", share("recall", "recall") >= 0.5)
    assert judge(claim, tables, minimum=1).why.startswith("1 of its runs diverged")


def test_a_probe_that_cannot_look_says_why(tmp_path) -> None:
    phase = Phase(steps=3, optimizer=Optimizer(rate=1e30))
    with pytest.raises(
        RunError,
        match=r"runs diverged, and 'picky' cannot measure.*lower the learning rate",
    ):
        iw.sweep(
            TwoHop(n=3),
            EmbMLPConfig(width=4),
            Curriculum(phases=(phase,)),
            measures=[picky],
            seeds=[0],
            runs=tmp_path,
        )


def test_what_is_finite_is_not_told() -> None:
    warn_of_divergence({"losses": pl.DataFrame({"seed": [0], "loss": [1.0]})})
    warn_of_divergence(
        {"losses": pl.DataFrame({"step": [1.0]}), "other": pl.DataFrame()}
    )


def test_the_command_line_tells_it_in_one_line() -> None:
    with _warnings_in_a_line():
        assert (
            warnings.formatwarning("odd", UserWarning, "f.py", 1) == "inweights: odd\n"
        )
    assert "f.py" in warnings.formatwarning("odd", UserWarning, "f.py", 1)
