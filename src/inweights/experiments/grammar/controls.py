"""Make a comparison sound: controls, and cautions on what it cannot show.

A control is the same trial without what should matter (:func:`with_controls`,
:func:`beyond_control`). A caution is a sentence on what the conditions of a study cannot say
(:func:`cautions`); pages and sweeps print it.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl
from msgspec import structs

from inweights.errors import ConfigError, DataError, check_names
from inweights.experiments.grammar.figure import shown_in
from inweights.experiments.grammar.trial import Trial
from inweights.models.configs import GPTConfig
from inweights.models.outside.module_configs import TrainedConfig, WrapConfig
from inweights.support.intervals import median_interval
from inweights.training.curriculum import Phase
from inweights.training.learner import Curriculum
from inweights.training.learners import named_for
from inweights.worlds.knowledge.triples import Triples
from inweights.worlds.registry import Altered

#: Column that names the control, and its value for the trials themselves.
CONTROL, NO_CONTROL = "control", "none"
#: Roles that carry what the papers' findings rest on, in the order in which they are looked for.
_BRIDGES = (("identity",), ("similarity",), ("edge", "reverse_edge"))
#: Accuracy from which on facts count as known, and spread over seeds above which few say little.
KNOWN, SPREAD = 0.99, 0.2
#: Half the width of the 95% interval of a difference that a number of seeds should reach.
WANTED = 0.2
#: Factor between two rates that decides.
FACTOR = 3.0
_ASKED = ("composition", "chain", "conclusion")


def with_controls(trials: Sequence[Trial], names: Sequence[str]) -> list[Trial]:
    """Return the trials, and each of them once more for every control.

    - ``untrained``: the same architecture before its first update.
    - ``shuffled``: the same prompts with their answers permuted, so that the number of facts
      stays and their structure does not.
    - ``no-bridge``: without the facts that should matter: identities, else similarities, else
      edges.
    - ``frozen``: token embeddings stay at their random start.

    Args:
        trials: The conditions.
        names: Controls; if empty, the trials are returned as they are.

    Returns:
        The trials with a further label ``control``, which is ``none`` for the trials
        themselves.

    Raises:
        ConfigError: A control is unknown, or makes no sense for a trial; the label is taken.

    Example:
        >>> import inweights as iw
        >>> trial = Trial(labels={}, world=iw.TwoHop(), learner=iw.Curriculum())
        >>> [one.labels["control"] for one in with_controls([trial], ["untrained", "no-bridge"])]
        ['none', 'untrained', 'no-bridge']
    """
    if isinstance(names, str):
        raise ConfigError(f"controls are a list of names, [{names!r}], got {names!r}")
    if not names:
        return list(trials)
    if any(CONTROL in trial.labels for trial in trials):
        raise ConfigError(f"the label '{CONTROL}' is taken; rename what is varied")
    check_names("control", names, CONTROLS)
    changes: dict[str, Callable[[Trial], Trial]] = {NO_CONTROL: lambda trial: trial}
    changes |= {name: CONTROLS[name] for name in names}
    return [
        replace(change(trial), labels={**trial.labels, CONTROL: name})
        for trial in trials
        for name, change in changes.items()
    ]


def beyond_control(table: pl.DataFrame, value: str = "") -> pl.DataFrame:
    """Return how far each condition exceeds its controls at the end of training.

    Args:
        table: Table of a probe, from trials with controls: labels, ``control``, ``seed``, and
            the probe's own columns.
        value: Column that is compared; by default the one that the probe declares.

    Returns:
        A row for each condition, control and place that the probe tells apart: ``beyond``, the
        median over seeds of the value less that of the control; ``low`` and ``high``, its
        exact 95% interval, null for fewer than six seeds; ``seeds``.

    Raises:
        DataError: The table has no controls, or no probe declares what it measures.

    Example:
        >>> controls, seeds = ["none"] * 6 + ["frozen"] * 6, [*range(6)] * 2
        >>> rows = {"control": controls, "seed": seeds, "share": [0.4] * 6 + [0.1] * 6}
        >>> table = pl.DataFrame(rows)
        >>> beyond_control(table, "share").select("control", pl.col("low").round(3)).rows()
        [('frozen', 0.3)]
    """
    if not {CONTROL, "seed"} <= set(table.columns):
        raise DataError(f"the table has no columns '{CONTROL}' and 'seed'; sweep with controls=[…]")
    split = table.columns.index("seed")
    own = table.columns[split + 1 :]
    shown = shown_in(own)
    value = value or (shown.value if shown else "")
    if value not in own:
        raise DataError(f"say which column is compared, value=…; the table has {', '.join(own)}")
    labels = [name for name in table.columns[:split] if name != CONTROL]
    texts = [n for n in own if table[n].dtype in (pl.String, pl.Boolean, pl.Int64, pl.Int32)]
    places = [n for n in texts if n not in (value, "step", "statements", "replica")]
    if "step" in own:
        table = table.filter(pl.col("step") == pl.col("step").max().over(*labels, CONTROL, "seed"))
    on = [*labels, *places, "seed"]
    per_seed = table.group_by([*on, CONTROL], maintain_order=True).agg(pl.col(value).mean())
    mine = per_seed.filter(pl.col(CONTROL) == NO_CONTROL).select(*on, mine=value)
    paired = per_seed.filter(pl.col(CONTROL) != NO_CONTROL).join(mine, on=on, nulls_equal=True)
    rows = []
    by = [*labels, *places, CONTROL]
    for case, group in paired.group_by(by, maintain_order=True):
        if gaps := (group["mine"] - group[value]).drop_nans().drop_nulls().to_list():
            middle, *ends = median_interval(gaps)
            low, high = (end if math.isfinite(end) else None for end in ends)
            about = dict(zip(by, case, strict=True))
            rows.append(about | {"beyond": middle, "low": low, "high": high, "seeds": len(gaps)})
    return pl.DataFrame(rows, infer_schema_length=None)


def _untrained(trial: Trial) -> Trial:
    """Return the trial without any update."""
    phase = _curriculum(trial, "untrained").phases[0]
    return replace(trial, learner=Curriculum(phases=(structs.replace(phase, steps=0),)))


def _no_bridge(trial: Trial) -> Trial:
    """Return the trial without the first kind of facts that its finding may rest on."""
    roles = trial.world.build(0).facts.role_names
    for bridge in _BRIDGES:
        without = tuple(role for role in bridge if role in roles)
        if without and set(roles) - set(without):
            world = Altered(of=trial.world, without="+".join(without))
            return replace(trial, world=world, learner=_without(trial, without))
    bridges = ", ".join(role for bridge in _BRIDGES for role in bridge)
    raise ConfigError(
        f"the control 'no-bridge' leaves out facts of one of the roles {bridges}, and others must "
        f"remain; the world has {', '.join(roles)}"
    )


def _frozen(trial: Trial) -> Trial:
    """Return the trial with token embeddings that stay at their start."""
    learner, table = _curriculum(trial, "frozen"), _embedding(trial)
    phases = [structs.replace(p, freezes=(*p.freezes, table)) for p in learner.phases]
    return replace(trial, learner=Curriculum(phases=tuple(phases)))


def _embedding(trial: Trial) -> str:
    """Return the parameters that embed tokens; a wrapped module has its own name for them."""
    if not isinstance(trial.model, WrapConfig | TrainedConfig):
        return "tokens.*"
    model = trial.model.build(vocabulary=len(trial.world.build(0).vocabulary), seeds=1)
    table, parameters = model.input_table, dict(model.named_parameters())
    for name, parameter in parameters.items():
        if table is not None and parameter.data_ptr() == table.data_ptr():
            return name
    raise ConfigError(
        f"the control 'frozen' needs a trained torch.nn.Embedding that reads the token ids, and "
        f"'{trial.model.label}' has none; leave the control out, or sweep learner.phases.0.freezes "
        f"over names of {', '.join(parameters)}"
    )


#: How each control changes a trial.
CONTROLS: dict[str, Callable[[Trial], Trial]] = {
    "untrained": _untrained,
    "shuffled": lambda trial: replace(trial, world=Altered(of=trial.world, shuffled=True)),
    "no-bridge": _no_bridge,
    "frozen": _frozen,
}


def _curriculum(trial: Trial, name: str) -> Curriculum:
    """Return the curriculum of a trial; another kind of learner is refused."""
    learner = trial.learner
    if not isinstance(learner, Curriculum):
        raise ConfigError(f"the control '{name}' needs a Curriculum, got {type(learner).__name__}")
    return learner


def _without(trial: Trial, roles: Sequence[str]) -> Any:
    """Return the learner with phases that do not name the roles."""
    if not isinstance(trial.learner, Curriculum):
        return trial.learner
    phases = []
    for phase in trial.learner.phases:
        left = {role: weight for role, weight in phase.roles.items() if role not in roles}
        batch = phase.batch
        if isinstance(batch, dict):
            drawn = {key: [r for r in key.split("+") if r not in roles] for key in batch}
            batch = {"+".join(drawn[key]): size for key, size in batch.items() if drawn[key]}
        if left or not phase.roles:  # else it trained nothing else
            phases.append(structs.replace(phase, roles=left, batch=batch))
    if not phases:
        raise ConfigError("without its bridge the curriculum trains nothing")
    return Curriculum(phases=tuple(phases))


def cautions(trials: Sequence[Trial], tables: Mapping[str, pl.DataFrame]) -> list[str]:
    """Return sentences that a reader has to know before comparing the conditions of a study.

    Named are conditions whose facts are not known; conditions whose compositions vary so much
    by seed that the seeds cannot separate them, and how many would; learners of GPTs that
    differ from the named one in a setting that decides; and files of facts with chains of
    three facts about which nothing is asked.

    Args:
        trials: The conditions.
        tables: Their tables, by name; those of :func:`~inweights.probes.accuracy` are looked
            at.
    """
    labels = list(dict.fromkeys(name for trial in trials for name in trial.labels))
    found = _of_learners(trials) + _of_facts(trials)
    for table in tables.values():
        if {"part", "role", "seed", "accuracy"} <= set(table.columns):
            known = table.with_columns(pl.col("accuracy").fill_nan(None))  # of no statements
            found += _of_accuracy(known, [one for one in labels if one in table.columns])
    return list(dict.fromkeys(found))


def _of_accuracy(table: pl.DataFrame, labels: Sequence[str]) -> list[str]:
    """Return what the accuracies of a table forbid to conclude."""
    if CONTROL in table.columns:
        table = table.filter(pl.col(CONTROL) == NO_CONTROL)
    if "step" in table.columns:
        table = table.filter(pl.col("step") == pl.col("step").max())
    asked = table.filter(pl.col("role").is_in(_ASKED))
    if asked.is_empty():
        return []
    found, value = [], pl.col("accuracy")
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
    by_seed = asked.group_by([*labels, "seed"], maintain_order=True).agg(value.mean())
    spread = by_seed.group_by(labels or [pl.lit(1)], maintain_order=True).agg(value.std())
    wide = spread.filter(value > SPREAD)
    deviation = max(wide["accuracy"], default=0.0)
    needed = math.ceil(2 * (1.96 * deviation / WANTED) ** 2)
    if needed > seeds:
        found.append(
            f"Composition varies by seed (standard deviation up to {deviation:.2f} in "
            f"{_conditions(wide, labels)}): {seeds} seeds cannot separate conditions; about "
            f"{needed} would tell a difference to within {WANTED:g}."
        )
    return found


def _of_learners(trials: Sequence[Trial]) -> list[str]:
    """Return cautions on settings that decide and differ from the named learner's."""
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
        usual = _deciding(named)
        for name, value in _deciding(trial.learner.phases[0]).items():
            seen.setdefault(name, set()).add(value)
            if _differs(value, usual[name]):
                differing[name] = (value, usual[name])
    told = ", ".join(f"{n} ({a}, not {b})" for n, (a, b) in differing.items() if len(seen[n]) == 1)
    text = (
        f"The learner differs from learners.two_hop in {told}, which can decide whether a GPT "
        "composes: see docs/what-decides.md."
    )
    return [text] if told else []


