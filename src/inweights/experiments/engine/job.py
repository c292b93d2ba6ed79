"""Write tasks as JSON for other processes, and read them there.

A :class:`Job` contains the data that all tasks share; :func:`to_wire` and
:func:`from_wire` convert one task to JSON and back. Configs and functions go by name,
``module:name``, and only names of the library or of the job's plugins are looked up:
nothing is pickled.
"""

import importlib
import logging
import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from functools import partial
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
from inweights.models.outside.module_configs import TrainedConfig
from inweights.runs.environment import version_of
from inweights.runs.tables.store import Store
from inweights.support.plugins import load_plugins, module_of

_CONFIG = "$config"
_FUNCTION = "$function"
_MEMBER = "$member"
#: What is sent of a computation.
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
#: The module of everything that a line names.
_NAMED = re.compile(r'"(?:\$config|\$function|\$member|at)":"([^":]+):')


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """Data that all tasks of a run share.

    Attributes:
        store: Store of the results: a folder, or the address of a bucket.
        device: Torch device of the models.
        threads: Number of threads of each process.
        plugins: Names of the users' modules that tasks may name.
        lease: Seconds after which a task is taken over if its process has not renewed
            the lease; 0 if all processes are on this machine, where the operating
            system releases the locks of a dead process.
        owner: Name of the process that hands out the tasks, which may give a lost task
            to another process at once.
        version: Version of the library, which must be the same on every machine.
        log: Lowest level of log messages that are returned with the end of a task.
    """

    store: str
    device: str = "cpu"
    threads: int = 1
    plugins: tuple[str, ...] = ()
    lease: float = 0.0
    owner: str = msgspec.field(default_factory=lambda: secrets.token_hex(8))
    version: str = msgspec.field(default_factory=partial(version_of, "inweights"))
    log: int = msgspec.field(
        default_factory=logging.getLogger("inweights").getEffectiveLevel
    )

    def open_store(self) -> Store:
        """Open the store of the results."""
        return Store(self.store, lease=self.lease, owner=self.owner)

    def check_version(self) -> None:
        """Raise an error if this library has another version than the one that made the tasks.

        Raises:
            ConfigError: The versions differ.
        """
        if self.version != (here := version_of("inweights")):
            raise ConfigError(
                f"this machine has inweights {here}, but the tasks were made by {self.version}; "
                "install that version everywhere"
            )


def task_of(job: Job, line: bytes | str) -> Task:
    """Return a task that another process sent as JSON, ready to be run here.

    Args:
        job: What all tasks have in common; its plugins are imported.
        line: The task.

    Raises:
        ConfigError: The version differs, or the task names what is not here or may not
            be named.
        ValueError: The task is incomplete.
    """
    job.check_version()
    load_plugins(job.plugins)
    return from_wire(msgspec.json.decode(line), job.plugins)


def sendable(task: Task, plugins: Sequence[str] | None = None) -> bool:
    """Return whether another process can find everything that a task names.

    Objects defined in a script's ``__main__``, nested functions, and trained modules
    that were wrapped as instances cannot be found.

    Args:
        task: The task.
        plugins: Modules that it may import besides the library; ``None`` for any.
    """
    if isinstance(task, LearnTask) and any(map(_is_only_here, task.runs)):
        return False
    try:
        # The names are looked for in the very text that would be sent, so that nothing
        # which travels is overlooked.
        text = msgspec.json.encode(to_wire(task)).decode()
    except ConfigError:  # an object of one's own, such as a dataclass, that has no name
        return False
    if "__main__:" in text or "<locals>" in text or "<lambda>" in text:
        return False
    # Is everywhere.
    homes = {name.partition(".")[0] for name in _NAMED.findall(text)} - {"torch"}
    return plugins is None or homes <= _homes(plugins)


def _is_only_here(run: Run) -> bool:
    model = run.trial.model
    return isinstance(model, TrainedConfig) and model.only_here


def check_sendable(tasks: Iterable[Task], plugins: Sequence[str] | None = None) -> None:
    """Raise an error for tasks that other machines cannot run.

    Args:
        tasks: The tasks.
        plugins: Modules that tasks may name besides the library; ``None`` for any.

    Raises:
        ConfigError: A task refers to an object that exists only in this process; see
            :func:`sendable`.
    """
    if lost := next((task for task in tasks if not sendable(task, plugins)), None):
        raise ConfigError(
            f"{lost.title}: other machines cannot import what a script or a notebook defines; move "
            "it to a module and give that with --plugin (a trained module: write its weights to a "
            "file, iw.wrap(factory).load(file))"
        )


def to_wire(task: Task) -> dict[str, Any]:
    """Return a task as plain values for JSON, with configs and functions as ``module:name``."""

    def named(thing: Any, names: Iterable[str]) -> dict[str, Any]:
        return {name: getattr(thing, name) for name in names}

    def encoded(about: dict[str, Any]) -> dict[str, Any]:
        made: dict[str, Any] = encode(about, _by_name)
        return made

    if isinstance(task, ComputeTask):
        about = {"key": task.key, "seed": task.seed, "sources": dict(task.sources)}
        about["others"] = list(map(list, task.others))
        return encoded(about | named(task.computation, _COMPUTATION))
    # Seeds of one condition share their trial: it is sent once, and runs refer to its
    # place.
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
    ``module:name``. Such a name is looked up only if its module belongs to the library
    or to a plugin.

    Args:
        values: The JSON data that :func:`to_wire` returned.
        plugins: Modules, in addition to those of the library, in which names may be
            looked up.

    Returns:
        A :class:`LearnTask`, or a :class:`ComputeTask` if the data contains the key
        ``compute``.

    Raises:
        ConfigError: A name belongs neither to the library nor to a plugin, does not
            exist, or refers to an object of another kind, such as a class where the
            data requires a function.
        ValueError: The number of lists of parts differs from the number of runs.
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
    # A plan on disk may have been cut short or edited.
    if len(parts) != len(runs):
        raise ValueError(f"expected {len(runs)} lists of parts, got {len(parts)}")
    return LearnTask(runs, measures, parts, values["sources"])


def _by_name(value: Any) -> Any:
    """Return the name of a config, a function or an Enum's member; ``None`` for other values."""
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
        # A partial has no name, so that no other process can find it.
        name = getattr(value, "__qualname__", "<lambda>")
        return {_FUNCTION: f"{value.__module__}:{name}" if name != "<lambda>" else name}
    return None


def _homes(plugins: Sequence[str]) -> set[str]:
    """Return the packages that may be named: the library, and the plugins' packages."""
    return {"inweights", *(module_of(plugin).partition(".")[0] for plugin in plugins)}


def _find(name: Any, plugins: Sequence[str]) -> Any:
    """Return the object named ``module:name`` in the library or a plugin."""
    module, _, path = str(name).partition(":")
    if module.partition(".")[0] not in _homes(plugins):
        raise ConfigError(
            f"{name} belongs neither to the library nor to a plugin; name its module with --plugin"
        )
    try:
        found: Any = importlib.import_module(module)
        for step in path.split("."):
            found = getattr(found, step)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(f"{name} cannot be imported: {error}") from None
    # What a module imported, such as 'subprocess.run', is not its own.
    if str(getattr(found, "__module__", "")).partition(".")[0] not in _homes(plugins):
        raise ConfigError(f"{name} belongs neither to the library nor to a plugin")
    return found
