"""Observers are notified of all events in order, and do not change results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl
import pytest
import torch

from inweights.errors import ConfigError
from inweights.models import EmbMLPConfig
from inweights.probes import accuracy
from inweights.training import Curriculum, Observer, Optimizer, Phase, Step, train
from inweights.worlds import TwoHop

WORLD = TwoHop(n=3).build()


class Diary(Observer):
    """Observer that records its notifications."""

    def __init__(self, every: int = 1) -> None:
        self.every = every
        self.told: list[str] = []
        self.seen: list[dict[str, tuple[torch.Tensor, torch.Tensor]]] = []

    def started(self, settings: Mapping[str, Any]) -> None:
        self.told.append(f"started {settings['steps']} {settings['seeds']}")

    def step(self, seen: Step) -> None:
        self.told.append(f"step {seen.step}")
        self.seen.append(
            {
                n: (p.clone(), seen.gradients[n].clone())
                for n, p in seen.parameters.items()
            }
        )

    def measured(self, name: str, table: pl.DataFrame) -> None:
        self.told.append(f"measured {name} {table['step'].unique().to_list()}")

    def finished(self, tables: Mapping[str, pl.DataFrame]) -> None:
        self.told.append(f"finished {sorted(tables)}")

    def failed(self, error: BaseException) -> None:
        self.told.append(f"failed {type(error).__name__}")


def trained(*observers: Observer, rate: float = 0.5) -> torch.Tensor:
    model = EmbMLPConfig(width=8).build(vocabulary=len(WORLD.vocabulary), seeds=2)
    sgd = Optimizer(kind="sgd", rate=rate)
    learner = Curriculum(
        phases=(Phase(steps=3, optimizer=sgd), Phase(steps=1, optimizer=sgd))
    )
    train(model, WORLD, learner, seeds=2, observers=observers)
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def test_an_interval_below_one_is_refused_before_the_first_step() -> None:
    diary = Diary(every=0)
    with pytest.raises(ConfigError, match="every must be at least 1, got 0"):
        trained(diary)
    assert diary.told == []


def test_observers_are_told_in_order_and_change_nothing() -> None:
    diary, look = (
        Diary(every=2),
        Observer("recall", lambda m: accuracy(m, WORLD), every=3),
    )
    assert torch.equal(trained(), trained(diary, look))
    assert diary.told == [
        "started 4 [0, 1]",
        "measured recall [0]",
        "step 2",
        "measured recall [3]",
        "step 4",
        "measured recall [4]",
        "finished ['losses', 'recall']",
    ]


def test_a_step_shows_gradients_and_parameters_of_every_replica() -> None:
    diary = Diary()
    trained(diary)
    for before, after in zip(diary.seen[:-1], diary.seen[1:], strict=True):
        for name, (values, gradient) in after.items():
            assert values.shape[0] == 2
            torch.testing.assert_close(values, before[name][0] - 0.5 * gradient)


def test_an_error_is_told_and_raised() -> None:
    diary = Diary()
    with pytest.raises(Exception, match="not a number"):
        trained(diary, rate=1e30)
    assert diary.told[-1] == "failed RunError"
