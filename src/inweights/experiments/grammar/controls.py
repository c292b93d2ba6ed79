"""Compare trials with controls: the same trials without the part that should cause the effect.

:func:`with_controls` adds controls to the trials of a study, and :func:`beyond_control`
computes how far the conditions exceed them. :mod:`~.cautions` states other limits of a
comparison.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, product
from typing import Any

import polars as pl
from msgspec import structs

from inweights.errors import ConfigError, DataError, check_names
from inweights.experiments.grammar.shown import shown_in
from inweights.experiments.grammar.trial import Trial
from inweights.models.outside.module_configs import TrainedConfig, WrapConfig
from inweights.support.statistics.intervals import median_interval
from inweights.training.learners.kinds import Curriculum
from inweights.worlds.registry import Altered

#: Column that names the control, and its value for the original trials.
CONTROL = "control"
NO_CONTROL = "none"
#: Roles of the facts on which the papers' findings rest. The first group that a world
#: has is used.
_BRIDGES = (("identity",), ("similarity",), ("edge", "reverse_edge"))


def with_controls(trials: Sequence[Trial], names: Sequence[str]) -> list[Trial]:
    """Return each trial, followed by one changed copy of it for every control.

    The controls are:

    - ``untrained``: the model before its first update.
    - ``shuffled``: the same prompts with permuted answers, which keeps the number of
      facts and destroys their structure.
    - ``no-bridge``: the facts that should cause the effect are left out. These are the
      facts of the role ``identity`` if the world has any; otherwise the facts of the
      role ``similarity``; otherwise the facts of the roles ``edge`` and
      ``reverse_edge``.
    - ``frozen``: the token embeddings keep their initial values. These are random,
      unless the model was passed with trained weights.

    Args:
        trials: The conditions.
        names: Names of controls from the list above. If empty, the trials are returned
            unchanged, without the label ``control``.

    Returns:
        The trials with a further label ``control``, which is ``none`` for the original
        trials and the name of the control for the copies.

    Raises:
        ConfigError: ``names`` is a single string, a control is unknown or does not
            apply to a trial, or a trial already has a label ``control``. ``shuffled``
            applies to every trial; ``untrained`` and ``frozen`` apply only to learners
            that are a ``Curriculum``. For a wrapped module, ``frozen`` also requires an
            embedding of the token ids. ``no-bridge`` applies if the world has facts of
            the roles listed above, and facts of other roles remain to train on. (Errors
            that a wrapped module raises while it is built propagate.)
        DataError: A world that has to be built for ``no-bridge`` or ``frozen`` cannot
            be built from its files.

    Example:
        >>> import inweights as iw
        >>> trial = Trial(labels={}, world=iw.TwoHop(), learner=iw.Curriculum())
        >>> [one.labels["control"] for one in with_controls([trial], ["untrained", "no-bridge"])]
        ['none', 'untrained', 'no-bridge']
    """
    if isinstance(names, str):
        raise ConfigError(
            f"'controls' must be a list of names, such as [{names!r}], got {names!r}"
        )
    if not names:
        return list(trials)
    if any(CONTROL in trial.labels for trial in trials):
        raise ConfigError(
            f"the label '{CONTROL}' is reserved; rename the setting that is varied"
        )
    check_names("control", names, CONTROLS)
    changes: dict[str, Callable[[Trial], Trial]] = {NO_CONTROL: lambda trial: trial}
    changes |= {name: CONTROLS[name] for name in names}
    return [
        replace(change(trial), labels={**trial.labels, CONTROL: name})
        for trial, (name, change) in product(trials, changes.items())
    ]


def beyond_control(table: pl.DataFrame, value: str = "") -> pl.DataFrame:
    """Return how far each condition exceeds its controls, at the end of training.

    If the table has a column ``step``, only the last step of each run is compared.

    Args:
        table: Table of a probe over trials with controls. The labels and the column
            ``control`` precede the column ``seed``, and the probe's own columns follow
            it.
        value: Name of the numeric column to compare. By default the column that the
            probe declares as its value (:class:`~.shown.Shown`).

    Returns:
        One row for each condition and control, and for each combination of values in
        the probe's own text, Boolean and integer columns, such as ``role`` (except
        ``step``, ``statements`` and ``replica``). Rows of the same seed are averaged
        first. The columns are the labels, the columns of these combinations and
        ``control``; ``beyond``, the median over seeds of the condition's value minus
        the control's value; ``low`` and ``high``, the exact 95% confidence interval of
        this median, null for fewer than six seeds; and ``seeds``, the number of seeds
        that have both values. There is no row if no seed has both values. A result
        without rows has no columns either.

    Raises:
        DataError: The table has no column ``control`` or ``seed``; ``value`` is not a
            column after ``seed``, or contains neither numbers nor Booleans; or
            ``value`` is not given, and no probe declares a value for a table with these
            columns.

    Example:
        >>> controls, seeds = ["none"] * 6 + ["frozen"] * 6, [*range(6)] * 2
        >>> rows = {"control": controls, "seed": seeds, "share": [0.4] * 6 + [0.1] * 6}
        >>> table = pl.DataFrame(rows)
        >>> beyond_control(table, "share").select("control", pl.col("low").round(3)).rows()
        [('frozen', 0.3)]
    """
    if not {CONTROL, "seed"} <= set(table.columns):
        raise DataError(
            f"the table needs the columns '{CONTROL}' and 'seed'; run the sweep with "
            "controls=[…]"
        )
    split = table.columns.index("seed")
    own = table.columns[split + 1 :]
    shown = shown_in(own)
    value = value or (shown.value if shown else "")
    if value not in own:
        raise DataError(
            "the table has no default column to compare; pass value=NAME with one of the "
            f"columns {', '.join(own)}"
        )
    kind = table.schema[value]
    if not (kind.is_numeric() or kind in (pl.Boolean, pl.Null)):
        raise DataError(
            f"the column to compare must contain numbers, but '{value}' contains {kind}"
        )
    labels = [name for name in table.columns[:split] if name != CONTROL]
    kinds = (pl.String, pl.Boolean, pl.Int64, pl.Int32)
    numbers = (value, "step", "statements", "replica")
    places = [
        name for name in own if table[name].dtype in kinds and name not in numbers
    ]
    if "step" in own:
        table = table.filter(
            pl.col("step") == pl.col("step").max().over(*labels, CONTROL, "seed")
        )
    on = [*labels, *places, "seed"]
    per_seed = table.group_by([*on, CONTROL], maintain_order=True).agg(
        pl.col(value).mean()
    )
    mine = per_seed.filter(pl.col(CONTROL) == NO_CONTROL).select(*on, mine=value)
    paired = per_seed.filter(pl.col(CONTROL) != NO_CONTROL).join(
        mine, on=on, nulls_equal=True
    )
    rows = []
    by = [*labels, *places, CONTROL]
    for case, group in paired.group_by(by, maintain_order=True):
        gaps = (group["mine"] - group[value]).drop_nans().drop_nulls().to_list()
        if not gaps:
            continue
        middle, *ends = median_interval(gaps)
        low, high = (end if math.isfinite(end) else None for end in ends)
        about = dict(zip(by, case, strict=True))
        rows.append(
            about
            | {
                "beyond": middle,
                "low": low,
                "high": high,
                "seeds": len(gaps),
            }
        )
    return pl.DataFrame(rows, infer_schema_length=None)


def _untrained(trial: Trial) -> Trial:
    """Return the trial with a learner that makes no updates."""
    phase = _curriculum(trial, "untrained").phases[0]
    return replace(trial, learner=Curriculum(phases=(structs.replace(phase, steps=0),)))


def _no_bridge(trial: Trial) -> Trial:
    """Return the trial without its bridge facts: the first of :data:`_BRIDGES` in its world."""
    roles = trial.world.build(0).facts.role_names
    for bridge in _BRIDGES:
        without = tuple(role for role in bridge if role in roles)
        if without and set(roles) - set(without):
            world = Altered(of=trial.world, without="+".join(without))
            return replace(trial, world=world, learner=_without(trial, without))
    bridges = ", ".join(chain.from_iterable(_BRIDGES))
    raise ConfigError(
        f"the control 'no-bridge' requires facts of one of the roles {bridges}, which it "
        "removes, and facts of at least one other role; the roles of this world are "
        f"{', '.join(roles)}"
    )


def _frozen(trial: Trial) -> Trial:
    """Return the trial with token embeddings frozen at their initial values."""
    learner = _curriculum(trial, "frozen")
    table = _embedding(trial)
    phases = [structs.replace(p, freezes=(*p.freezes, table)) for p in learner.phases]
    return replace(trial, learner=Curriculum(phases=tuple(phases)))


def _embedding(trial: Trial) -> str:
    """Return the name of the token embeddings; the parameters of wrapped modules are searched."""
    if not isinstance(trial.model, WrapConfig | TrainedConfig):
        return "tokens.*"
    model = trial.model.build(vocabulary=len(trial.world.build(0).vocabulary), seeds=1)
    table = model.input_table
    parameters = dict(model.named_parameters())
    for name, parameter in parameters.items():
        if table is not None and parameter.data_ptr() == table.data_ptr():
            return name
    raise ConfigError(
        f"the control 'frozen' needs a trained torch.nn.Embedding that reads the token ids, and "
        f"'{trial.model.label}' has none; leave the control out, or sweep learner.phases.0.freezes "
        f"over names of {', '.join(parameters)}"
    )


#: Functions that change a trial, by the name of the control.
CONTROLS: dict[str, Callable[[Trial], Trial]] = {
    "untrained": _untrained,
    "shuffled": lambda trial: replace(
        trial, world=Altered(of=trial.world, shuffled=True)
    ),
    "no-bridge": _no_bridge,
    "frozen": _frozen,
}


def _curriculum(trial: Trial, name: str) -> Curriculum:
    """Return the curriculum of a trial, or raise an error if its learner is not a curriculum."""
    learner = trial.learner
    if not isinstance(learner, Curriculum):
        raise ConfigError(
            f"the control '{name}' needs a Curriculum, got {type(learner).__name__}"
        )
    return learner


def _without(trial: Trial, roles: Sequence[str]) -> Any:
    """Return the learner with the given roles removed from its phases."""
    if not isinstance(trial.learner, Curriculum):
        return trial.learner
    phases = []
    for phase in trial.learner.phases:
        left = {
            role: weight for role, weight in phase.roles.items() if role not in roles
        }
        batch = phase.batch
        if isinstance(batch, dict):
            batch = _batch_without(batch, roles)
        if left or not phase.roles:
            phases.append(structs.replace(phase, roles=left, batch=batch))
    if not phases:
        raise ConfigError(
            "the control 'no-bridge' would remove all facts from the curriculum; at least "
            "one phase must train on facts of another role"
        )
    return Curriculum(phases=tuple(phases))


def _batch_without(batch: Mapping[str, int], roles: Sequence[str]) -> dict[str, int]:
    """Return batch sizes by role or roles (such as ``edge+path``), without the given roles."""
    sizes = {}
    for drawn_roles, size in batch.items():
        left = [role for role in drawn_roles.split("+") if role not in roles]
        if left:
            sizes["+".join(left)] = size
    return sizes
