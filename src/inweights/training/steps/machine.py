"""Settings of processor and allocator during training."""

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import torch
from threadpoolctl import threadpool_limits

# Parameters of mallopt(3).
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_LARGE = 2**30


@contextmanager
def use_threads(threads: int) -> Iterator[None]:
    """Let torch and the linear algebra of NumPy use so many threads for a while."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        with threadpool_limits(threads, user_api="blas"):
            yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def flushed_denormals() -> Iterator[None]:
    """Count tiny numbers as 0. Late in training they would slow a CPU down twentyfold.

    ``torch.set_flush_denormal`` speaks to the thread that calls it, and threads take it over when
    they are made: those that torch has made before are told as well, where that can be done.
    """
    torch.set_flush_denormal(True)
    _tell_threads()
    try:
        yield
    finally:
        torch.set_flush_denormal(False)
        _tell_threads()


def _tell_threads() -> bool:
    """Give torch's other threads this one's floating-point settings; says whether it was done.

    GNU's OpenMP runs a C function in every thread of its pool, and ``fesetenv`` of the C library
    is one.
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
    """The OpenMP library that torch has loaded, if it is GNU's and the C library knows fenv.h."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        maps = Path("/proc/self/maps").read_text(encoding="utf-8")
        # The path is the sixth field, and may hold spaces.
        found = sorted({line.split(None, 5)[5] for line in maps.splitlines() if "libgomp" in line})
        # Torch brings its own; another package may have loaded a second one.
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
    """Let the process keep the memory that it frees, where the C library can (glibc).

    Gradients are allocated and freed in every step; giving their pages back each time and getting
    new ones costs a third of a step at width 128 and 64 replicas. Returns whether it was done.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    return bool(mallopt(_TRIM_THRESHOLD, _LARGE) and mallopt(_MMAP_THRESHOLD, _LARGE))
