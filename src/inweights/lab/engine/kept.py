"""Trained models that were kept, as runs of a plan: opened when they are looked at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from inweights.errors import FolderError, unknown_name
from inweights.lab.engine.plan import Run, asked_of
from inweights.lab.grammar.trial import Plan, Trial
from inweights.lab.store.tables import MODEL_PART, Store
from inweights.training.learner import Curriculum

if TYPE_CHECKING:
    from inweights.lab.grammar.score import Value
    from inweights.models.base import Model
    from inweights.worlds.world import World

__all__ = ["KeptModel", "kept_models", "open_model"]


@dataclass(frozen=True)
class KeptModel:
    """One trained model of a run, with what it was trained on.

    Attributes:
        labels: Those of its trial.
        seed: Its root seed.
        run: Its run.
        store: Where its weights are.
    """

    labels: Mapping[str, Value]
    seed: int
    run: Run
    store: Store

    @cached_property
    def world(self) -> World:
        """The world that it learnt, with its seed."""
        return self.run.trial.world.build(self.seed)

    @cached_property
    def model(self) -> Model:
        """The model, one replica, on the CPU."""
        return open_model(self.store, self.run)

    def __repr__(self) -> str:
        about = [f"{name}={value!r}" for name, value in {**self.labels, "seed": self.seed}.items()]
        return f"KeptModel({', '.join(about)})"


def open_model(store: Store, run: Run) -> Model:
    """Return the kept model of a run.

    Raises:
        FolderError: Its weights were not stored, or are damaged.
    """
    from inweights.models.save import decode_model

    trial = run.trial
    # A model of one's own need not be registered: the trial has the class of its config.
    kind: Any = type(trial.model) if isinstance(trial.learner, Curriculum) else None
    return decode_model(store.read_model(run.key), str(store.folder(run.key)), kind)


def kept_models(
    trials: Sequence[Trial],
    seeds: Sequence[int],
    store: Store,
    version: int = 1,
    where: Mapping[str, Value] | None = None,
) -> list[KeptModel]:
    """Return the kept models of trials, in their order, seed by seed.

    Args:
        trials: Of a plan.
        seeds: Root seeds of every trial.
        store: Where the weights are.
        version: The recipe's.
        where: Values of labels, and ``seed``; all models if left out.

    Raises:
        FolderError: The weights of some were not kept.
        ConfigError: No trial has such a label.
    """
    labels = dict.fromkeys([*(name for trial in trials for name in trial.labels), "seed"])
    for name in where or {}:
        if name not in labels:
            raise unknown_name("label", name, labels)
    found: list[KeptModel] = []
    for trial in trials:
        runs = asked_of(Plan(trials=[trial]), seeds, version).runs.values()
        for run in runs:
            about = {**trial.labels, "seed": run.seed}
            if all(about.get(name) == value for name, value in (where or {}).items()):
                found.append(KeptModel(trial.labels, run.seed, run, store))
    lacking = sum(not store.has(kept.run.key, MODEL_PART) for kept in found)
    if lacking:
        raise FolderError(
            f"the weights of {lacking} of {len(found)} runs were not stored, or are damaged; run "
            "it again with --keep-models (in Python, keep_models=True)"
        )
    return found
