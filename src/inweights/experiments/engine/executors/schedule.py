"""Decide which task is next, and what happens when an attempt at a task ends.

Executors only run tasks and report how each attempt ended. A :class:`Schedule` decides
what happens next, in the same way for all executors. Its reaction depends on how an
attempt ended:

- done: the updates of the task are added to the progress.
- busy (another process is working on it): the task is tried again when it is free.
- killed, at a later step than the attempt before: the task is tried again and continues
  from its checkpoint.
- killed three times at the same step: the runs of the task are divided into two tasks.
  A task with a single run fails.
- out of memory: treated in the same way as three kills at the same step.
- failed: the task is recorded as failed and not tried again; the other tasks continue.
- failed to write: all work stops, since no other result could be stored either.
"""

import logging
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from inweights import errors
from inweights.errors import RunError, WriteError
from inweights.experiments.engine.executors.endings import End, Failure
from inweights.experiments.engine.executors.expected import (
    Expect,
    ExpectedTime,
    by_updates,
)
from inweights.experiments.engine.tasks import Task, halves
from inweights.support.progress import Activity, Progress, plural

#: Number of attempts at a task whose process is killed at the same step each time.
ATTEMPTS = 3
#: Seconds between two attempts at a task on which another process is working.
BUSY = 0.5
#: Seconds between two estimates of the remaining time.
_LOOK = 0.2
_SHOWN = 5
_LOG = logging.getLogger("inweights.tasks")


@dataclass
class _Tries:
    """Number of attempts at a task that ended at the same step."""

    count: int = 0
    step: int = 0
    before: int = 0

    def again(self) -> bool:
        """Return whether to retry a task whose process was killed."""
        self.count = 1 if self.step > self.before else self.count + 1
        self.before = max(self.step, self.before)
        return self.count < ATTEMPTS


class BusyTasks(NamedTuple):
    """Settings that define when to retry a task that another process is working on.

    Attributes:
        seconds: Seconds until the task is checked again, by default :data:`BUSY` (0.5).
        free: Function that takes a task's key, and returns whether the task is no
            longer in use by another process. The default always returns true, so the
            task is tried again after ``seconds``.
    """

    seconds: float = BUSY
    free: Callable[[str], bool] = lambda _: True


#: For a schedule whose tasks no other process runs.
UNSHARED = BusyTasks()


