"""State what the conditions of a study cannot show.

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

#: Accuracy from which on facts count as known, and spread over seeds above which few
#: say little.
KNOWN = 0.99
SPREAD = 0.2
#: Half the width of the 95% interval of a difference that a number of seeds should
#: reach.
WANTED = 0.2
#: Factor between two rates that decides.
FACTOR = 3.0
#: Roles of queries that combine facts.
_COMBINED = ("composition", "chain", "conclusion")
#: Conditions that a sentence names before it counts the rest.
_NAMED = 3


def cautions(trials: Sequence[Trial], tables: Mapping[str, pl.DataFrame]) -> list[str]:
    """Return warnings that a reader needs before comparing the conditions of a study.

    A warning is returned for: conditions in which the model does not know its facts
    (mean accuracy below :data:`KNOWN`, 0.99); conditions whose accuracy on compositions
    varies too much between the seeds to be compared (standard deviation above
    :data:`SPREAD`, 0.2), with the number of seeds that would show a difference to
    within ±0.2; GPTs whose learner differs from ``learners.two_hop`` in a setting that
    can decide whether they compose (loss, optimizer, random offset of the positions, or
    a learning rate that differs by at least a factor of :data:`FACTOR`, 3) and is not
    varied; and files of facts with chains of three facts that no query is about.

    Args:
        trials: The conditions.
        tables: Tables of results, by name. Only tables with the columns ``part``,
            ``role``, ``seed`` and ``accuracy`` are examined, as
            :func:`~inweights.probes.accuracy` makes them; of these, only the last step,
            and no rows of controls.

    Returns:
        The warnings, each a few sentences, without repetitions; empty if there are
        none.

    Raises:
        DataError: The file of a world of user-defined facts is missing or cannot be
            read.
    """
    labels = list(dict.fromkeys(chain.from_iterable(one.labels for one in trials)))
    found = _of_learners(trials) + _of_facts(trials)
    for table in tables.values():
        if {"part", "role", "seed", "accuracy"} <= set(table.columns):
            # The accuracy over no statements is not a number, and no reason for a caution.
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
    if "change" in table.columns:  # of inweights.steer: only the model as it is
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
            f"{worst['accuracy']:.2f} on {worst['role']}): low accuracy on queries does "
            "not say there that facts are not combined. Train longer."
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
            f"Composition varies by seed (standard deviation up to {deviation:.2f} in "
            f"{_conditions(wide, labels)}): {seeds} seeds cannot separate conditions; about "
            f"{needed} would measure a difference to within {WANTED:g}."
        )
    return found


def _of_learners(trials: Sequence[Trial]) -> list[str]:
    """Return warnings about decisive settings that differ from those of ``learners.two_hop``."""
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
            continue  # no family of facts that are composed
        usual = _deciding(named)
        for name, value in _deciding(trial.learner.phases[0]).items():
            seen.setdefault(name, set()).add(value)
            if _differs(value, usual[name]):
                differing[name] = (value, usual[name])
    fixed = []
    for name, (value, usual_value) in differing.items():
        if len(seen[name]) == 1:  # it is not varied
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
        f"The queries about {path} are compositions of two facts; its chains of three facts, "
        "and other kinds, are left out. questions='all' includes them."
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
    """Return whether a setting is unusual: a rate by a factor of :data:`FACTOR`, others at all."""
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
