"""Describe what all tasks of a run share, and check that other processes can run them.

A :class:`Job` contains the data that all tasks share, and :func:`task_of` reads a task
that another process sent. :func:`sendable` and :func:`check_sendable` determine whether
another process can import everything that a task names. :mod:`~.serialization` converts
tasks to JSON and back.
"""

import logging
import re
import secrets
from collections.abc import Iterable, Sequence
from functools import partial

import msgspec

from inweights.errors import ConfigError
from inweights.experiments.engine.executors.serialization import (
    from_wire,
    package_names,
    to_wire,
)
from inweights.experiments.engine.tasks import LearnTask, Run, Task
from inweights.models.outside.module_configs import TrainedConfig
from inweights.runs.environment import version_of
from inweights.runs.tables.store import Store
from inweights.support.plugins import load_plugins

#: The module of everything that a line names.
_NAMED = re.compile(r'"(?:\$config|\$function|\$member|at)":"([^":]+):')


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """Data that all tasks of a run share.

    Attributes:
        store: Store of the results: a folder, or the address of a bucket.
        device: Torch device of the models, such as ``cpu`` or ``cuda``.
        threads: Number of threads of each process.
        plugins: Names or paths of the users' modules that are imported first, and that
            tasks may name.
        lease: Seconds after which a task is taken over if its process has not renewed
            the lease; 0 if all processes are on this machine, where the operating
            system releases the locks of a dead process.
        owner: Name of the process that hands out the tasks, which may give a lost task
            to another process at once; by default random.
        version: Version of the library, which must be the same on every machine; by
            default that of this process.
        log: Lowest level of log messages that are returned with the end of a task, as a
            number of :mod:`logging`; by default that of the logger ``inweights``.
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
        """Open the store of the results.

        Raises:
            ConfigError: The address of a bucket is not valid, or its optional package
                is not installed.
        """
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
        job: Data that all tasks share; its plugins are imported.
        line: The task as JSON, from :func:`~.serialization.to_wire`.

    Returns:
        A :class:`LearnTask` or a :class:`ComputeTask`.

    Raises:
        ConfigError: The version of the library differs, a plugin cannot be imported, or
            the task names an object that does not exist here or is neither part of the
            library nor of a plugin; see :func:`~.serialization.from_wire`.
        ValueError: The line is not JSON, or the number of lists of parts differs from
            the number of runs.
        KeyError: A field is missing.
    """
    job.check_version()
    load_plugins(job.plugins)
    return from_wire(msgspec.json.decode(line), job.plugins)


def sendable(task: Task, plugins: Sequence[str] | None = None) -> bool:
    """Return whether another process can find everything that a task names.

    Objects defined in a script's ``__main__``, nested functions, lambdas, values
    without an exact encoding, and trained modules that were wrapped as instances cannot
    be found.

    Args:
        task: The task.
        plugins: Modules that the other process may import besides the library and
            torch; ``None`` for any.
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
    return plugins is None or homes <= package_names(plugins)


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