class Schedule:
    """Queue of the tasks of one executor, which also determines whether a task is tried again.

    Args:
        tasks: The tasks, which may be run in any order.
        progress: Function that is called with the number of updates done, the total
            number, and a description of the current work; ``None`` for no reports.
        before: Number of updates done earlier, for the progress display; by default 0.
        busy: Settings that define when to retry a task that another process is working
            on; by default after half a second.
        more: Iterator over further lists of tasks, from which the next list is read
            when no other task is waiting; ``None`` if there are no further tasks.
        on_failure: Function that is called with each task that failed and will not be
            tried again; by default none.
        expect: Function that takes a list of tasks and returns the expected duration of
            each; by default all updates are expected to take equally long. The estimate
            is corrected as tasks run, and the remaining time is part of the description
            of the current work.

    Attributes:
        left: Number of tasks that may still be run or tried again, plus one as long as
            ``more`` may yield further tasks.
        done: Number of tasks that are done.
        failures: The tasks that failed and will not be tried again, each with the end
            of its last attempt.
        on_done: Function that is called with each task that is done, or ``None``.
    """

    def __init__(
        self,
        tasks: Sequence[Task],
        progress: Progress | None = None,
        before: int = 0,
        *,
        busy: BusyTasks = UNSHARED,
        more: Iterator[Sequence[Task]] | None = None,
        on_failure: Callable[[Failure], None] | None = None,
        expect: Expect | None = None,
    ) -> None:
        """Add the tasks to the queue; :class:`Schedule` explains the arguments."""
        self._progress = progress
        self._expect = expect or by_updates
        self._time = ExpectedTime()
        self._looked = -_LOOK
        self._left: float | None = None
        self._correction: float | None = None
        self._busy = busy
        self._more = more
        self._on_failure = on_failure
        self._waiting: deque[tuple[float, Task]] = deque()
        self._held: set[str] = set()
        self._tries: dict[str, _Tries] = {}
        self._steps: dict[str, int] = {}
        self._done = self._total = before  # at first, the steps done before
        self.left = int(more is not None)
        self.done = 0
        self.failures: list[Failure] = []
        self.on_done: Callable[[Task], None] | None = None
        self._add(tasks)

    def take(self) -> Task | None:
        """Remove and return the next task, or ``None`` if no task is waiting at this moment.

        After ``None``, tasks may still be running or be tried again later. All work has
        ended when ``left`` is 0. Errors that the iterator ``more`` raises propagate.
        """
        while (task := self._next()) is None and self._more is not None:
            block = next(self._more, None)
            if block is None:
                self._more = None
                self.left -= 1
            else:
                self._add(block)
        if task is not None:
            self._time.begin(task.key)
        return task

    def _next(self) -> Task | None:
        """Return the next of the tasks read so far that may run now; ``None`` if there is none."""
        for _ in range(len(self._waiting)):
            when, task = self._waiting.popleft()
            if when <= time.monotonic():
                if task.key not in self._held or self._busy.free(task.key):
                    self._held.discard(task.key)
                    return task
                when = time.monotonic() + self._busy.seconds
            self._waiting.append((when, task))
        return None

    def _add(self, tasks: Sequence[Task]) -> None:
        self._waiting += ((0.0, task) for task in tasks)
        self._tries |= {task.key: _Tries() for task in tasks}
        self._add_time(tasks)
        self._total += sum(task.steps for task in tasks)
        self.left += len(tasks)

    def _add_time(self, tasks: Sequence[Task]) -> None:
        """Record how long tasks are expected to take, if progress is reported."""
        expected = self._expect(tasks) if self._progress else by_updates(tasks)
        for task, one in zip(tasks, expected, strict=True):
            self._time.add(task.key, **one._asdict())

    def report(self, task: Task, step: int) -> None:
        """Record how many updates of a task are done, and report the progress of all tasks.

        Args:
            task: The task.
            step: Number of updates of this task done so far.
        """
        self._tries[task.key].step = step
        self._time.report(task.key, min(1.0, step / max(1, task.steps)))
        self._count(task, min(step, task.steps))

    def ended(self, task: Task, end: End) -> None:
        """Record the end of an attempt at a task: try it again, divide it, or finish it.

        A task whose process was killed is tried up to three times at the same step.
        After that, or if memory ran out, it is divided into two tasks, or fails if it
        has a single run. A task on which another process is working is tried again
        later.

        Args:
            task: The task.
            end: How the attempt ended; the log messages in it are logged here.

        Raises:
            WriteError: The task could not store its tables.
        """
        for line in end.log:
            record = logging.makeLogRecord(msgspec.structs.asdict(line))
            logging.getLogger(line.name).handle(record)
        if end.how == "done":
            self.left = self.left - 1
            self.done = self.done + 1
            self._time.report(task.key, 1.0)
            self._count(task, task.steps)
            _LOG.debug("%s: done", task.title)
            if self.on_done:
                self.on_done(task)
        elif end.how == "busy":
            self._held.add(task.key)
            self._wait(task, self._busy.seconds)
        elif end.how == "failed" and end.error == WriteError.__name__:
            raise WriteError(end.message)
        elif end.how == "failed":
            self._set_aside(task, end)
        elif end.how == "killed" and self._tries[task.key].again():
            _LOG.warning("%s: the process %s; tried again", task.title, end.message)
            self._wait(task)
        elif len(parts := halves(task)) > 1:
            _LOG.warning(
                "%s: %s; tried again in halves", task.title, end.message or end.how
            )
            self.left += 1
            self._done -= self._steps.pop(task.key, 0)
            self._time.split(task.key, [part.key for part in parts])
            for part in parts:
                self._tries[part.key] = _Tries()
                self._wait(part)
        else:
            self._set_aside(task, end)

    def finish(self) -> None:
        """Raise an error that lists the failed tasks, if any.

        Raises:
            InweightsError: Some tasks failed. If all of their errors belong to the same
                class of the library, an error of that class is raised; otherwise a
                ``RunError``. The message describes at most five of the tasks, or only
                the first one if no task is done.
        """
        if not self.failures:
            return
        kinds = {failure.end.error for failure in self.failures}
        kind = getattr(errors, kinds.pop(), RunError) if len(kinds) == 1 else RunError
        count = len(self.failures)
        if not self.done:
            more = f" ({plural(count - 1, 'more task')} failed)" if count > 1 else ""
            first = self.failures[0]
            # An error other than RunError states what to change, which is the same for
            # every task.
            says_all = first.end.error != RunError.__name__
            raise kind((first.end.message if says_all else first.text) + more)
        lines = [failure.text for failure in self.failures[:_SHOWN]]
        if count > _SHOWN:
            lines.append(f"and {count - _SHOWN} more")
        raise kind(
            f"{count} of {count + self.done} tasks failed; all other results are stored. To "
            f"retry only the failed tasks, run the same command again. {'; '.join(lines)}"
        )

    def _set_aside(self, task: Task, end: End) -> None:
        if end.how == "killed":
            text = f"{ATTEMPTS} processes that worked on it {end.message}"
            end = End("killed", message=text)
        _LOG.error("%s: failed: %s", task.title, end.message)
        self.left -= 1
        self.failures.append(Failure(task, end))
        if self._on_failure:
            self._on_failure(self.failures[-1])
        self._time.remove(task.key)
        self._count(task, 0)

    def _wait(self, task: Task, seconds: float = 0.0) -> None:
        self._waiting.append((time.monotonic() + seconds, task))

    def _count(self, task: Task, step: int) -> None:
        self._done += step - self._steps.get(task.key, 0)
        self._steps[task.key] = step
        if self._progress:
            self._progress(self._done, self._total, self._activity(task))

    def _activity(self, task: Task) -> Activity:
        """Describe the current work with the remaining time, which is estimated every 0.2 s."""
        now = time.monotonic()
        if now - self._looked >= _LOOK:
            self._looked = now
            self._left = self._time.left
            self._correction = self._time.correction
        return Activity(task.title, left=self._left, correction=self._correction)
