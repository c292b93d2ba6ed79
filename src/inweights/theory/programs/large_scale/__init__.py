"""Program (2) of Identity Bridge for thousands of facts, solved as one program.

:func:`solve_large` solves it, and :func:`expected_seconds` estimates how long that
takes. :func:`solve_soft_large` and :func:`expected_soft_seconds` do the same for the
soft program.
"""

from inweights.theory.programs.large_scale.soft_solver import (
    expected_soft_seconds,
    solve_soft_large,
)
from inweights.theory.programs.large_scale.solver import (
    BYTES,
    WIDEST_GAP,
    expected_seconds,
    solve_large,
)

__all__ = [
    "BYTES",
    "WIDEST_GAP",
    "expected_seconds",
    "expected_soft_seconds",
    "solve_large",
    "solve_soft_large",
]
