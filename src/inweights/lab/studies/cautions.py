"""What a study cannot say: facts not known, seeds that disagree, a learner that decides."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TypeGuard

import polars as pl
from msgspec import structs

from inweights.lab.grammar.controls import CONTROL, NO_CONTROL
from inweights.lab.grammar.trial import Trial
from inweights.models.configs import GPTConfig
from inweights.training.curriculum import Curriculum, Phase
from inweights.training.learners import named_for
from inweights.worlds.knowledge.triples import Triples

#: Accuracy from which on facts count as known, and spread over seeds above which few say little.
KNOWN, SPREAD = 0.99, 0.2
#: Half the width of the 95% interval of a difference that a number of seeds should reach.
WANTED = 0.2
#: Factor between two rates that decides.
FACTOR = 3.0
_ASKED = ("composition", "chain", "conclusion")
_PAGE = "docs/what-decides.md"


def cautions(trials: Sequence[Trial], tables: Mapping[str, pl.DataFrame]) -> list[str]:
    """Return what a reader has to know before comparing the conditions of a study.

    Args:
        trials: Its conditions.
        tables: Its tables; those of :func:`~inweights.probes.accuracy` are looked at.

    Returns:
        Sentences: conditions whose facts are not known; conditions whose compositions vary so much
        by seed that the seeds cannot separate them, and how many would; learners of GPTs that
        differ from the named one in a setting that decides; files of facts with chains of three
        facts that are not asked.
    """
    labels = list(dict.fromkeys(name for trial in trials for name in trial.labels))
    found = _of_learners(trials) + _of_facts(trials)
    for table in tables.values():
        if {"part", "role", "seed", "accuracy"} <= set(table.columns):
            found += _of_accuracy(table, [one for one in labels if one in table.columns])
    return list(dict.fromkeys(found))


def _of_accuracy(table: pl.DataFrame, labels: Sequence[str]) -> list[str]:
    """What the accuracies of a table forbid to conclude."""
    if CONTROL in table.columns:
        table = table.filter(pl.col(CONTROL) == NO_CONTROL)
    if "step" in table.columns:
        table = table.filter(pl.col("step") == pl.col("step").max())
    asked = table.filter(pl.col("role").is_in(_ASKED))
    if asked.is_empty():
        return []
    facts = table.filter(part="facts").group_by([*labels, "role"], maintain_order=True)
    known = facts.agg(pl.col("accuracy").mean())
    unknown = known.filter(pl.col("accuracy") < KNOWN)
    found = []
    if unknown.height:
        worst = unknown.sort("accuracy").row(0, named=True)
        found.append(
            f"Facts are not known in {_conditions(unknown, labels)} (accuracy "
            f"{worst['accuracy']:.2f} on {worst['role']}): low accuracy on queries does "
            "not say there that facts are not combined. Train longer."
        )
    seeds = table["seed"].n_unique()
    by_seed = asked.group_by([*labels, "seed"], maintain_order=True).agg(pl.col("accuracy").mean())
    spread = by_seed.group_by(labels or [pl.lit(1)], maintain_order=True).agg(
        pl.col("accuracy").std()
    )
    wide = spread.filter(pl.col("accuracy") > SPREAD)
    if wide.height:
        deviation = max(wide["accuracy"])
        needed = math.ceil(2 * (1.96 * deviation / WANTED) ** 2)
        if needed > seeds:
            found.append(
                f"Composition varies by seed (standard deviation up to {deviation:.2f} in "
                f"{_conditions(wide, labels)}): {seeds} seeds cannot separate conditions; about "
                f"{needed} would tell a difference to within {WANTED:g}."
            )
    return found


def _of_learners(trials: Sequence[Trial]) -> list[str]:
    """Settings of learners that decide, are not varied, and are not those of the named learner."""
    differing: dict[str, tuple[object, object]] = {}
    seen: dict[str, set[object]] = {}
    for trial in trials:
        if trial.labels.get(CONTROL, NO_CONTROL) != NO_CONTROL:
            continue
        if not isinstance(trial.model, GPTConfig) or not isinstance(trial.learner, Curriculum):
            continue
        named = named_for(trial.world, trial.model).phases[0]
        if not named.random_offset:
            continue  # no family of facts that are composed
        phase = trial.learner.phases[0]
        for name, value in _deciding(phase).items():
            seen.setdefault(name, set()).add(value)
            if _differs(value, _deciding(named)[name]):
                differing[name] = (value, _deciding(named)[name])
    told = [f"{n} ({a}, not {b})" for n, (a, b) in differing.items() if len(seen[n]) == 1]
    if not told:
        return []
    return [
        f"The learner differs from learners.two_hop in {', '.join(told)}, which can decide whether "
        f"a GPT composes: see {_PAGE}."
    ]


def _of_facts(trials: Sequence[Trial]) -> list[str]:
    """Chains of three facts that a user's own facts hold, and that nothing asks."""
    worlds = {trial.world.path: trial.world for trial in trials if _only_pairs(trial.world)}
    return [
        f"Of {path} compositions of two facts are asked; its chains of three facts, and other "
        "kinds, are left out. questions='all' asks them."
        for path, world in worlds.items()
        if structs.replace(world, questions="chain").build().queries
    ]


def _only_pairs(world: object) -> TypeGuard[Triples]:
    return isinstance(world, Triples) and world.kinds == ("composition",)


def _deciding(phase: Phase) -> dict[str, object]:
    return {
        "random_offset": phase.random_offset,
        "loss": getattr(phase.loss, "at", phase.loss),
        "optimizer.kind": getattr(phase.optimizer.kind, "at", phase.optimizer.kind),
        "optimizer.rate": phase.optimizer.rate,
    }


def _differs(value: object, usual: object) -> bool:
    if isinstance(value, float) and isinstance(usual, float):
        return max(value, usual) >= FACTOR * min(value, usual)
    return value != usual


def _conditions(table: pl.DataFrame, labels: Sequence[str]) -> str:
    """A few conditions in words."""
    rows = table.select(labels).unique(maintain_order=True).rows(named=True) if labels else []
    if not rows:
        return "every condition"
    words = [" ".join(f"{name}={value}" for name, value in row.items()) for row in rows[:3]]
    rest = f" and {len(rows) - 3} more" if len(rows) > 3 else ""
    return "; ".join(words) + rest
