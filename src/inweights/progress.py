"""What long work calls to say how far it is; whoever waits for it shows that."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["Progress", "SolverProgress"]

#: Called with what is done, all there is, and what is being done.
Progress = Callable[[int, int, str], None]
#: Called with what is being solved, the iterations made and the certified gap so far.
SolverProgress = Callable[[str, int, float], None]
