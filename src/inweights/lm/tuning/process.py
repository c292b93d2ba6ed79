"""Handle signals that stop a fine-tuning run, and detect processes that train together."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from inweights.errors import ConfigError

__all__ = ["accelerator_of_processes", "stop_signals"]


@contextmanager
def stop_signals(wanted: bool) -> Iterator[threading.Event]:
    """Return a context manager with an event that is set when a signal asks to stop training.

    A second signal raises ``KeyboardInterrupt``. After the block, the former signal
    handlers are restored.

    Args:
        wanted: Whether the signals SIGINT, SIGTERM and SIGHUP set the event (SIGHUP
            only if it is not ignored). Outside the main thread, they never set it.

    Yields:
        The event.

    Raises:
        KeyboardInterrupt: A second signal arrives within the block.
    """
    asked = threading.Event()

    def ask(*_: Any) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()

    # Python permits signal handlers only in the main thread.
    if not wanted or threading.current_thread() is not threading.main_thread():
        yield asked
        return
    listened = [signal.SIGINT, signal.SIGTERM]
    hangup = getattr(signal, "SIGHUP", None)
    if hangup and signal.getsignal(hangup) is not signal.SIG_IGN:  # nohup ignores it
        listened.append(hangup)
    before = {number: signal.signal(number, ask) for number in listened}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def accelerator_of_processes() -> Any:
    """Return an accelerator if ``accelerate launch`` started several processes, else ``None``.

    The number of processes is read from the environment variable ``WORLD_SIZE``.

    Returns:
        An ``accelerate.Accelerator``, or ``None`` for a single process.

    Raises:
        ConfigError: There are several processes, and accelerate is not installed.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) < 2:
        return None
    try:
        from accelerate import Accelerator
    except ImportError:
        raise ConfigError(
            "training in several processes requires accelerate: pip install accelerate"
        ) from None
    return Accelerator()
