"""Program (2) of Identity Bridge for thousands of facts, solved as one program.

:func:`solve_large` solves it, :func:`expected_seconds` estimates how long that takes.
"""

from inweights.theory.programs.large_scale.solver import (
    BYTES,
    WIDEST_GAP,
    expected_seconds,
    solve_large,
)

__all__ = ["BYTES", "WIDEST_GAP", "expected_seconds", "solve_large"]
