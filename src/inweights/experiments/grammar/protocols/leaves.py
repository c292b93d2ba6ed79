"""List every setting of a plan by its path, for the comparison with a paper."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from inweights.experiments.grammar.protocols.protocol_file import NOTHING, named
from inweights.experiments.grammar.trial import Computation, Measure, Plan, Trial

#: Settings without an effect on results: a name that messages show, the interval at
#: which a stopping rule is checked, and the order in which nodes are named, which does
#: not influence the training.
NAMES = ("learner.phases.*.name", "learner.phases.*.stop.every", "*.shuffled")
#: Value at the path of a measure or computation, which states that it is used.
USED = "used"


@dataclass(frozen=True)
class Subject:
    """Settings of one trial or computation that are compared with a paper.

    Attributes:
        values: Values of the settings, keyed by path, such as ``model.width``,
            including the options of probes and computations. ``None`` is replaced by
            the string ``none``, and a function by its name. Each probe or computation
            that is used has a path ``measure.NAME`` or ``compute.NAME`` with the value
            ``used``.
        labels: Labels of the trial or computation in the tables, keyed by column.
    """

    values: Mapping[str, Any]
    labels: Mapping[str, Any] = field(default_factory=dict)


def subjects_of(plan: Plan) -> Iterator[Subject]:
    """Yield a :class:`Subject` for every trial and then for every computation of a plan.

    Settings without an effect are left out. These are settings that have no effect
    because of other settings, and settings that never have an effect (:data:`NAMES`).
    The settings of a measure are repeated for every trial to which it applies.

    Args:
        plan: The plan.
    """
    for trial in plan.trials:
        yield Subject(dict(_trial(trial, plan.measures)), trial.labels)
    for computation in plan.computations:
        yield Subject(dict(_computation(computation)), computation.labels)


def _trial(trial: Trial, measures: Sequence[Measure]) -> Iterator[tuple[str, Any]]:
    """Yield the settings of a trial and of the measures that fit it, by path."""
    for part in ("world", "model", "learner"):
        config = getattr(trial, part)
        if config is not None:
            yield from _leaves(config, part)
    phases = getattr(trial.learner, "phases", None)
    if phases is not None:
        yield "learner.kind", "curriculum"
        yield "learner.phases", len(phases)
    for measure in measures:
        if measure.fits(trial):
            path = f"measure.{_name(measure.probe)}"
            yield path, USED
            if measure.options:
                yield from _leaves(dict(measure.options), f"{path}.options")


def _computation(computation: Computation) -> Iterator[tuple[str, Any]]:
    """Yield the settings of a computation, by path."""
    path = f"compute.{_name(computation.compute)}"
    yield path, USED
    if computation.options:
        yield from _leaves(dict(computation.options), f"{path}.options")


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield the path and value of every setting below a path, with indices for lists of configs.

    A setting that has no effect, given the others, is left out.
    """
    if isinstance(value, msgspec.Struct):
        idle = getattr(value, "idle", ())
        tag = value.__struct_config__.tag
        fields = {name: getattr(value, name) for name in value.__struct_fields__}
        kind = {"kind": tag} if tag else {}
        value = kind | {n: one for n, one in fields.items() if n not in idle}
    if isinstance(value, Mapping) and value:
        for name, inner in value.items():
            yield from _leaves(inner, f"{path}.{name}")
    elif isinstance(value, list | tuple) and any(map(_nested, value)):
        for place, inner in enumerate(value):
            yield from _leaves(inner, f"{path}.{place}")
    elif not any(named(pattern, path) for pattern in NAMES):
        yield path, _plain(value)


def _nested(value: Any) -> bool:
    return isinstance(value, Mapping | msgspec.Struct)


def _plain(value: Any) -> Any:
    if value is None:
        return NOTHING
    if isinstance(value, tuple | list):
        return list(map(_plain, value))
    return _name(value) if callable(value) else value


def _name(function: Any) -> str:
    return getattr(function, "__name__", type(function).__name__)
