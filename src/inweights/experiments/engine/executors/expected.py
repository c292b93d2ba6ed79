"""Estimate the time that work takes, and correct the estimate by what tasks have taken so far.

Updates of different models take very different times, so their number says little about
the time that is left. :class:`ExpectedTime` begins with the seconds that each task is
expected to take, and corrects them as tasks run; a :class:`~.schedule.Schedule` passes
the seconds that are left on to the display of progress.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from inweights.experiments.engine.tasks import LearnTask, Task

#: Seconds of a task that are too few to correct others by.
LEAST = 0.5


class Expected(NamedTuple):
    """How long a task is expected to take.

    Attributes:
        kind: What tasks have in common whose estimates are wrong by the same factor.
        seconds: Seconds, or any other unit that all tasks of the work share.
        measured: Whether the seconds were measured on this machine.
    """

    kind: Hashable
    seconds: float
    measured: bool = False


#: Estimates how long each of some tasks takes.
Expect = Callable[[Sequence[Task]], Sequence[Expected]]


def by_updates(tasks: Sequence[Task]) -> list[Expected]:
    """Return tasks as expected without any measurement: updates take equally long.

    Args:
        tasks: The tasks.

    Returns:
        For each task the number of its updates; tasks of a kind train the same model
        or compute the same function.
    """
    return [Expected(kind_of(task), float(task.steps)) for task in tasks]


def kind_of(task: Task) -> Hashable:
    """Return what tasks have in common whose updates take about equally long.

    Args:
        task: The task.
    """
    if isinstance(task, LearnTask):
        return repr(task.runs[0].trial.model)
    return task.computation.name


@dataclass
class _Part:
    """What is known of one task."""

    kind: Hashable
    expected: float
    in_seconds: bool = False
    began: float | None = None
    spent: float = 0.0
    share: float = 0.0

    @property
    def measured(self) -> float:
        """Seconds that the whole task takes, by what it took so far; 0 before that."""
        return self.spent / self.share if self.share else 0.0


class ExpectedTime:
    """Seconds that tasks take in all, expected at first and corrected by measurement.

    A task that has run for a while is expected to go on at its pace. One that has not
    is expected to be off by the same factor as tasks of its kind, and where none of
    these has run, as all tasks together.

    Args:
        clock: Returns seconds; by default those of a clock that is never set back.

    Example:
        >>> now = 0.0
        >>> whole = ExpectedTime(clock=lambda: now)
        >>> for name in ("first", "second"):
        ...     whole.add(name, kind="small", seconds=10.0, measured=True)
        >>> whole.begin("first")
        >>> now = 15.0
        >>> whole.report("first", 0.5)
        >>> whole.seconds, whole.correction, whole.left  # thrice as long as expected
        (60.0, 3.0, 45.0)
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._parts: dict[str, _Part] = {}
        self._started: float | None = None

    def add(
        self, name: str, *, kind: Hashable, seconds: float, measured: bool = False
    ) -> None:
        """Add a task.

        Args:
            name: Its name; a task of the same name is replaced.
            kind: What tasks have in common that take about as long for each update.
            seconds: How long it is expected to take, in seconds, or in any other unit
                that all tasks share.
            measured: Whether the seconds were measured on this machine.
        """
        self._parts[name] = _Part(kind, seconds, measured)

    def split(self, name: str, parts: Sequence[str]) -> None:
        """Replace a task by parts of it that are begun anew.

        Args:
            name: Its name.
            parts: Names of the parts, which take equally long.
        """
        whole = self._parts.pop(name)
        for part in parts:
            seconds = whole.expected / len(parts)
            self._parts[part] = _Part(whole.kind, seconds, whole.in_seconds)

    def remove(self, name: str) -> None:
        """Take a task out.

        Args:
            name: Its name.
        """
        self._parts.pop(name, None)

    def begin(self, name: str) -> None:
        """Note that an attempt at a task begins; what an earlier one did is kept.

        Args:
            name: Its name.
        """
        part = self._parts[name]
        now = self._clock()
        part.began = now - part.spent
        if self._started is None:
            self._started = now

    def report(self, name: str, share: float) -> None:
        """Note how much of a task is done.

        Args:
            name: Its name.
            share: From 0 to 1.
        """
        part = self._parts[name]
        if part.began is not None:
            part.spent = max(0.0, self._clock() - part.began)
        part.share = share

    @property
    def seconds(self) -> float:
        """Seconds of all tasks together, done or not, as they are expected now."""
        by_kind = self._factors()
        return sum(self._whole(part, by_kind) for part in self._parts.values())

    @property
    def correction(self) -> float | None:
        """Factor by which all tasks take longer than expected; None if that is no measurement."""
        parts = self._parts.values()
        if not parts or not all(part.in_seconds for part in parts):
            return None
        expected = sum(part.expected for part in parts)
        return self.seconds / expected if expected else None

    @property
    def left(self) -> float | None:
        """Seconds until all tasks are done, if as many run side by side as so far.

        ``None`` while no task has run for long enough to be measured.
        """
        parts = self._parts.values()
        spent = sum(part.spent for part in parts)
        if not any(map(_tells, parts)) or self._started is None:
            return None
        factors = self._factors()
        rest = sum((1 - part.share) * self._whole(part, factors) for part in parts)
        return rest * (self._clock() - self._started) / spent

    def _whole(self, part: _Part, factors: dict[Hashable, float]) -> float:
        """Return the seconds of a whole task, as expected now."""
        if _tells(part):
            return part.measured
        everywhere = factors.get(None, 1.0)
        return part.expected * factors.get(part.kind, everywhere)

    def _factors(self) -> dict[Hashable, float]:
        """Return by what factor tasks of each kind take longer than expected; of all for None."""
        spent: dict[Hashable, float] = {}
        expected: dict[Hashable, float] = {}
        for part in self._parts.values():
            if _tells(part) and part.expected:
                for kind in (part.kind, None):
                    spent[kind] = spent.get(kind, 0.0) + part.spent
                    so_far = part.expected * part.share
                    expected[kind] = expected.get(kind, 0.0) + so_far
        return {kind: spent[kind] / expected[kind] for kind in spent}


def _tells(part: _Part) -> bool:
    """Return whether a task has run for long enough to be measured."""
    return part.share > 0 and part.spent >= LEAST
