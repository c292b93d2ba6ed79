"""Define the data that all tasks of a run share, and check that other processes can run them.

A :class:`Job` contains the data that all tasks share, and :func:`task_of` reads a task
that another process sent. :func:`sendable` and :func:`check_sendable` determine whether
another process can import all objects that a task uses. :mod:`~.serialization` converts
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

#: Matches the modules of all objects that are named in the JSON text of a task.
_NAMED = re.compile(r'"(?:\$config|\$function|\$member|at)":"([^":]+):')


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """Data that all tasks of a run share.

    Attributes:
        store: Store of the results: a folder, or the address of a bucket.
        device: Torch device of the models, such as ``cuda``; by default ``cpu``.
        threads: Number of threads of each process; by default 1.
        plugins: Names or paths of the users' modules that are imported first, and whose
            objects tasks may use; by default none.
        lease: Seconds after which another process may take over a task whose process
            has not renewed its lease. It is 0 (the default) if all processes are on
            this machine, where the operating system releases the locks of a dead
            process.
        owner: Name of the process that distributes the tasks; by default a random name.
            This process may reassign a lost task before its lease expires.
        version: Version of the library, which must be the same on every machine; by
            default the version of this process.
        log: Lowest level of the log messages that are returned when a task ends, as a
            number of :mod:`logging`; by default the level of the logger ``inweights``.
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
        """Return the store of the results, with the lease and the owner that the job specifies.

        Raises:
            ConfigError: The address of a bucket is invalid, or the optional package for
                it is not installed.
        """
        return Store(self.store, lease=self.lease, owner=self.owner)

    def check_version(self) -> None:
        """Raise an error if the job and its tasks were created by another library version.

        Raises:
            ConfigError: The job's :attr:`version` is not the version of this process.
        """
        if self.version != (here := version_of("inweights")):
            raise ConfigError(
                f"this machine has inweights {here}, but the tasks were created by "
                f"{self.version}; install that version on every machine"
            )


def task_of(job: Job, line: bytes | str) -> Task:
    """Return the task that another process sent as JSON, so that it can be run here.

    Args:
        job: Data that all tasks share; its plugins are imported.
        line: The task as JSON, from :func:`~.serialization.to_wire`.

    Returns:
        A :class:`LearnTask` or a :class:`ComputeTask`.

    Raises:
        ConfigError: The version of the library differs, a plugin cannot be imported,
            the task names an object that does not exist here or belongs neither to the
            library nor to a plugin, or the values of a config are invalid.
        ValueError: The line is not JSON, or the number of lists of parts differs from
            the number of runs.
        KeyError: A field is missing.
        IndexError: A run refers to a trial that is missing.
    """
    job.check_version()
    load_plugins(job.plugins)
    return from_wire(msgspec.json.decode(line), job.plugins)


def sendable(task: Task, plugins: Sequence[str] | None = None) -> bool:
    """Return whether another process can import all objects that a task uses.

    The result is false if the task uses an object that is defined in a script's
    ``__main__``, a nested function, a lambda, a value that cannot be encoded exactly,
    or a trained module that was passed as an object and not loaded from a file.

    Args:
        task: The task.
        plugins: Modules, in addition to the library and torch, from whose packages the
            other process may import objects. If it is ``None`` (the default), all
            modules are allowed.
    """
    if isinstance(task, LearnTask) and any(map(_is_only_here, task.runs)):
        return False
    try:
        # Names are extracted from the text that would be sent, so that none is missed.
        text = msgspec.json.encode(to_wire(task)).decode()
    except ConfigError:  # an object of a user, such as a dataclass, cannot be encoded
        return False
    if "__main__:" in text or "<locals>" in text or "<lambda>" in text:
        return False
    # Every process can import torch.
    homes = {name.partition(".")[0] for name in _NAMED.findall(text)} - {"torch"}
    return plugins is None or homes <= package_names(plugins)


def _is_only_here(run: Run) -> bool:
    model = run.trial.model
    return isinstance(model, TrainedConfig) and model.only_here


def check_sendable(tasks: Iterable[Task], plugins: Sequence[str] | None = None) -> None:
    """Raise an error for tasks that other machines cannot run.

    Args:
        tasks: The tasks.
        plugins: Modules, in addition to the library and torch, whose objects tasks may
            use. If it is ``None``, all modules are allowed.

    Raises:
        ConfigError: A task uses an object that exists only in this process, or that
            belongs neither to the library nor to a plugin; see :func:`sendable`.
    """
    if lost := next((task for task in tasks if not sendable(task, plugins)), None):
        raise ConfigError(
            f"{lost.title}: other machines cannot import objects that are defined in a script "
            "or a notebook. Move them to a module, and pass the module with --plugin. For a "
            "trained module, write its weights to a file and use iw.wrap(factory).load(file)"
        )
