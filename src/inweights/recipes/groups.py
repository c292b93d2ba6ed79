"""Groups the trials of a recipe by shape, and trains each group as one tensor program."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import polars as pl
import torch
from threadpoolctl import threadpool_limits

from inweights.config import digest, to_dict
from inweights.models.base import Model
from inweights.models.layers import Init
from inweights.recipes.recipe import Measure, Trial
from inweights.runs import part_is_whole, write_part
from inweights.training import Checkpoint, Observer, train
from inweights.worlds.world import World

__all__ = [
    "Group",
    "Member",
    "complete",
    "group_trials",
    "part_of",
    "train_group",
    "use_threads",
]

#: Replicas that train as one program at most. Beyond this nothing is gained on a CPU: measured at
#: width 64 and 8 layers, 8 and 24 replicas take the same time a run-step.
MAX_REPLICAS = 24
#: Bytes that the parameters, gradients and optimizer of a group may take.
MAX_BYTES = 4 * 2**30


@dataclass(frozen=True)
class Member:
    """One run to train, and the labels of every trial that asks for it."""

    trial: Trial
    world: World
    labels: tuple[Mapping[str, str | float | bool], ...]


@dataclass(frozen=True)
class Group:
    """Runs of one shape, that train as one program, and what is measured of each."""

    key: str
    members: tuple[Member, ...]
    measures: tuple[Measure, ...]

    @property
    def title(self) -> str:
        """What is trained, in a few words."""
        labels = ", ".join(str(value) for value in self.members[0].labels[0].values())
        return f"{len(self.members)} × {labels}"

    @property
    def replicas(self) -> int:
        """How many runs train together."""
        return len(self.members)

    @property
    def steps(self) -> int:
        """Updates of all members together."""
        return len(self.members) * self.members[0].trial.curriculum.steps


def group_trials(trials: Sequence[Trial], measures: Sequence[Measure]) -> list[Group]:
    """Group trials by the shape of world, model and curriculum, in order of first appearance.

    Trials that differ in their labels only are trained once.
    """
    found: dict[str, dict[str, Member]] = {}
    wanted: dict[str, tuple[Measure, ...]] = {}
    for trial in trials:
        asked = tuple(m for m in measures if _matches(m, trial))
        names = [m.name for m in asked]
        configs = [to_dict(c) for c in (trial.world, trial.model, trial.curriculum)]  # type: ignore[arg-type]
        run = digest([*configs, trial.seed])
        same = next((f[run] for key, f in found.items() if run in f and wanted[key] == asked), None)
        world = same.world if same else trial.world.build(trial.seed)
        model = {k: v for k, v in configs[1].items() if k != "init"}
        key = digest([model, to_dict(trial.curriculum.shape), _shape(world), names])
        wanted[key] = asked
        members = found.setdefault(key, {})
        labels = (*members[run].labels, trial.labels) if run in members else (trial.labels,)
        members[run] = Member(trial, world, labels)
    groups = []
    for key, members in found.items():
        runs = list(members.items())
        size = _capacity(runs[0][1])
        for start in range(0, len(runs), size):
            block = runs[start : start + size]
            identity = [[run, [dict(one) for one in member.labels]] for run, member in block]
            groups.append(Group(digest([key, identity]), tuple(m for _, m in block), wanted[key]))
    return groups


class Keyed(Protocol):
    """A piece of work that has a name of its own."""

    @property
    def key(self) -> str:
        """Its name."""
        ...


def part_of(work: Path, piece: Keyed) -> Path:
    """Folder of the tables of a piece of work, a part of the run."""
    return work / "parts" / piece.key / "tables"


def complete(work: Path, piece: Keyed) -> bool:
    """Whether a piece of work is done already, and its tables are as they were written."""
    return part_is_whole(part_of(work, piece))


@contextmanager
def use_threads(threads: int) -> Iterator[None]:
    """Let torch and the linear algebra of NumPy use so many threads for a while."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        with threadpool_limits(threads, user_api="blas"):
            yield
    finally:
        torch.set_num_threads(before)


def train_group(
    group: Group,
    first_seed: int,
    work: Path,
    device: str,
    progress: Callable[[int], None],
) -> None:
    """Train a group and store its tables, with labels and seeds, in the run's folder ``work``.

    An interrupted group goes on from its checkpoint.
    """
    checkpoint = Checkpoint(part_of(work, group).with_name("state"), key=group.key)
    trials = [member.trial for member in group.members]
    worlds = [member.world for member in group.members]
    seeds = [trial.seed for trial in trials]
    model: Model = (
        trials[0]
        .model.build(
            vocabulary=len(worlds[0].vocabulary),
            seeds=seeds,
            inits=[getattr(trial.model, "init", Init()) for trial in trials],
            candidates=worlds[0].outputs.tolist(),
        )
        .to(device)
    )
    kept = {m.name: [s == first_seed or not m.first_seed for s in seeds] for m in group.measures}

    def take(measure: Measure, model: Model) -> pl.DataFrame:
        table: pl.DataFrame = measure.probe(model, worlds, **measure.options)
        wanted = [r for r, keep in enumerate(kept[measure.name]) if keep]
        return table.filter(pl.col("replica").is_in(wanted))

    observers = [
        Observer(m.name, partial(take, m), m.every)
        for m in group.measures
        if m.every and any(kept[m.name])
    ]
    result = train(
        model,
        worlds,
        [trial.curriculum for trial in trials],
        seeds=seeds,
        observers=observers,
        checkpoint=checkpoint,
        progress=progress,
    )
    tables = {"losses": result.losses, **result.observed}
    for measure in group.measures:
        if not measure.every and any(kept[measure.name]):
            tables[measure.name] = take(measure, model)
    labels = pl.DataFrame(
        [
            {"replica": replica, **labels, "seed": member.trial.seed}
            for replica, member in enumerate(group.members)
            for labels in member.labels
        ]
    )
    labelled = {
        name: labels.join(table, on="replica", how="inner").drop("replica")
        for name, table in tables.items()
    }
    write_part(part_of(work, group), labelled)
    checkpoint.clear()


def _capacity(member: Member) -> int:
    """How many runs like this one train together without filling the memory."""
    lone = member.trial.model.build(vocabulary=len(member.world.vocabulary), seeds=[0])
    # Values, gradients and the two moments of Adam.
    state = 4 * sum(p.numel() * p.element_size() for p in lone.parameters())
    return max(1, min(MAX_REPLICAS, MAX_BYTES // state))


def _matches(measure: Measure, trial: Trial) -> bool:
    return all(trial.labels.get(key) == value for key, value in measure.where.items())


def _shape(world: World) -> list[Any]:
    return [
        len(world.vocabulary),
        digest(world.outputs.tolist()),
        *(
            [
                part.role_names,
                part.roles.tolist(),
                part.prompt_ends.tolist(),
                part.answer_ends.tolist(),
            ]
            for part in (world.facts, world.queries)
        ),
    ]
