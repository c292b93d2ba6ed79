"""Settings of threads, floating-point numbers and memory during training.

The training loop uses :func:`flushed_denormals` and :func:`keep_memory`. The executors
limit threads with :func:`use_threads`.
"""

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import torch
from threadpoolctl import threadpool_limits

# Parameters of mallopt(3), and their value in bytes.
_TRIM_THRESHOLD = -1
_MMAP_THRESHOLD = -3
_LARGE = 2**30


@contextmanager
def use_threads(threads: int) -> Iterator[None]:
    """Set the number of threads of torch and NumPy's linear algebra in a ``with`` block.

    Args:
        threads: Number of threads, at least 1. After the block, the previous numbers
            are restored.

    Yields:
        ``None``.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        with threadpool_limits(threads, user_api="blas"):
            yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def flushed_denormals() -> Iterator[None]:
    """Round denormal numbers to 0 within a ``with`` block.

    Denormal numbers slow a CPU down twentyfold. Late in training, Adam's moments become
    denormal. ``torch.set_flush_denormal`` applies to the calling thread and to threads
    that it starts. If possible, the setting is also applied to threads that torch
    started earlier.

    Yields:
        ``None``.
    """
    torch.set_flush_denormal(True)
    _set_other_threads()
    try:
        yield
    finally:
        torch.set_flush_denormal(False)
        _set_other_threads()


def _set_other_threads() -> bool:
    """Copy this thread's floating-point settings to torch's other threads, if possible.

    Return whether the settings were copied.

    GNU's OpenMP can run a C function in every thread of its pool. Here this function is
    ``fesetenv`` of the C library.
    """
    threads = torch.get_num_threads()
    runtime = _openmp() if threads > 1 else None
    if runtime is None:
        return False
    settings = ctypes.create_string_buffer(256)  # larger than any processor's fenv_t
    library = ctypes.CDLL(None)
    if library.fegetenv(settings):
        return False
    runtime.GOMP_parallel(library.fesetenv, settings, threads, 0)
    return True


@cache
def _openmp() -> ctypes.CDLL | None:
    """Return the OpenMP library that torch loaded; ``None`` unless it is GNU's on Linux."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        maps = Path("/proc/self/maps").read_text(encoding="utf-8")
        lines = [line for line in maps.splitlines() if "libgomp" in line]
        # The path is the sixth field, and may contain spaces.
        found = sorted({line.split(None, 5)[5] for line in lines})
        # Torch includes its own library; another package may have loaded a second one.
        own = [path for path in found if "torch" in path] or found
        library = ctypes.CDLL(None)
        runtime = ctypes.CDLL(own[0])
        if not all((runtime.GOMP_parallel, library.fegetenv, library.fesetenv)):
            return None
    except (OSError, AttributeError, IndexError):
        return None
    runtime.GOMP_parallel.restype = None
    runtime.GOMP_parallel.argtypes = (
        ctypes.c_void_p,
        ctypes.c_void_p,
        ctypes.c_uint,
        ctypes.c_uint,
    )
    return runtime


@cache
def keep_memory() -> bool:
    """Make the process keep freed memory for later use, if the C library is glibc.

    Gradients are allocated and freed in every step. Returning their pages to the system
    each time takes a third of the time of a step at width 128 with 64 replicas.

    Returns:
        Whether the C library accepted the setting; false on systems other than Linux.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    return bool(mallopt(_TRIM_THRESHOLD, _LARGE) and mallopt(_MMAP_THRESHOLD, _LARGE))
