"""Repeat an operation while the machine or store with the files is unavailable.

Folders call :func:`patiently` to read and write a file, and object stores call it to
create an object. The client library repeats the other requests to an object store.
"""

import errno
import time
from collections.abc import Callable
from typing import TypeVar

#: Seconds for which operations on an unavailable store are repeated.
PATIENCE = 600.0
#: Errors of a folder on another machine while that machine is unavailable; they may
#: disappear.
_AWAY = {
    getattr(errno, name)
    for name in (
        "ESTALE",
        "ETIMEDOUT",
        "EHOSTDOWN",
        "EHOSTUNREACH",
        "ENOTCONN",
        "EREMOTEIO",
    )
    if hasattr(errno, name)
}
T = TypeVar("T")


def is_gone(error: Exception) -> bool:
    """Return whether an error means that the machine that stores the files is unavailable.

    Args:
        error: Any error.

    Returns:
        True for an ``OSError`` whose ``errno`` means that another machine is down or
        does not respond, such as ``ESTALE`` or ``ETIMEDOUT``; false for any other
        error.
    """
    return isinstance(error, OSError) and error.errno in _AWAY


def patiently(work: Callable[[], T], away: Callable[[Exception], bool] = is_gone) -> T:
    """Call a function, and repeat the call with increasing pauses while files are unavailable.

    The first pause is half a second, and the longest is 30 seconds.

    Args:
        work: Function that reads or writes a file. It may be called several times.
        away: Function that returns whether an error means that the files are
            temporarily unavailable; by default :func:`is_gone`.

    Returns:
        The result of ``work``.

    Raises:
        Exception: The last error of ``work``, after :data:`PATIENCE` seconds (10
            minutes). An error for which ``away`` returns false is raised at once.
    """
    pause = 0.5
    ends = time.monotonic() + PATIENCE
    while True:
        try:
            return work()
        except Exception as error:
            if not away(error) or time.monotonic() + pause > ends:
                raise
        time.sleep(pause)
        pause = min(2 * pause, 30.0)
