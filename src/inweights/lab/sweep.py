"""A study of one's own: one experiment, varied; a tidy table with the settings as columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from inweights.config import replace_at
from inweights.errors import ConfigError, unknown_name
from inweights.lab.collect import Effort, collect
from inweights.lab.recipe import choose_seeds
from inweights.lab.trial import Measure, Plan, Trial
from inweights.progress import Progress
from inweights.runs import default_root
from inweights.training.learner import Curriculum, Learner

__all__ = ["grid", "sweep"]

_PARTS = ("world", "model", "learner")


def sweep(
    world: Any,
    model: Any = None,
    learner: Learner | None = None,
    *,
    over: Mapping[str, Sequence[Any] | Mapping[str, Any]] | None = None,
    seeds: int | Sequence[int] = 3,
    measures: Sequence[Callable[..., Any] | Measure],
    runs: str | Path | None = None,
    device: str = "cpu",
    jobs: int = 1,
    plugins: Sequence[str] = (),
    progress: Progress | None = None,
    on: str = "",
    store: str = "",
) -> pl.DataFrame:
    """Train and measure every combination of settings, for every seed.

    What was trained before, by this or any other sweep or recipe, is read back from the store.

    Args:
        world: Config of the world.
        model: Config of the architecture; an :class:`~inweights.training.Optimum` has none.
        learner: A curriculum (the default one if left out), a descent or an optimum.
        over: Values by path, such as ``{"world.n": [10, 20], "learner.phases.0.steps": [100]}``; or
            names of whole parts, ``{"model": {"wide": GPTConfig(width=128)}}``. The last word of a
            path becomes a column.
        seeds: How many, counted from 0, or which.
        measures: Probes, or :class:`~inweights.lab.Measure` for options and cadence.
        runs: Folder of all runs; ``$INWEIGHTS_RUNS`` or ``runs`` if left out.
        device: Where models live.
        jobs: Processes that work side by side.
        plugins: Modules that they import first.
        progress: Called with updates done, all updates, and what is being done.
        on: ``ray``, or the address ``ray://HOST:PORT`` of a cluster; this machine if left out.
        store: Where the tables of single runs are kept, if not below ``runs``: a folder, or an
            address such as ``s3://bucket/folder``.

    Returns:
        A row for each row of a measure: the varied settings, ``seed``, the measure's own columns;
        and ``measure``, its name, where there are several.

    Raises:
        ConfigError: A path leads nowhere, or a value does not fit.
        RunError: A training failed.

    Example:
        >>> import tempfile
        >>> import inweights as iw
        >>> descent = iw.Optimizer(kind="sgd", rate=2.0, weight_decay=0.0)
        >>> table = sweep(
        ...     iw.TwoHop(n=4),
        ...     iw.EmbMLPConfig(),
        ...     iw.Curriculum(phases=(iw.Phase(steps=1000, optimizer=descent),)),
        ...     over={"world.identity": [False, True]},
        ...     seeds=2,
        ...     measures=[iw.probes.accuracy],
        ...     runs=tempfile.mkdtemp(),
        ... )
        >>> table.filter(role="composition").select("identity", "seed", "accuracy").rows()
        [(False, 0, 0.0), (False, 1, 0.0), (True, 0, 1.0), (True, 1, 1.0)]
    """
    trials = grid(world, model, learner, over or {})
    looks = [m if isinstance(m, Measure) else Measure(name=_name(m), probe=m) for m in measures]
    if not looks:
        raise ConfigError("a sweep measures something; give a probe, such as probes.accuracy")
    effort = Effort(
        device=device, jobs=jobs, plugins=tuple(plugins), progress=progress, on=on, store=store
    )
    tables = collect(
        Plan(trials=trials, measures=looks),
        choose_seeds(seeds, 0),
        effort.open_store(runs or default_root()),
        effort,
    )
    names = list(dict.fromkeys(look.name for look in looks))
    if len(names) == 1:
        return tables[names[0]]
    named = [tables[name].select(pl.lit(name).alias("measure"), pl.all()) for name in names]
    return pl.concat(named, how="diagonal_relaxed")


def grid(
    world: Any,
    model: Any,
    learner: Learner | None,
    over: Mapping[str, Sequence[Any] | Mapping[str, Any]],
) -> list[Trial]:
    """Return a trial for every combination of values; see :func:`sweep`.

    Example:
        >>> from inweights.models import EmbMLPConfig
        >>> from inweights.worlds import TwoHop
        >>> trials = grid(TwoHop(), EmbMLPConfig(), None, {"world.n": [3, 4], "model.width": [8]})
        >>> [trial.labels for trial in trials]
        [{'n': 3, 'width': 8}, {'n': 4, 'width': 8}]
    """
    whole = {"world": world, "model": model, "learner": learner or Curriculum()}
    columns = _columns(over)
    choices = []
    for path, values in over.items():
        named = values.items() if isinstance(values, Mapping) else ((v, v) for v in values)
        choices.append([(path, columns[path], label, value) for label, value in named])
        if not choices[-1]:
            raise ConfigError(f"'{path}' is varied over no value; give at least one")
    trials = []
    for combination in product(*choices):
        parts = dict(whole)
        labels = {}
        for path, column, label, value in combination:
            part, _, rest = path.partition(".")
            if rest:
                parts[part] = replace_at(_config(parts[part], path), {rest: value})
            else:
                parts[part] = value
            labels[column] = label if isinstance(label, str | float | int) else str(label)
        trials.append(Trial(labels=labels, **parts))
    return trials


def _columns(over: Mapping[str, Any]) -> dict[str, str]:
    """The last word of each path; more of it where two end alike."""
    columns: dict[str, str] = {}
    for path in over:
        if path.partition(".")[0] not in _PARTS:
            raise unknown_name("part", path.partition(".")[0], _PARTS, hint=f"'{path}' is varied.")
        last = path.rpartition(".")[2]
        alike = [other for other in over if other.rpartition(".")[2] == last]
        columns[path] = last if len(alike) == 1 else path.replace(".", "_")
    return columns


def _config(part: Any, path: str) -> msgspec.Struct:
    if not isinstance(part, msgspec.Struct):
        raise ConfigError(f"'{path}' is varied, but there is no such part; give its config")
    return part


def _name(probe: Callable[..., Any]) -> str:
    return getattr(probe, "__name__", type(probe).__name__)
