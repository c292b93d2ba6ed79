"""Load the trained models of a plan whose weights were stored (``keep_models=True``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from inweights.errors import FolderError, check_names
from inweights.experiments.claims.score import Value
from inweights.experiments.engine.plan import expand_plan
from inweights.experiments.engine.tasks import Run
from inweights.experiments.grammar.trial import Plan, Trial
from inweights.experiments.grammar.variation.labels import is_label
from inweights.runs.tables.names import MODEL_PART
from inweights.runs.tables.store import Store

if TYPE_CHECKING:
    from inweights.models.base import Model
    from inweights.worlds.world import World


@dataclass(frozen=True)
class SavedModel:
    """A trained model of a run, whose weights are read on first use.

    Attributes:
        run: The run that trained the model.
        store: Store that contains the weights.
    """

    run: Run
    store: Store

    @property
    def labels(self) -> Mapping[str, Value]:
        """Labels of the trial in which the model was trained, keyed by name."""
        return self.run.trial.labels

    @property
    def seed(self) -> int:
        """Root seed of the run that trained the model."""
        return self.run.seed

    @property
    def world(self) -> World:
        """The world on which the model was trained, built with the run's seed on first use.

        Errors that occur while the world is built propagate.
        """
        return self.run.world

    @cached_property
    def model(self) -> Model:
        """The trained model, with one replica, on the CPU; it is loaded on first use.

        Raises:
            FolderError: The weights have been removed, or are damaged.
            WriteError: The object store denies access or does not respond.
            DataError: A different version of the library wrote the weights in a
                different format.
            ConfigError: The config of the model cannot build the model on this machine.
        """
        from inweights.experiments.engine.attempts.together import open_model

        return open_model(self.store, self.run)

    def __repr__(self) -> str:
        about = [
            f"{name}={value!r}"
            for name, value in {**self.labels, "seed": self.seed}.items()
        ]
        return f"SavedModel({', '.join(about)})"


def saved_models(
    trials: Sequence[Trial],
    seeds: Sequence[int],
    store: Store,
    version: int = 1,
    where: Mapping[str, Value] | None = None,
) -> list[SavedModel]:
    """Return the stored models of some trials.

    This function only checks that the weights exist. They are loaded when
    :attr:`SavedModel.model` is read.

    Args:
        trials: The trials.
        seeds: Root seeds.
        store: Store that contains the weights.
        version: Version of the recipe that trained the models; by default 1.
        where: Values that the models must have, keyed by the name of a label or by
            ``seed``. A trial without one of these labels is left out. By default all
            models are returned.

    Returns:
        One model per trial and seed, in the order of the trials and, within a trial, of
        the seeds; an empty list if no run has these values.

    Raises:
        ConfigError: ``where`` names a label that no trial has, or a trial has a value
            that cannot be encoded exactly.
        DataError: A file to which a trial refers cannot be read.
        FolderError: The weights of one of the models were not stored, or their file is
            damaged.
    """
    wanted = where or {}
    names = {"seed"}
    for trial in trials:
        names |= trial.labels.keys()
    check_names("label", wanted, names)
    found = []
    for trial in trials:
        runs = expand_plan(Plan(trials=[trial]), seeds, version).runs.values()
        found += [SavedModel(run, store) for run in runs if _has_labels(run, wanted)]
    lacking = sum(not store.has(model.run.key, MODEL_PART) for model in found)
    if lacking:
        raise FolderError(
            f"the weights of {lacking} of {len(found)} runs were not stored, or are damaged; "
            "start the runs again with --keep-models (in Python, keep_models=True)"
        )
    return found


def _has_labels(run: Run, wanted: Mapping[str, Value]) -> bool:
    """Return whether labels and seed of a run have the given values."""
    labels = {**run.trial.labels, "seed": run.seed}
    return all(
        name in labels and is_label(labels[name], value)
        for name, value in wanted.items()
    )
