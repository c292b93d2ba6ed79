"""Describe how an attempt at a task ended, and collect log messages for another process.

Executors report an :class:`End` to the schedule; a task that cannot succeed becomes a
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
    """A log message of another process.

    Attributes:
        name: Name of the logger.
        levelno: Level, as a number of :mod:`logging`.
        levelname: Level, as a word, such as ``WARNING``.
        msg: The formatted message.
        created: Time of the message, in seconds since 1970.
    """

    name: str
    levelno: int
    levelname: str
    msg: str
    created: float


class End(msgspec.Struct, frozen=True, omit_defaults=True):
    """How an attempt at a task ended.

    Attributes:
        how: ``done``; ``busy``, if another process is working on the task; ``killed``,
            if the process of the task died; ``memory``, if memory ran out; or ``failed``.
        error: Name of the library's error class with which the task failed. The
            default, ``RunError``, represents all errors that do not belong to the
            library. It has no meaning if the task did not fail.
        message: Message of the error, or a description of how the process died; empty
            if there is none.
        log: Log messages of the task, if another process ran it.
    """

    how: Literal["done", "busy", "killed", "memory", "failed"]
    error: str = "RunError"
    message: str = ""
    log: tuple[Line, ...] = ()


@contextmanager
def collected_log(level: int) -> Iterator[list[Line]]:
    """Collect the library's log messages within a ``with`` block, to send to another process.

    Within the block, the logger ``inweights`` has the given level. Its other handlers
    still receive the messages.

    Args:
        level: Lowest level of the collected messages, as a number of :mod:`logging`.

    Yields:
        The list of messages, which grows during the block.
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
    """A task that failed and will not be tried again.

    Attributes:
        task: The task.
        end: How its last attempt ended.
    """

    task: Task
    end: End

    @property
    def text(self) -> str:
        """Text with the labels and seeds of the failed runs, and the reason for the failure."""
        return f"{self.task.about}: {self.end.message}"
