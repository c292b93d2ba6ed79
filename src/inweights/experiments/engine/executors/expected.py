"""Estimate how long tasks take, and correct the estimates as tasks run.

Updates of different models differ so much in duration that their number alone does not
determine the remaining time. An :class:`ExpectedTime` begins with the expected seconds
of each task and corrects them as tasks run. A :class:`~.schedule.Schedule` passes the
remaining seconds to the progress display.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from inweights.experiments.engine.tasks import LearnTask, Task

#: A task corrects the estimates of others if it has run for :data:`LEAST` seconds and
#: at least the share :data:`SHARE` of it is done, or if it has run for :data:`ENOUGH`
#: seconds. The first step of a task takes longer than others.
LEAST = 0.5
ENOUGH = 10.0
SHARE = 0.05


class Expected(NamedTuple):
    """Expected duration of a task.

    Attributes:
        kind: Any hashable value that is equal for tasks whose expected durations are
            assumed to be wrong by the same factor.
        seconds: Expected duration in seconds, or in any other unit that is the same for
            all tasks.
        measured: Whether the seconds were measured on this machine; by default false.
    """

    kind: Hashable
    seconds: float
    measured: bool = False


#: Function of a list of tasks that returns the expected duration of each.
Expect = Callable[[Sequence[Task]], Sequence[Expected]]


def by_updates(tasks: Sequence[Task]) -> list[Expected]:
    """Return the expected durations of tasks, assuming that all updates take equally long.

    Args:
        tasks: The tasks.

    Returns:
        One :class:`Expected` for each task. Its ``seconds`` is the number of updates of
        the task, its ``kind`` is the result of :func:`kind_of`, and its ``measured`` is
        false.
    """
    return [Expected(kind_of(task), float(task.steps)) for task in tasks]


def kind_of(task: Task) -> Hashable:
    """Return a value that is the same for tasks whose updates take about equally long.

    Args:
        task: The task.

    Returns:
        For training runs, the config of the first run's model, as text. For a
        computation, the name of its table.
    """
    if isinstance(task, LearnTask):
        return repr(task.runs[0].trial.model)
    return task.computation.name


@dataclass
class _Part:
    """Expected duration of one task, and the time spent on it so far."""

    kind: Hashable
    expected: float
    in_seconds: bool = False
    began: float | None = None
    spent: float = 0.0
    share: float = 0.0

    @property
    def measured(self) -> float:
        """Estimated seconds of the whole task, given the time spent so far; 0 before it begins."""
        return self.spent / self.share if self.share else 0.0


class ExpectedTime:
    """Estimate of the total time of a set of tasks, corrected while the tasks run.

    A task that has run for a while is expected to continue at the same speed. The
    estimate for any other task is multiplied by the ratio of measured to estimated
    time, which is computed from tasks of the same kind or, if none of these has run,
    from all tasks.

    Args:
        clock: Function that returns a time in seconds; by default a monotonic clock.

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
        """Start without tasks; ``clock`` returns a time in seconds."""
        self._clock = clock
        self._parts: dict[str, _Part] = {}
        self._started: float | None = None

    def add(
        self, name: str, *, kind: Hashable, seconds: float, measured: bool = False
    ) -> None:
        """Add a task to the estimate.

        Args:
            name: Name of the task. An earlier task of this name is replaced.
            kind: Any hashable value that is equal for tasks whose expected durations
                are assumed to be wrong by the same factor.
            seconds: Expected duration in seconds, or in any other unit that is the same
                for all tasks.
            measured: Whether the seconds were measured on this machine; by default
                false.
        """
        self._parts[name] = _Part(kind, seconds, measured)

    def split(self, name: str, parts: Sequence[str]) -> None:
        """Replace a task with parts of equal expected duration, none of which has begun.

        Args:
            name: Name of the task.
            parts: Names of the parts, at least one.

        Raises:
            KeyError: There is no task of this name.
        """
        whole = self._parts.pop(name)
        for part in parts:
            seconds = whole.expected / len(parts)
            self._parts[part] = _Part(whole.kind, seconds, whole.in_seconds)

    def remove(self, name: str) -> None:
        """Remove a task from the estimate.

        Args:
            name: Name of the task. A name that does not exist has no effect.
        """
        self._parts.pop(name, None)

    def begin(self, name: str) -> None:
        """Record the start of an attempt at a task, keeping the progress of an earlier attempt.

        Args:
            name: Name of the task.

        Raises:
            KeyError: There is no task of this name.
        """
        part = self._parts[name]
        now = self._clock()
        part.began = now - part.spent
        if self._started is None:
            self._started = now

    def report(self, name: str, share: float) -> None:
        """Record the share of a task that is done.

        The time of the task is measured only if :meth:`begin` has been called for this
        task.

        Args:
            name: Name of the task.
            share: Share of the task that is done, from 0 to 1.

        Raises:
            KeyError: There is no task of this name.
        """
        part = self._parts[name]
        if part.began is not None:
            part.spent = max(0.0, self._clock() - part.began)
        part.share = share

    @property
    def seconds(self) -> float:
        """Corrected estimate of the seconds for all tasks, including finished ones.

        Once a task has run for a while, its estimate is based on its own speed. Until
        then, it is multiplied by the ratio of measured to estimated time of tasks of
        the same kind or, if none of these has run, of all tasks.

        The result is in the unit of the expected durations until a task has run for
        long enough to be measured; see :attr:`left`.
        """
        by_kind = self._factors()
        return sum(self._whole(part, by_kind) for part in self._parts.values())

    @property
    def correction(self) -> float | None:
        """Ratio of the corrected estimate for all tasks (:attr:`seconds`) to the first estimate.

        It is ``None`` if there are no tasks, if their expected duration is 0, or if the
        expected seconds of some task were not measured on this machine.
        """
        parts = self._parts.values()
        if not parts or not all(part.in_seconds for part in parts):
            return None
        expected = sum(part.expected for part in parts)
        return self.seconds / expected if expected else None

    @property
    def left(self) -> float | None:
        """Expected seconds until all tasks are done, if the degree of parallelism does not change.

        It is ``None`` until a task has run for long enough to be measured: for half a
        second (:data:`LEAST`) if at least a twentieth of it is done, otherwise for 10
        seconds (:data:`ENOUGH`).
        """
        parts = self._parts.values()
        spent = sum(part.spent for part in parts)
        if not any(map(_tells, parts)) or self._started is None:
            return None
        factors = self._factors()
        rest = sum((1 - part.share) * self._whole(part, factors) for part in parts)
        return rest * (self._clock() - self._started) / spent

    def _whole(self, part: _Part, factors: dict[Hashable, float]) -> float:
        """Return the corrected estimate of the seconds for a whole task."""
        if _tells(part):
            return part.measured
        everywhere = factors.get(None, 1.0)
        return part.expected * factors.get(part.kind, everywhere)

    def _factors(self) -> dict[Hashable, float]:
        """Return the factors by which tasks exceed their expected time, by kind (``None``: all)."""
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
    """Return whether a task has run long enough for its speed to be measured."""
    enough = ENOUGH if part.share < SHARE else LEAST
    return part.share > 0 and part.spent >= enough
