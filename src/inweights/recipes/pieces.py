"""The pieces of work of a recipe: groups that train as one program, and what is deduced."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from inweights.config import digest, to_dict
from inweights.recipes.groups import Group, group_trials, part_of, train_group
from inweights.recipes.recipe import Deduction, Plan
from inweights.runs import write_part

__all__ = ["Deduced", "Piece", "pieces", "work_on"]


@dataclass(frozen=True)
class Deduced:
    """Deductions with the same labels and seed, which are computed and stored together."""

    key: str
    deductions: tuple[Deduction, ...]
    replicas: int = 1

    @property
    def title(self) -> str:
        """What is computed, in a few words."""
        labels = ", ".join(str(value) for value in self.deductions[0].labels.values())
        return f"{' and '.join(dict.fromkeys(d.name for d in self.deductions))} of {labels}"

    @property
    def steps(self) -> int:
        """How much of the recipe's progress this is, in updates that take about as long."""
        return sum(d.effort for d in self.deductions)


Piece = Group | Deduced


def pieces(plan: Plan) -> list[Piece]:
    """Return all pieces of a plan's work: any order, any process, each stored when it is done."""
    found: dict[str, list[Deduction]] = {}
    for deduction in plan.deductions:
        found.setdefault(digest([dict(deduction.labels), deduction.seed]), []).append(deduction)
    deduced = [Deduced(_key(group), tuple(group)) for group in found.values()]
    return [*deduced, *group_trials(plan.trials, plan.measures)]


def work_on(
    piece: Piece, first_seed: int, work: Path, device: str, progress: Callable[[int], None]
) -> None:
    """Do a piece of work and store its tables, with labels and seeds, in the run's folder."""
    if isinstance(piece, Group):
        train_group(piece, first_seed, work, device, progress)
        return
    tables: dict[str, list[pl.DataFrame]] = {}
    done = 0
    for deduction in piece.deductions:
        table = deduction.compute(**deduction.options)
        marks = pl.DataFrame([{**deduction.labels, "seed": deduction.seed}])  # types as of trials
        labelled = marks.join(table, how="cross")
        tables.setdefault(deduction.name, []).append(labelled)
        done += deduction.effort
        progress(done)
    whole = {name: pl.concat(parts, how="diagonal_relaxed") for name, parts in tables.items()}
    write_part(part_of(work, piece), whole)


def _key(deductions: Sequence[Deduction]) -> str:
    return digest(
        [
            [d.name, dict(d.labels), d.seed, d.compute.__qualname__, _plain(dict(d.options))]
            for d in deductions
        ]
    )


def _plain(value: Any) -> Any:
    """Options as plain values: configs become mappings, functions their names."""
    if callable(value):
        return value.__qualname__
    if isinstance(value, msgspec.Struct):
        return to_dict(value)
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value
