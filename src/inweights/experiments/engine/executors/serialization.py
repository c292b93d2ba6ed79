"""Write tasks as JSON for other processes, and read them there.

:func:`to_wire` and :func:`from_wire` convert one task to JSON and back. Configs and
functions are written by name, ``module:name``, and only names of the library or of
plugins are looked up: nothing is pickled.
"""

import importlib
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from inspect import isfunction
from typing import Any

import msgspec

from inweights.config import Config, decode, to_plain
from inweights.config.outside import Outside
from inweights.config.values import decode as decode_value
from inweights.config.values import encode
from inweights.errors import ConfigError
from inweights.experiments.engine.tasks import ComputeTask, LearnTask, Run, Task
from inweights.experiments.grammar.trial import Computation, Measure, Trial
from inweights.support.plugins import module_of

_CONFIG = "$config"
_FUNCTION = "$function"
_MEMBER = "$member"
#: Names of the attributes of a computation that are sent to another process.
_COMPUTATION = (
    "name",
    "labels",
    "compute",
    "options",
    "seeded",
    "together",
    "effort",
    "stages",
)


def to_wire(task: Task) -> dict[str, Any]:
    """Return a task as plain values for JSON, with configs and functions as ``module:name``.

    Args:
        task: The task.

    Returns:
        The data that :func:`from_wire` reads. This function does not check whether
        another process can import the names; :func:`~.job.sendable` does.

    Raises:
        ConfigError: A value of the task has no exact encoding.
    """

    def named(thing: Any, names: Iterable[str]) -> dict[str, Any]:
        return {name: getattr(thing, name) for name in names}

    def encoded(about: dict[str, Any]) -> dict[str, Any]:
        made: dict[str, Any] = encode(about, _by_name)
        return made

    if isinstance(task, ComputeTask):
        about = {"key": task.key, "seed": task.seed, "sources": dict(task.sources)}
        about["others"] = list(map(list, task.others))
        return encoded(about | named(task.computation, _COMPUTATION))
    # Seeds of one condition share their trial. It is sent once, and runs refer to its
    # index.
    trials = list({id(run.trial): run.trial for run in task.runs}.values())
    place = {id(trial): i for i, trial in enumerate(trials)}
    return encoded(
        {
            "trials": [
                named(trial, ("labels", "world", "model", "learner"))
                for trial in trials
            ],
            "runs": [[run.key, place[id(run.trial)], run.seed] for run in task.runs],
            "measures": [
                named(m, ("name", "probe", "options", "every")) for m in task.measures
            ],
            "parts": list(map(list, task.parts)),
            "sources": dict(task.sources),
        }
    )


def from_wire(values: Mapping[str, Any], plugins: Sequence[str] = ()) -> Task:
    """Return the task that JSON data from :func:`to_wire` describes.

    Configs, functions and members of an ``Enum`` are written in the data as
    ``module:name``. A name is looked up only if its module belongs to the library or to
    a plugin.

    Args:
        values: The JSON data returned by :func:`to_wire`.
        plugins: Names or paths of modules, in addition to the library's own, from whose
            packages objects may be looked up; by default none. A plugin is imported
            only if the data refer to one of its objects.

    Returns:
        A :class:`LearnTask`, or a :class:`ComputeTask` if the data contains the key
        ``compute``.

    Raises:
        ConfigError: A name belongs neither to the library nor to a plugin, does not
            exist, or refers to an object of a different kind than the data require,
            such as a class in place of a function; or values are invalid for their
            config.
        ValueError: The number of lists of parts differs from the number of runs.
        IndexError: A run refers to a trial that is missing.
        KeyError: A field is missing.
    """

    def found(data: dict[str, Any]) -> Any:
        if _CONFIG in data:
            kind = _find(data[_CONFIG], plugins)
            if not (isinstance(kind, type) and issubclass(kind, Config)):
                raise ConfigError(f"{data[_CONFIG]} is not a config")
            return decode(kind, decode_value(data["values"], found))
        if _FUNCTION in data:
            function = _find(data[_FUNCTION], plugins)
            if not isfunction(function):
                raise ConfigError(f"{data[_FUNCTION]} is not a function")
            return function
        if _MEMBER in data:
            member = _find(data[_MEMBER], plugins)
            if not isinstance(member, Enum):
                raise ConfigError(f"{data[_MEMBER]} is not a member of an Enum")
            return member
        return None

    values = decode_value(dict(values), found)
    if "compute" in values:
        computation = Computation(**{name: values[name] for name in _COMPUTATION})
        others = tuple((key, seed) for key, seed in values["others"])
        return ComputeTask(
            values["key"], computation, values["seed"], values["sources"], others
        )

    trials = [Trial(**one) for one in values["trials"]]
    measures = tuple(Measure(**one) for one in values["measures"])
    runs = tuple(Run(key, trials[place], seed) for key, place, seed in values["runs"])
    parts = tuple(map(tuple, values["parts"]))
    # A plan on disk may have been truncated or edited.
    if len(parts) != len(runs):
        raise ValueError(
            f"expected one list of parts for each of {len(runs)} runs, got {len(parts)} lists"
        )
    return LearnTask(runs, measures, parts, values["sources"])


def _by_name(value: Any) -> Any:
    """Encode a config, a function or an Enum's member by its name; ``None`` for other values."""
    kind = type(value)
    if isinstance(value, Outside):
        return None
    if isinstance(value, msgspec.Struct):
        own = encode(to_plain(value), _by_name)
        return {_CONFIG: f"{kind.__module__}:{kind.__qualname__}", "values": own}
    if isinstance(value, Enum):
        return {_MEMBER: f"{kind.__module__}:{kind.__qualname__}.{value.name}"}
    if isinstance(value, Mapping):
        return encode(dict(value), _by_name)
    if callable(value):
        # An object without a name of its own, such as a functools.partial, is named
        # like a lambda, because no other process could find it.
        name = getattr(value, "__qualname__", "<lambda>")
        return {_FUNCTION: f"{value.__module__}:{name}" if name != "<lambda>" else name}
    return None


def package_names(plugins: Sequence[str]) -> set[str]:
    """Return the packages whose objects a task may use: the library and the plugins' packages.

    Args:
        plugins: Names or paths of the plugins' modules.

    Returns:
        A set of the names of top-level packages or modules, which always contains
        ``inweights``.
    """
    return {"inweights", *(module_of(plugin).partition(".")[0] for plugin in plugins)}


def _find(name: Any, plugins: Sequence[str]) -> Any:
    """Return the object named ``module:name`` in the library or a plugin."""
    module, _, path = str(name).partition(":")
    if module.partition(".")[0] not in package_names(plugins):
        raise ConfigError(
            f"{name} is defined neither in the library nor in a plugin; name its "
            "module with --plugin"
        )
    try:
        found: Any = importlib.import_module(module)
        for step in path.split("."):
            found = getattr(found, step)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(f"{name} cannot be imported: {error}") from None
    # An imported object, such as 'subprocess.run', does not belong to the module that
    # imports it.
    if str(getattr(found, "__module__", "")).partition(".")[0] not in package_names(
        plugins
    ):
        raise ConfigError(
            f"{name} is defined neither in the library nor in a plugin; name the module that "
            "defines it"
        )
    return found
