"""A board that was written before, for recipes whose runs are not on this disk."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec.structs import replace

from inweights.errors import DataError
from inweights.lab.grammar.claim import Claim, Statement
from inweights.lab.grammar.verdict import ClaimResult, unjudged
from inweights.support.limits import check_file, read_bytes

__all__ = ["kept", "read_board"]


class _Board(msgspec.Struct):
    """What ``inweights verify --json`` prints, as far as it is read again."""

    scale: str
    claims: list[ClaimResult]


def read_board(file: str | Path, scale: str) -> dict[str, ClaimResult]:
    """Return the verdicts of a stored board by the claims' names.

    Args:
        file: What ``inweights verify --json`` printed.
        scale: Of its runs.

    Raises:
        DataError: There is no such file, it is no board, or one of another scale.
    """
    path = Path(file)
    check_file(path)
    try:
        board = msgspec.json.decode(read_bytes(path), type=_Board)
    except (OSError, UnicodeDecodeError, RecursionError, msgspec.DecodeError) as error:
        raise DataError(
            f"{path} is not a results table written by 'verify --json': {error}"
        ) from None
    if board.scale != scale:
        raise DataError(f"{path} is a results table of the scale '{board.scale}', not '{scale}'")
    return {claim.id: claim for claim in board.claims}


def kept(claim: Claim | Statement, why: str, board: Mapping[str, ClaimResult]) -> ClaimResult:
    """Return the verdict of a board on a claim that still says the same; else it is not judged.

    Args:
        claim: The claim as it is stated now.
        why: Why no run judges it.
        board: Verdicts by the claims' names.
    """
    open_one = unjudged(claim, why)
    known = board.get(claim.id)
    if known is None or known.verdict == "not judged":
        return open_one
    # Earlier boards had no conditions.
    known = replace(known, condition=known.condition or open_one.condition)
    said = ("text", "target", "source", "condition", "check")
    if any(getattr(known, name) != getattr(open_one, name) for name in said):
        return unjudged(claim, "it says something else than on the board that is kept")
    return known
