"""Show the progress of work: a bar on a terminal, lines in a log.

Commands call the library within :func:`progress`, or within :func:`solving` if a solver
reports its certified gap.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from inweights.cli.console.base import PlainConsole, err
from inweights.cli.console.live.steady import steady_log
from inweights.support.progress import duration, time_left

if TYPE_CHECKING:
    from inweights.support.progress import Progress as Report
    from inweights.support.progress import SolverProgress

#: Interval between two lines of a log, if there is no terminal: in seconds, and as a share
#: of the work.
_LINE = 10.0
_TENTH = 0.1


@contextmanager
def progress(*, quiet: bool = False, about: str = "") -> Iterator[Report]:
    """Show the progress of a ``with`` block on the error stream, as a bar or as lines of a log.

    Args:
        quiet: If true, show nothing. It must not be combined with ``about``; this is
            not checked.
        about: Description of the block. If it is given, it is printed at once. The bar
            is then shown from the start or, if the error stream is not a terminal, a
            line is written every ten seconds. If it is empty (the default), nothing is
            shown until the block reports progress.

    Yields:
        A function that reports progress. Its arguments are the amount done, the total
        amount, and a description of the current work.
    """
    if about:
        err.print(about)
    if about and not err.is_terminal:
        with steady_log(partial(err.print, soft_wrap=True), _LINE) as steady:
            yield steady
        return
    if quiet or not err.is_terminal:
        yield (lambda *_: None) if quiet else _log()
        return
    from rich import progress as rich

    columns = (
        rich.TextColumn("{task.description}", markup=False),
        rich.BarColumn(bar_width=None),
        rich.TextColumn("{task.percentage:>3.0f}%"),
        rich.TimeElapsedColumn(),
        rich.TextColumn("{task.fields[left]}", markup=False),
    )
    bars = rich.Progress(*columns, console=PlainConsole(stderr=True), transient=True)
    task = bars.add_task("starting", total=None, left="")
    all_of_it = 0

    def report(done: int, total: int, what: str) -> None:
        nonlocal all_of_it
        bars.start()  # starts late: nothing is drawn if the work fails early
        if total != all_of_it:  # other work begins, with a time of its own
            bars.reset(task)
            all_of_it = total
        bars.update(task, completed=done, total=total, description=what)
        left = time_left(what, bars.tasks[0].time_remaining)
        bars.update(task, left=left.removeprefix(", "))

    if about:
        bars.start()
    try:
        yield report
    finally:
        if bars.live.is_started:
            bars.stop()


def _log(clock: Callable[[], float] = time.monotonic) -> Report:
    """Return a report function that writes lines: one per ten seconds or per tenth of the work.

    The longer of the two intervals is used, but at most a minute. Work that ends within
    ten seconds writes nothing.
    """
    began = last = start = clock()
    share: float | None = None
    first = 0.0
    all_of_it = 0

    def report(done: int, total: int, what: str) -> None:
        nonlocal last, share, first, start, all_of_it
        now = clock()
        part = done / max(1, total)
        # The speed excludes work that was done before, and other work.
        if share is None or total != all_of_it:
            share = first = part
            start = now
            all_of_it = total
        if now - last < _LINE or (
            # The tolerance is for the rounding error of the difference.
            part - share < _TENTH - 1e-9 and now - last < 6 * _LINE
        ):
            return
        last = now
        share = part
        seconds = None
        if part > first:
            seconds = (now - start) * (1 - part) / (part - first)
        text = f"{100 * part:3.0f}%  {what}, {duration(now - began)}"
        err.print(f"{text}{time_left(what, seconds)}", soft_wrap=True)

    return report


@contextmanager
def solving(gap: float) -> Iterator[SolverProgress]:
    """Show how the certified duality gap of a solver approaches a target.

    Args:
        gap: The relative gap at which the solver stops, above 0 and below 1.

    Yields:
        A function that the solver calls with the name of the optimization problem, the
        number of iterations so far, and the gap.
    """
    with progress() as report:
        yield by_gap(report, gap)


def by_gap(report: Report, gap: float) -> SolverProgress:
    """Create a progress callback for a solver, which reports the gap on a logarithmic scale.

    Args:
        report: Function that is called with the number of parts done, the total number
            of parts (1,000), and a description.
        gap: Gap at which the solver stops, above 0 and below 1.

    Returns:
        A function that the solver calls with the name of the optimization problem, the
        number of iterations (which is not used) and the gap. An infinite gap is
        reported as 0 parts.
    """
    first = 1.0

    def notify(what: str, _step: int, now: float) -> None:
        nonlocal first
        if not math.isfinite(now):
            report(0, 1000, f"{what}: searching for a feasible point")
            return
        first = max(first, now)
        share = math.log(max(now, gap) / first) / math.log(gap / first)
        report(round(1000 * share), 1000, f"{what}: gap {now:.1e}")

    return notify
