"""What the processor and the allocator are told while a model trains."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import torch

__all__ = ["flushed_denormals", "keep_memory"]

# Parameters of mallopt(3).
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_LARGE = 2**30


@contextmanager
def flushed_denormals() -> Iterator[None]:
    """Count tiny numbers as 0. Late in training they would slow a CPU down twentyfold."""
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)


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
