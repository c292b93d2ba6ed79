"""A run that diverged is told, alone and among others; its company stays what it is."""

from __future__ import annotations

import warnings

import polars as pl
import pytest

import inweights as iw
from inweights.cli import _warnings_in_a_line
from inweights.errors import RunError
from inweights.lab.divergence import tell_divergence
from inweights.models import EmbMLPConfig
from inweights.probes import accuracy
from inweights.training import Curriculum, Optimizer, Phase
from inweights.worlds import TwoHop

RATE = "learner.phases.0.optimizer.rate"


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


@pytest.mark.parametrize("steps", [45, 22])  # long before the end, and in the last two steps
def test_one_of_two_diverges(tmp_path, steps) -> None:
    rates = [0.1, 1e30]
    with pytest.warns(UserWarning, match=r"1 of 2 runs diverged.*The first: rate 1e\+30, seed 0"):
        both = study(tmp_path / "both", rates, steps)
    alone = study(tmp_path / "alone", rates[:1], steps)
    assert both.filter(rate=0.1).equals(alone)
    with pytest.warns(UserWarning, match="1 of 2 runs diverged"):  # read back, too
        study(tmp_path / "both", rates, steps)


@pytest.mark.parametrize("steps", [45, 3])
def test_all_diverge(tmp_path, steps) -> None:
    with pytest.raises(RunError, match="lower the rate"):
        study(tmp_path, [1e30], steps)


def test_what_is_finite_is_not_told() -> None:
    tell_divergence({"losses": pl.DataFrame({"seed": [0], "loss": [1.0]})})
    tell_divergence({"losses": pl.DataFrame({"step": [1.0]}), "other": pl.DataFrame()})


def test_the_command_line_tells_it_in_one_line() -> None:
    with _warnings_in_a_line():
        assert warnings.formatwarning("odd", UserWarning, "f.py", 1) == "inweights: odd\n"
    assert "f.py" in warnings.formatwarning("odd", UserWarning, "f.py", 1)
