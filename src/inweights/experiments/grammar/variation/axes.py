"""Create trials from the varied settings of a sweep: a grid, joint axes, or a list of points.

Paths such as ``world.n`` and ``learner.phases.0.optimizer.rate`` begin with one of the
three parts of a trial. Several values of a whole part may also be given, as a list or
by name. :func:`grid` returns the trials;
:class:`~inweights.experiments.studies.sweep_object.Study` calls it.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import chain, product
from typing import Any

import msgspec

from inweights.config import replace_at
from inweights.config.border import as_list, as_number
from inweights.errors import ConfigError
from inweights.experiments.grammar.trial import Change, Trial
from inweights.experiments.grammar.variation.labels import labels_of
from inweights.experiments.grammar.variation.parts import PARTS, check_part, config_of
from inweights.experiments.grammar.variation.paths import (
    paths_below,
    replaced,
    short_names,
    unknown_path,
)

#: Values by path (a grid), or a list of points, each a mapping from paths to values.
Over = Mapping[Any, Any] | Sequence[Mapping[str, Any]]


def grid(world: Any, model: Any, learner: Any, over: Over) -> list[Trial]:
    """Return one trial for every combination of values, with the values as its labels.

    Args:
        world: Config of the world.
        model: Config of the architecture, or a trained model that has one
            (:func:`~.parts.config_of`); ``None`` for an optimum.
        learner: Config of the training: a curriculum, a descent or an optimum.
        over: Mapping from paths to values, such as ``{"world.n": [10, 20]}``, which are
            combined in all ways; or a list of points, each of which maps paths to
            single values. See :func:`points_of`.

    Returns:
        The trials, in the order of the combinations, in which the last path varies
        fastest. The name of a label is the last word of its path, or the whole path
        with underscores if the last words of two paths are equal
        (:func:`~.paths.short_names`). If ``over`` is an empty mapping, there is one
        trial without labels.

    Raises:
        ConfigError: A path does not exist, a value is not allowed there, a part is not
            a valid world, model or learner (see :func:`~.parts.check_part`), two
            conditions have the same labels, or ``over`` is invalid (see
            :func:`points_of`).

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
    columns = short_names([path for path, _, _ in points[0]])
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
            raise ConfigError(
                f"two conditions have the same labels ({where}); give each value only once"
            )
        trials[condition] = Trial(labels=labels, **parts)
    return list(trials.values())


def _parts(
    whole: Mapping[str, Any],
    point: list[Change],
    known: dict[tuple[int | str, ...], Any],
) -> dict[str, Any]:
    """Return the three parts at one point; equal parts of different points are the same object."""
    for path, _, _ in point:
        if path.partition(".")[0] not in whole:
            known_paths: list[str] = []
            for name, part in whole.items():
                known_paths += paths_below(part, name)
            raise unknown_path(path, known_paths)
    parts: dict[str, Any] = {}
    for name, part in whole.items():
        changes = [one for one in point if one[0].partition(".")[0] == name]
        # The points keep the values alive, so ids identify the values.
        marks: list[int | str] = [name]
        for path, value, _ in changes:
            marks += [path, id(value)]
        key = tuple(marks)
        if key not in known:
            known[key] = _changed(part, changes)
        parts[name] = known[key]
    return parts


def _changed(part: Any, changes: Sequence[Change]) -> Any:
    """Return a part with several changes, made one by one or, if that fails, all at once.

    A new value may be invalid in combination with the old value of another setting that
    is also changed.
    """
    made = part
    try:
        for path, value, _ in changes:
            rest = path.partition(".")[2]
            made = replaced(made, path, rest, value) if rest else value
    except ConfigError:
        values = {path.partition(".")[2]: value for path, value, _ in changes}
        within = "" not in values and isinstance(part, msgspec.Struct)
        if within and len(changes) > 1:
            with suppress(ConfigError):
                return replace_at(part, values)
        raise
    return made


def points_of(over: Any, whole: Mapping[str, Any] | None = None) -> list[list[Change]]:
    """Return the conditions of a sweep, each as a list of changes.

    Args:
        over: Either a mapping whose values are combined in all ways, or a list of
            points. A mapping contains, for each path, a list of values or a mapping
            from names to values. A key ``"a, b"`` or ``("a", "b")`` denotes paths that
            vary jointly over a list of tuples. A point is a mapping from paths to
            single values, and all points have the same paths.
        whole: The parts of the varied trial, keyed by name (``world``, ``model``,
            ``learner``). They are used to distinguish nested tables in ``over`` from
            mappings of names to values. ``None`` if the paths are arguments of a
            function.

    Returns:
        For each condition, a list of changes. Each change is a triple of a path, a
        value, and the label of this value in the tables (its name if it has one,
        otherwise the label returned by :func:`~.labels.labels_of`). The last path varies
        fastest. If ``over`` is an empty mapping, there is one condition without
        changes. Whether the paths exist is not checked.

    Raises:
        ConfigError: ``over`` is neither a mapping nor a list of mappings, or is an
            empty list; the values of a path are neither a list nor a mapping, or are
            empty; paths that vary jointly have values with names, or values that are
            not tuples with one entry per path; two axes vary the same path; points set
            different paths; or a value without a name is an object that cannot be
            stored and restored exactly.
    """
    if isinstance(over, Mapping):
        return _grid_points(_flat(whole or {}, over))
    return _listed_points(over)