def _of_facts(trials: Sequence[Trial]) -> list[str]:
    """Return cautions on chains of three facts that no query is about."""
    own = [trial.world for trial in trials if isinstance(trial.world, Triples)]
    worlds = {world.path: world for world in own if world.kinds == ("composition",)}
    return [
        f"Of {path} compositions of two facts are asked; its chains of three facts, and other "
        "kinds, are left out. questions='all' asks them."
        for path, world in worlds.items()
        if structs.replace(world, questions="chain").build().queries
    ]


def _deciding(phase: Phase) -> dict[str, object]:
    """Return the settings of a phase that decide whether a GPT composes."""
    return {
        "random_offset": phase.random_offset,
        "loss": getattr(phase.loss, "at", phase.loss),
        "optimizer.kind": getattr(phase.optimizer.kind, "at", phase.optimizer.kind),
        "optimizer.rate": phase.optimizer.rate,
    }


def _differs(value: object, usual: object) -> bool:
    """Return whether a setting is unusual; a rate is, by :data:`FACTOR` or more."""
    if isinstance(value, float) and isinstance(usual, float):
        return max(value, usual) >= FACTOR * min(value, usual)
    return value != usual


def _conditions(table: pl.DataFrame, labels: Sequence[str]) -> str:
    """Return a few conditions in words."""
    rows = table.select(labels).unique(maintain_order=True).rows(named=True) if labels else []
    words = [" ".join(f"{name}={value}" for name, value in row.items()) for row in rows[:3]]
    rest = f" and {len(rows) - 3} more" if len(rows) > 3 else ""
    return "; ".join(words) + rest or "every condition"
