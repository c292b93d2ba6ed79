"""Say how an attempt at a task ended, and carry what was logged meanwhile to another process.

Executors report an :class:`End` to the schedule; what cannot succeed becomes a
:class:`Failure`.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

import msgspec

from inweights.experiments.engine.tasks import Task


class Line(msgspec.Struct, frozen=True, array_like=True):
    """A line of the log of another process.

    Attributes:
        name: Name of the logger.
        levelno: Level, as a number.
        levelname: The same, in a word.
        msg: The message.
        created: When it was logged, in seconds since 1970.
    """

    name: str
    levelno: int
    levelname: str
    msg: str
    created: float


class End(msgspec.Struct, frozen=True, omit_defaults=True):
    """How an attempt at a task ended.

    Attributes:
        how: ``done``; ``busy``, as another process has it; ``killed``; ``memory``, as
            there was too little; or ``failed``.
        error: Name of the class of the error.
        message: Its message.
        log: Log messages of the task.
    """

    how: Literal["done", "busy", "killed", "memory", "failed"]
    error: str = "RunError"
    message: str = ""
    log: tuple[Line, ...] = ()


@contextmanager
def collected_log(level: int) -> Iterator[list[Line]]:
    """Collect what the library logs in this process, for the one that has sent the task.

    Args:
        level: Lowest level of the collected log messages.

    Yields:
        The list of lines, which grows during the block.
    """
    log = logging.getLogger("inweights")
    handler = logging.Handler()
    lines = list[Line]()

    def keep(record: logging.LogRecord) -> None:
        about = (record.name, record.levelno, record.levelname)
        lines.append(Line(*about, record.getMessage(), record.created))

    handler.emit = keep  # type: ignore[method-assign]
    before = log.level
    log.setLevel(level)
    log.addHandler(handler)
    try:
        yield lines
    finally:
        log.removeHandler(handler)
        log.setLevel(before)


@dataclass(frozen=True)
class Failure:
    """A task that is set aside.

    Attributes:
        task: The task.
        end: How its last attempt ended.
    """

    task: Task
    end: End

    @property
    def text(self) -> str:
        """The failed runs with settings and seeds, and the reason."""
        return f"{self.task.about}: {self.end.message}"
