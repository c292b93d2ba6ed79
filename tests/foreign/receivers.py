"""Users' functions for tests, which record their arguments in :data:`SEEN`."""

from __future__ import annotations

from typing import Any

import polars as pl
from torch import Tensor, nn

from inweights.config import digest
from inweights.experiments.engine.plan import expand_plan, tasks_of
from inweights.experiments.engine.tasks import ComputeTask
from inweights.experiments.grammar.trial import Plan
from inweights.experiments.grammar.variation.functions import computations_of
from inweights.support.keys.plain import plain_call

SEEN: list[Any] = []


def keep(seed: int, at: Any = None) -> dict[str, str]:
    """Record the argument."""
    SEEN.append(at)
    return {"said": repr(at)}


def look(model: Any, worlds: Any, cap: Any = None) -> pl.DataFrame:
    """Record the argument for each replica."""
    SEEN.append(cap)
    return pl.DataFrame({"replica": range(model.replicas), "said": repr(cap)})


def table_of(vocabulary: int, cap: Any = None) -> nn.Module:
    """Record the argument, and return a module."""
    SEEN.append(cap)
    return nn.Embedding(vocabulary, vocabulary)


def capped(logits: Tensor, targets: Tensor, cap: Any = None) -> Tensor:
    """Record the argument, and return the standard loss."""
    SEEN.append(cap)
    return (
        nn.functional.cross_entropy(
            logits.flatten(0, 1), targets.flatten(), reduction="none"
        )
        .view_as(targets)
        .mean(-1)
    )


def task_of(value: Any) -> ComputeTask:
    """Return the task of a study with one value."""
    plan = Plan(computations=computations_of(keep, [[("at", value, "label")]]))
    (task,) = tasks_of(expand_plan(plan, [0]), lambda owner, part: True)
    assert isinstance(task, ComputeTask)
    return task


def key_of(value: Any) -> str:
    return digest(plain_call(keep, {"at": value}))