def _grid_points(axes_by_key: Mapping[str, Any]) -> list[list[Change]]:
    """Return the points of a grid: every combination of one choice per axis."""
    axes = [_choices(key, values) for key, values in axes_by_key.items()]
    # All choices of an axis set the same paths, so the first choice is representative.
    firsts = chain.from_iterable(axis[0] for axis in axes)
    paths = [path for path, _, _ in firsts]
    if twice := next((path for path in paths if paths.count(path) > 1), None):
        raise ConfigError(
            f"'{twice}' is varied by two axes; remove it from one of them"
        )
    return [list(chain.from_iterable(choices)) for choices in product(*axes)]


def _listed_points(over: Any) -> list[list[Change]]:
    """Return the points of a list, after checking that all of them set the same paths."""
    if not isinstance(over, Sequence) or isinstance(over, str):
        raise ConfigError(
            "'over' must be a dictionary that maps paths to values, such as "
            '{"world.n": [10, 20]}, or a list of points, such as [{"world.n": 10}], '
            f"got {over!r}"
        )
    if not over:
        raise ConfigError("the list of points is empty; give at least one")
    for place, point in enumerate(over):
        if not isinstance(point, Mapping):
            raise ConfigError(
                "a point must be a dictionary that maps paths to values, such as "
                f'{{"world.n": 10}}, got {point!r}'
            )
        if set(point) != set(over[0]):
            raise ConfigError(
                f"point {place + 1} sets {', '.join(point)}, but point 1 sets "
                f"{', '.join(over[0])}; all points must set the same paths"
            )
    labels = {}
    for path in over[0]:
        labels[path] = labels_of([point[path] for point in over])
    points = []
    for place, point in enumerate(over):
        changes: list[Change] = []
        for path, value in point.items():
            changes.append((path, as_number(value), labels[path][place]))
        points.append(changes)
    return points


def _flat(
    whole: Mapping[str, Any], over: Mapping[Any, Any], prefix: str = ""
) -> dict[str, Any]:
    """Return axes by path, with nested tables (as in TOML) flattened into longer paths."""
    flat: dict[str, Any] = {}
    for key, values in over.items():
        path = prefix + (", ".join(key) if isinstance(key, tuple) else str(key))
        if isinstance(values, Mapping) and _holds_paths(
            whole, path, values, bool(prefix)
        ):
            flat |= _flat(whole, values, f"{path}.")
        else:
            flat[path] = values
    return flat


def _holds_paths(
    whole: Mapping[str, Any], path: str, values: Mapping[Any, Any], inner: bool
) -> bool:
    """Return whether the keys of a mapping continue a path rather than name values."""
    if inner:
        return any(isinstance(one, Mapping | list | tuple) for one in values.values())
    fields = getattr(whole.get(path), "__struct_fields__", ())
    return path in PARTS and any(
        str(key).partition(".")[0] in fields or isinstance(one, list)
        for key, one in values.items()
    )


def _choices(key: str, values: Any) -> list[list[Change]]:
    """Return the choices of one axis; each choice sets one path, or several paths jointly."""
    paths = list(map(str.strip, key.split(",")))
    if isinstance(values, str) or not hasattr(values, "__iter__"):
        raise ConfigError(
            f"'{key}' must be varied over a list of values, got {values!r}"
        )
    values = as_list(
        values if hasattr(values, "dtype") or isinstance(values, Mapping) else [*values]
    )
    if not values:
        raise ConfigError(
            f"'{key}' is varied over an empty list; give at least one value"
        )
    if isinstance(values, Mapping):
        if len(paths) > 1:
            raise ConfigError(
                f"the paths '{key}' vary jointly, so their values must be a list of tuples; a "
                "dictionary of named values is not supported here"
            )
        return [[(key.strip(), value, str(name))] for name, value in values.items()]
    rows = [
        as_list(value) if len(paths) > 1 else [value]
        for value in map(as_number, values)
    ]
    for row in rows:
        if not isinstance(row, Sequence) or len(row) != len(paths):
            raise ConfigError(
                f"the paths '{key}' vary jointly, so each value must have {len(paths)} entries, "
                f"got {row!r}"
            )
    labels = list(map(labels_of, zip(*rows, strict=True)))
    choices = []
    for place, row in enumerate(rows):
        label_row = [column[place] for column in labels]
        choices.append(list(zip(paths, row, label_row, strict=True)))
    return choices
