"""Turn what a sweep varies into trials: a grid, axes that move together, or a list of points.

Paths such as ``world.n`` and ``learner.phases.0.optimizer.rate`` begin with one of the three
parts of a trial. A whole part may also be given several times, as a list or by names.
:func:`grid` makes the trials; :class:`~inweights.experiments.studies.sweep.Study` calls it.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import msgspec

from inweights.config import replace_at, to_plain
from inweights.config.border import as_list, as_number
from inweights.errors import ConfigError, unknown_name
from inweights.experiments.grammar.labels import labels_of
from inweights.experiments.grammar.trial import Change, Trial
from inweights.models.outside.module_configs import TrainedConfig

#: Values by path (a grid), or a list of points, each a value by path.
Over = Mapping[Any, Any] | Sequence[Mapping[str, Any]]

#: What each part of a trial must be.
_PARTS = {
    "world": "a config that builds one, such as iw.TwoHop(n=10) or iw.Facts('facts.csv'); or, "
    "without model and learner, a function: def experiment(seed, ...)",
    "model": "a config that builds one, such as iw.GPTConfig(); for a module of your own "
    "iw.wrap(lambda vocabulary: MyModule(vocabulary, width=64)), or iw.wrap(module) with the "
    "weights that it has",
    "learner": "a Curriculum, such as iw.learners.two_hop(), a Descent, an Optimum, or one of your "
    "own (training.register_learner)",
}


def grid(world: Any, model: Any, learner: Any, over: Over) -> list[Trial]:
    """Return a trial for every combination of values.

    Args:
        world: Config of the world that is varied.
        model: Config of the architecture; ``None`` for an optimum.
        learner: A curriculum, a descent or an optimum.
        over: Values by path, or a list of points; see :func:`inweights.sweep`.

    Raises:
        ConfigError: A path leads nowhere, a value does not fit, a part is no config of its
            kind, or two conditions have the same labels.

    Example:
        >>> from inweights.models import EmbMLPConfig
        >>> from inweights.training import Curriculum
        >>> from inweights.worlds import TwoHop
        >>> parts = TwoHop(), EmbMLPConfig(), Curriculum()
        >>> [t.labels for t in grid(*parts, {"world.n": [3, 4], "model.width": [8]})]
        [{'n': 3, 'width': 8}, {'n': 4, 'width': 8}]
        >>> [t.labels for t in grid(*parts, {"world.n, model.width": [(3, 8), (4, 16)]})]
        [{'n': 3, 'width': 8}, {'n': 4, 'width': 16}]
        >>> [t.labels for t in grid(*parts, [{"world.n": 3}, {"world.n": 4}])]
        [{'n': 3}, {'n': 4}]
    """
    whole = {"world": world, "model": config_of(model), "learner": learner}
    points = points_of(over, whole)
    columns = _columns([path for path, _, _ in points[0]])
    trials: dict[str, Trial] = {}
    known: dict[tuple[int | str, ...], Any] = {}
    for point in points:
        parts = _parts(whole, point, known)
        for name, part in parts.items():
            check_part(name, part)
        labels = {columns[path]: label for path, _, label in point}
        condition = repr(sorted(labels.items()))
        if condition in trials:
            where = ", ".join(f"{name}={value}" for name, value in labels.items())
            raise ConfigError(f"two conditions have the name {where}; give each value once")
        trials[condition] = Trial(labels=labels, **parts)
    return list(trials.values())


def check_part(name: str, part: Any) -> None:
    """Check that a value can be a part of a trial.

    Args:
        name: The part: ``world``, ``model`` or ``learner``.
        part: The value.

    Raises:
        ConfigError: It is no config of this part; the message says what to give.
    """
    has = {*dir(part)} & {"build", "steps", "phases", "learn"}
    fits = len(has) > 1 if name == "learner" else "build" in has
    left_out = name == "model" and part is None
    if not left_out and (isinstance(part, type) or not fits):
        raise ConfigError(f"the {name} must be {_PARTS[name]}; got {part!r}")


def _parts(
    whole: Mapping[str, Any], point: list[Change], known: dict[tuple[int | str, ...], Any]
) -> dict[str, Any]:
    """Return the three parts at a point; equal parts of several points are one object."""
    for path, _, _ in point:
        if path.partition(".")[0] not in whole:
            raise _unknown(path, [p for n in whole for p in _below(whole[n], n)])
    parts: dict[str, Any] = {}
    for name, part in whole.items():
        changes = [one for one in point if one[0].partition(".")[0] == name]
        # Values live as long as the points, so that their addresses tell them apart.
        key = (name, *(mark for path, value, _ in changes for mark in (path, id(value))))
        if key not in known:
            for path, value, _ in changes:
                rest = path.partition(".")[2]
                part = _replaced(part, path, rest, value) if rest else value  # noqa: PLW2901
            known[key] = part
        parts[name] = known[key]
    return parts


def points_of(over: Any, whole: Mapping[str, Any] | None = None) -> list[list[Change]]:
    """Return all conditions of what is varied, each as a list of changes.

    Args:
        over: Values by path, or a list of points.
        whole: The parts of the trial that is varied, by name; ``None`` for the arguments of a
            function.

    Returns:
        For each condition its changes: path, value, and label in the tables.

    Raises:
        ConfigError: Nothing is varied over a path, two axes vary one path, or points set
            different paths.
    """
    if isinstance(over, Mapping):
        axes = [_choices(key, values) for key, values in _flat(whole or {}, over).items()]
        paths = [path for axis in axes for path, _, _ in axis[0]]
        if twice := next((path for path in paths if paths.count(path) > 1), None):
            raise ConfigError(f"'{twice}' is varied by two axes; remove it from one")
        return [[change for choice in choices for change in choice] for choices in product(*axes)]
    if not isinstance(over, Sequence) or isinstance(over, str):
        raise ConfigError(
            'over must map paths to values, {"world.n": [10, 20]}, or a list of points, '
            f'[{{"world.n": 10}}], got {over!r}'
        )
    if not over:
        raise ConfigError("the list of points is empty; give at least one")
    for place, point in enumerate(over):
        if not isinstance(point, Mapping):
            raise ConfigError(f'a point must map paths to values, {{"world.n": 10}}, got {point!r}')
        if set(point) != set(over[0]):
            raise ConfigError(
                f"point {place + 1} sets {', '.join(point)}, the first one {', '.join(over[0])}; "
                "all points must set the same paths"
            )
    labels = {path: labels_of([one[path] for one in over]) for path in over[0]}
    return [
        [(path, as_number(value), labels[path][place]) for path, value in one.items()]
        for place, one in enumerate(over)
    ]


def _flat(whole: Mapping[str, Any], over: Mapping[Any, Any], prefix: str = "") -> dict[str, Any]:
    """Return axes by path; tables within tables, as TOML has them, become paths."""
    flat: dict[str, Any] = {}
    for key, values in over.items():
        path = prefix + (", ".join(key) if isinstance(key, tuple) else str(key))
        if isinstance(values, Mapping) and _holds_paths(whole, path, values, bool(prefix)):
            flat |= _flat(whole, values, f"{path}.")
        else:
            flat[path] = values
    return flat


def _holds_paths(
    whole: Mapping[str, Any], path: str, values: Mapping[Any, Any], inner: bool
) -> bool:
    """Return whether a mapping continues a path, and does not give names to values."""
    if inner:
        return any(isinstance(one, Mapping | list | tuple) for one in values.values())
    fields = getattr(whole.get(path), "__struct_fields__", ())
    return path in _PARTS and any(
        str(key).partition(".")[0] in fields or isinstance(one, list) for key, one in values.items()
    )


def _choices(key: str, values: Any) -> list[list[Change]]:
    """Return the choices of one axis; each sets one path, or several that move together."""
    paths = [path.strip() for path in key.split(",")]
    if isinstance(values, str) or not hasattr(values, "__iter__"):
        raise ConfigError(f"'{key}' must be varied over a list of values, got {values!r}")
    values = as_list(
        values if hasattr(values, "dtype") or isinstance(values, Mapping) else [*values]
    )
    if not values:
        raise ConfigError(f"'{key}' is varied over an empty list; give at least one value")
    if isinstance(values, Mapping):
        if len(paths) > 1:
            raise ConfigError(f"'{key}' move together; give a list of tuples, not names")
        return [[(key.strip(), value, str(name))] for name, value in values.items()]
    rows = [as_list(value) if len(paths) > 1 else [value] for value in map(as_number, values)]
    for row in rows:
        if not isinstance(row, Sequence) or len(row) != len(paths):
            raise ConfigError(
                f"'{key}' move together, so each value must have {len(paths)} entries, got {row!r}"
            )
    labels = [labels_of(column) for column in zip(*rows, strict=True)]
    return [
        [(path, row[i], labels[i][place]) for i, path in enumerate(paths)]
        for place, row in enumerate(rows)
    ]


def _columns(paths: Sequence[str]) -> dict[str, str]:
    """Return the column of each path: its last word, or the whole path where two end alike."""
    last = {path: path.rpartition(".")[2] for path in paths}
    words = list(last.values())
    return {p: w if words.count(w) == 1 else p.replace(".", "_") for p, w in last.items()}


def _replaced(part: Any, path: str, rest: str, value: Any) -> Any:
    """Return a part with another value at a path; an error proposes what was meant."""
    name = path.partition(".")[0]
    if not isinstance(part, msgspec.Struct):
        what = "there is none; give its config" if part is None else f"it is {part!r}, no config"
        raise ConfigError(f"'{path}' is varied, but of the {name} {what}")
    plain = to_plain(part)
    known, found = {name: plain, **dict(_walk(plain, name))}, path
    while found not in known:
        found = found.rpartition(".")[0]
    if found != path and isinstance(known[found], Mapping):
        raise _unknown(path, _below(part, name))
    try:
        return replace_at(part, {rest: value})
    except ConfigError as error:
        raise ConfigError(f"{path} = {value!r}: {error}") from None


def _unknown(path: str, known: list[str]) -> Exception:
    """Return the error for an unknown path, which proposes others."""
    last = path.rpartition(".")[2]
    alike = [one for one in known if one.rpartition(".")[2] == last]
    if not alike:
        return unknown_name("path", path, known)
    return ConfigError(f"unknown path '{path}'; did you mean {' or '.join(map(repr, alike))}?")


def _below(part: Any, prefix: str) -> list[str]:
    """Return the name of a part and every path below it."""
    paths = _walk(to_plain(part), prefix) if isinstance(part, msgspec.Struct) else ()
    words = [(path, path.rpartition(".")[2], isinstance(value, Mapping)) for path, value in paths]
    named = [p for p, last, more in words if last != "kind" and (more or not last.isdigit())]
    return [prefix, *named]


def _walk(value: Any, at: str = "") -> Iterator[tuple[str, Any]]:
    """Return every path below plain values, and the value there."""
    items: Any = value.items() if isinstance(value, Mapping) else ()
    for key, inner in enumerate(value) if isinstance(value, list | tuple) else items:
        path = f"{at}.{key}" if at else str(key)
        yield path, inner
        yield from _walk(inner, path)


def config_of(model: Any) -> Any:
    """Return the config of a trained model that is given in place of one; all else as it is.

    Of several models, in a list or by names, that of each.
    """
    if isinstance(model, Mapping):
        return {name: config_of(one) for name, one in model.items()}
    if isinstance(model, list | tuple):
        return [config_of(one) for one in model]
    config = getattr(model, "config", None)
    return config if isinstance(config, TrainedConfig) else model


def is_several(part: Any) -> bool:
    """Return whether a part of a study is given several times: as a list, or by names."""
    return isinstance(part, Mapping | list | tuple)


def named(part: str, configs: Any) -> dict[str, Any]:
    """Return several configs of a part by name: their own, or settings that differ.

    Args:
        part: The part: ``world``, ``model`` or ``learner``.
        configs: A list of configs, or configs by name.

    Raises:
        ConfigError: There is none, or no setting tells two of them apart.

    Example:
        >>> from inweights.models import EmbMLPConfig, GPTConfig
        >>> list(named("model", [GPTConfig(), EmbMLPConfig()]))
        ['gpt', 'emb-mlp']
        >>> list(named("model", [GPTConfig(width=32), GPTConfig(width=64)]))
        ['width=32', 'width=64']
    """
    if not configs:
        raise ConfigError(f"the list of the {part} is empty; give at least one config")
    if isinstance(configs, Mapping):
        return {str(name): config for name, config in configs.items()}
    kinds = [_kind(config) for config in configs]
    if len(set(kinds)) < len(kinds):
        plain = [to_plain(one) if isinstance(one, msgspec.Struct) else one for one in configs]
        flat = [{path: v for path, v in _walk(one) if not is_several(v)} for one in plain]
        differ = [path for path in flat[0] if any(one.get(path) != flat[0][path] for one in flat)]
        kinds = [", ".join(f"{p}={one[p]}" for p in differ if p in one) for one in flat]
    if len(set(kinds)) < len(kinds):
        raise ConfigError(f"give the {part}s names, {{'one': …, 'other': …}}: some are alike")
    return dict(zip(kinds, configs, strict=True))


def _kind(config: Any) -> str:
    """Return what a config is called in tables."""
    about = getattr(config, "__struct_config__", None)
    name = getattr(config, "label", None) or (about and about.tag) or type(config).__name__
    return str(name).lower()


def with_parts(several: Mapping[str, Mapping[str, Any]], over: Over) -> Over:
    """Return what is varied, with the parts that are given several times as further axes.

    Args:
        several: Configs by name, of each part that is given several times.
        over: Values by path, or a list of points.

    Raises:
        ConfigError: ``over`` is a list of points, or varies such a part, too.
    """
    if not several:
        return over
    if not isinstance(over, Mapping) and over:
        raise ConfigError(
            f"of the {' and '.join(several)} there are several; in a list of points set it in "
            'each, {"model": GPTConfig()}'
        )
    varied = over if isinstance(over, Mapping) else {}
    for name in several:
        if name in varied:
            raise ConfigError(f"'{name}' is varied by two axes; remove it from one")
    return {**several, **varied}
