"""Wait until a condition holds, instead of for a fixed time.

A test that waits polls for what it needs with :func:`wait_until`. There is no limit in
seconds, as a slow machine would break any: what hangs is ended by the guard of the
whole run (``tests/house/tiers.py``), and what can no longer happen is said by
``unless``.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

#: Seconds between two calls of the condition.
PAUSE = 0.02


def wait_until(
    condition: Callable[[], T],
    unless: Callable[[], object] | None = None,
    pause: float = PAUSE,
) -> T:
    """Call the condition repeatedly until it holds, and return what it returned.

    Args:
        condition: Called about every ``pause`` seconds until what it returns is true.
        unless: Reports that the condition can no longer come true, such as the end of the
            process that should make it so; what it returns is shown.
        pause: Seconds between two calls of the condition.

    Raises:
        AssertionError: If ``unless`` returns something true while the condition does
            not hold.
    """
    while True:
        lost = unless() if unless else None
        # Called after ``unless``, since the condition may have become true just before the end.
        found = condition()
        if found:
            return found
        assert not lost, f"what was waited for can no longer happen: {lost}"
        time.sleep(pause)


def stamps(folder: Path, pattern: str) -> dict[Path, int]:
    """Return the files of a folder that match a pattern, each with when it was last written."""
    return {path: path.stat().st_mtime_ns for path in folder.glob(pattern)}


def wait_for_a_write(
    folder: Path, pattern: str, before: dict[Path, int], unless: Callable[[], object]
) -> None:
    """Wait until a file is new, or was written again, since the stamps were taken.

    A file that has disappeared since then is no write: what it held may be finished.
    """

    def written() -> bool:
        now = stamps(folder, pattern)
        return any(stamp != before.get(path) for path, stamp in now.items())

    wait_until(written, unless)


def ended(process: subprocess.Popen[str]) -> Callable[[], str | None]:
    """Return a function for ``unless``: what a process that has ended printed, or None."""

    def look() -> str | None:
        if process.poll() is None:
            return None
        out, error = process.communicate()
        return f"exit code {process.returncode}\n{out}\n{error}"

    return look
