"""Report the progress of long work, and format times and numbers for people.

:data:`Progress` and :data:`SolverProgress` are the types of callbacks that the library
calls; :func:`shown` provides a callback that shows one line. An :class:`Activity`
describes the current work and estimates its remaining time.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self

#: Callback with the number of updates done, their total number, and the current
#: activity.
Progress = Callable[[int, int, str], None]
#: Callback with the current program, the number of iterations and the certified gap so
#: far.
SolverProgress = Callable[[str, int, float], None]

#: Seconds before the first output, between two lines of a log, and between two changes
#: of a line.
_FIRST = 1.0
_LOG = 30.0
_CHANGE = 0.2
#: Ratio of the total time to its estimate, or of the estimate to the total time, up to
#: which the estimate counts as right.
_AS_ESTIMATED = 1.25


class Activity(str):
    """String that describes the current work, with an estimate of the remaining time.

    A display that supports it shows this estimate instead of one computed from the
    share of updates that are done.

    Args:
        text: The description.
        left: Estimated number of seconds left; ``None`` if it is not known yet.
        correction: Ratio of the total time, as now estimated, to the estimate made
            before the start; ``None`` if there was no such estimate. :attr:`time_left`
            includes this ratio unless it is between 0.8 and 1.25.

    Example:
        >>> Activity("8 × gpt", left=90.0, correction=1.5).time_left
        'about 1 min 30 s left, 1.5 times the estimate'
        >>> Activity("8 × gpt") == "8 × gpt"
        True
    """

    __slots__ = ("correction", "left")

    left: float | None
    correction: float | None

    def __new__(
        cls, text: str, *, left: float | None = None, correction: float | None = None
    ) -> Self:
        self = super().__new__(cls, text)
        self.left = left
        self.correction = correction
        return self

    @property
    def time_left(self) -> str:
        """The remaining time as text, such as ``about 7 s left``; "" if it is not known yet.

        If the ratio of the total time to the initial estimate is not between 0.8 and
        1.25, the text also states this ratio: ``about 7 s left, 1.5 times the
        estimate``.
        """
        if self.left is None:
            return ""
        text = f"about {duration(self.left)} left"
        factor = self.correction or 1.0
        if 1 / _AS_ESTIMATED <= factor <= _AS_ESTIMATED:
            return text
        return f"{text}, {factor:.1f} times the estimate"


def time_left(what: str, seconds: float | None) -> str:
    """Return the remaining time as text that begins with a comma, or "" if it is not known.

    Args:
        what: Description of the current work. If it is an :class:`Activity`, only its
            own estimate is used.
        seconds: Number of seconds left, estimated from the share of the work that is
            done, or ``None`` if unknown. It is used only if ``what`` is an ordinary
            string.
    """
    if isinstance(what, Activity):
        return f", {what.time_left}" if what.time_left else ""
    return "" if seconds is None else f", about {duration(seconds)} left"


@contextmanager
def shown(progress: Progress | bool | None) -> Iterator[Progress | None]:
    """Provide a callback that shows the progress of the work within a ``with`` block.

    The progress line contains an estimate of the remaining time, and appears after one
    second. In a notebook or a terminal, one line is updated, and removed at the end of
    the block. If the standard error stream is not a terminal but, for example, a log
    file, one line is written every 30 seconds.

    Args:
        progress: ``True`` to show a progress line; a callback to use instead; ``None``
            or ``False`` for no display.

    Yields:
        A callback that takes the number of updates done, their total number and a
        description of the current work: the callback that was passed, or a callback
        that shows the line. ``None`` for no display.
    """
    if progress is not True:
        yield progress or None
        return
    write, pause = _line()
    began = last = time.monotonic()
    before: int | None = None
    wrote = False

    def report(done: int, total: int, what: str) -> None:
        nonlocal last, before, wrote
        now = time.monotonic()
        # Work that was done before the first report took no time.
        before = done if before is None else before
        if now - began < _FIRST or now - last < pause:
            return
        last = now
        seconds = None
        if done > before:
            seconds = (now - began) * (total - done) / (done - before)
        text = f"{100 * done // max(1, total):3d}%  {what}{time_left(what, seconds)}"
        wrote = True
        write(text)

    try:
        yield report
    finally:
        if wrote:
            write("")


def _line() -> tuple[Callable[[str], None], float]:
    """Return a function that updates the progress line, and the seconds between two calls."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if hasattr(shell, "kernel"):
        from IPython.display import DisplayHandle

        cell: Any = DisplayHandle()  # type: ignore[no-untyped-call]
        shows = iter([cell.display])

        def change(
            text: str,
        ) -> None:  # empty HTML, since an empty text would leave an empty line
            next(shows, cell.update)(
                {"text/plain" if text else "text/html": text}, raw=True
            )

        return change, _CHANGE
    terminal = sys.stderr.isatty()

    def put(text: str) -> None:
        if text or terminal:
            sys.stderr.write(f"\r\x1b[K{text[:100]}" if terminal else f"{text}\n")
            sys.stderr.flush()

    return put, _CHANGE if terminal else _LOG


def duration(seconds: float) -> str:
    """Return a number of seconds as text: minutes and seconds, or hours and minutes.

    Args:
        seconds: Number of seconds, at least 0, which is rounded to a whole number.

    Example:
        >>> duration(7.4), duration(61), duration(7260)
        ('7 s', '1 min 1 s', '2 h 1 min')
    """
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if minutes else f"{rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def plural(count: int, noun: str, nouns: str = "") -> str:
    """Return a count followed by its noun in the singular or plural.

    Args:
        count: The number.
        noun: The singular of the noun.
        nouns: The plural of the noun; by default (empty), ``noun`` with an s.

    Example:
        >>> plural(1, "figure"), plural(2000, "figure"), plural(0, "query", "queries")
        ('1 figure', '2,000 figures', '0 queries')
    """
    return f"{count:,} {noun if count == 1 else nouns or f'{noun}s'}"


def roughly(seconds: float) -> str:
    """Return a number of seconds as text, rounded to seconds, minutes or tenths of an hour.

    Args:
        seconds: Number of seconds, at least 0. Less than a second is shown as ``1 s``.

    Example:
        >>> roughly(24.1), roughly(740), roughly(9000)
        ('24 s', '12 min', '2.5 h')
    """
    if seconds < 60:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
