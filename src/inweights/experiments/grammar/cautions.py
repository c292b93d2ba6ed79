"""Warn about conclusions that the conditions of a study do not support.

:func:`cautions` examines trials and their tables; pages and sweeps print the sentences
that it returns.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import chain

import polars as pl
from msgspec import structs

from inweights.experiments.grammar.controls import CONTROL, NO_CONTROL
from inweights.experiments.grammar.trial import Trial
from inweights.models.configs import GPTConfig
from inweights.training.curriculum import Phase
from inweights.training.learners import named_for
from inweights.training.learners.kinds import Curriculum
from inweights.worlds.knowledge.triples import Triples

#: Smallest accuracy at which facts count as known, and standard deviation over seeds
#: above which a few seeds are not enough.
KNOWN = 0.99
SPREAD = 0.2
#: Half the width that the 95% interval of a difference may have if there are enough
#: seeds.
WANTED = 0.2
#: Smallest ratio of two learning rates that is reported as a difference.
FACTOR = 3.0
#: Roles of queries that combine facts.
_COMBINED = ("composition", "chain", "conclusion")
#: Number of conditions that a sentence names; all others are only counted.
_NAMED = 3


def cautions(trials: Sequence[Trial], tables: Mapping[str, pl.DataFrame]) -> list[str]:
    """Return warnings that a reader should see before comparing the conditions of a study.

    A warning is returned in each of these cases:

    - The model does not know its facts in some conditions: the mean accuracy on the
      facts of a role is below :data:`KNOWN`, 0.99.
    - The accuracy on compositions varies too much between seeds to compare conditions:
      its standard deviation is above :data:`SPREAD`, 0.2. The warning states how many
      seeds are needed to measure a difference to within ±0.2.
    - The learner of a GPT differs from ``learners.two_hop`` in a setting that can
      affect whether the GPT composes facts, and the study does not vary this setting.
      Such settings are the loss, the optimizer, the random offset of the positions, and
      a learning rate that differs by at least a factor of :data:`FACTOR`, 3.
    - A file of facts contains chains of three facts that no query tests.

    Args:
        trials: The conditions of the study, whose learners and worlds are examined.
        tables: Tables of results, keyed by name. Only tables with the columns ``part``,
            ``role``, ``seed`` and ``accuracy`` are examined, such as those of
            :func:`~inweights.probes.accuracy`. In these tables, only rows of the last
            step are used, and rows of controls are ignored.

    Returns:
        The warnings, each of one or a few sentences, without repetitions; an empty list
        if there are none.

    Raises:
        DataError: The file of a world of user-defined facts is missing or cannot be
            read.
    """
    labels = list(dict.fromkeys(chain.from_iterable(one.labels for one in trials)))
    found = _of_learners(trials) + _of_facts(trials)
    for table in tables.values():
        if {"part", "role", "seed", "accuracy"} <= set(table.columns):
            # The accuracy over no statements is NaN, which must not lead to a warning.
            known = table.with_columns(pl.col("accuracy").fill_nan(None))
            found += _of_accuracy(
                known, [one for one in labels if one in table.columns]
            )
    return list(dict.fromkeys(found))


def _of_accuracy(table: pl.DataFrame, labels: Sequence[str]) -> list[str]:
    """Return warnings about conclusions that the accuracies of a table do not support."""
    if CONTROL in table.columns:
        table = table.filter(pl.col(CONTROL) == NO_CONTROL)
    if "step" in table.columns:
        table = table.filter(pl.col("step") == pl.col("step").max())
    # In a table of inweights.steer, only the rows of the unchanged model count.
    if "change" in table.columns:
        table = table.filter(change="none")
    combined = table.filter(pl.col("role").is_in(_COMBINED))
    if combined.is_empty():
        return []
    found = []
    value = pl.col("accuracy")
    facts = table.filter(part="facts").group_by([*labels, "role"], maintain_order=True)
    unknown = facts.agg(value.mean()).filter(value < KNOWN)
    if unknown.height:
        worst = unknown.sort("accuracy").row(0, named=True)
        found.append(
            f"Facts are not known in {_conditions(unknown, labels)} (accuracy "
            f"{worst['accuracy']:.2f} on {worst['role']}): there, low accuracy on "
            "queries does not mean that facts are not combined. Train longer."
        )
    seeds = table["seed"].n_unique()
    by_seed = combined.group_by([*labels, "seed"], maintain_order=True).agg(
        value.mean()
    )
    spread = by_seed.group_by(labels or [pl.lit(1)], maintain_order=True).agg(
        value.std()
    )
    wide = spread.filter(value > SPREAD)
    deviation = max(wide["accuracy"], default=0.0)
    needed = math.ceil(2 * (1.96 * deviation / WANTED) ** 2)
    if needed > seeds:
        found.append(
            f"Accuracy on compositions varies between seeds (standard deviation up to "
            f"{deviation:.2f} in {_conditions(wide, labels)}): {seeds} seeds are too few to "
            f"compare conditions; about {needed} would measure a difference to within {WANTED:g}."
        )
    return found


def _of_learners(trials: Sequence[Trial]) -> list[str]:
    """Return warnings about decisive settings that differ from ``learners.two_hop``."""
    differing: dict[str, tuple[object, object]] = {}
    seen: dict[str, set[object]] = {}
    for trial in trials:
        if trial.labels.get(CONTROL, NO_CONTROL) != NO_CONTROL:
            continue
        if not isinstance(trial.model, GPTConfig) or not isinstance(
            trial.learner, Curriculum
        ):
            continue
        named = named_for(trial.world, trial.model).phases[0]
        if not named.random_offset:
            continue  # facts of this family of worlds are not composed
        usual = _deciding(named)
        for name, value in _deciding(trial.learner.phases[0]).items():
            seen.setdefault(name, set()).add(value)
            if _differs(value, usual[name]):
                differing[name] = (value, usual[name])
    fixed = []
    for name, (value, usual_value) in differing.items():
        if len(seen[name]) == 1:  # settings that are varied are not reported
            fixed.append(f"{name} ({value}, not {usual_value})")
    if not fixed:
        return []
    return [
        f"The learner differs from learners.two_hop in {', '.join(fixed)}, which can decide "
        "whether a GPT composes: see docs/what-decides.md."
    ]


def _of_facts(trials: Sequence[Trial]) -> list[str]:
    """Return warnings about chains of three facts that no query is about."""
    own = [trial.world for trial in trials if isinstance(trial.world, Triples)]
    worlds = {world.path: world for world in own if world.kinds == ("composition",)}
    return [
        f"The queries about {path} are compositions of two facts. Its chains of three facts "
        "and other kinds of questions are left out; questions='all' includes them."
        for path, world in worlds.items()
        if structs.replace(world, questions="chain").build().queries
    ]


def _deciding(phase: Phase) -> dict[str, object]:
    """Return the settings of a phase that can decide whether a GPT composes."""
    return {
        "random_offset": phase.random_offset,
        "loss": getattr(phase.loss, "at", phase.loss),
        "optimizer.kind": getattr(phase.optimizer.kind, "at", phase.optimizer.kind),
        "optimizer.rate": phase.optimizer.rate,
    }


def _differs(value: object, usual: object) -> bool:
    """Return whether two values differ; for floats, by at least a factor of :data:`FACTOR`."""
    if isinstance(value, float) and isinstance(usual, float):
        return max(value, usual) >= FACTOR * min(value, usual)
    return value != usual


def _conditions(table: pl.DataFrame, labels: Sequence[str]) -> str:
    """Return the first few conditions as text."""
    if not labels:
        return "every condition"
    rows = table.select(labels).unique(maintain_order=True).rows(named=True)
    words = []
    for row in rows[:_NAMED]:
        settings = [f"{name}={value}" for name, value in row.items()]
        words.append(" ".join(settings))
    rest = f" and {len(rows) - _NAMED} more" if len(rows) > _NAMED else ""
    return "; ".join(words) + rest
