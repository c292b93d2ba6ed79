"""Groups the trials of a recipe by shape, so that each group trains as one tensor program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inweights.config import digest, to_dict
from inweights.recipes.recipe import Measure, Trial
from inweights.worlds.world import World

__all__ = ["Group", "Member", "group_trials"]

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
