"""Verdicts side by side: those of two runs, and those of a board that was written before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from inweights.errors import DataError
from inweights.lab.grammar.claim import Claim, Statement
from inweights.lab.grammar.verdict import ClaimResult, unjudged
from inweights.runs import written
from inweights.support.limits import check_file, read_bytes

if TYPE_CHECKING:
    from inweights.lab.engine.engine import Outcome

__all__ = ["Comparison", "compare", "kept", "read_board"]


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
        raise DataError(f"{path} is no board as 'verify --json' prints it: {error}") from None
    if board.scale != scale:
        raise DataError(f"{path} is a board of the scale '{board.scale}', not '{scale}'")
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


@dataclass(frozen=True)
class Comparison:
    """Two runs side by side.

    Attributes:
        runs: Both.
        settings: Settings that differ, by their path, with both values; ``None`` where there is
            none.
        claims: Every claim of either, by its id, with both results.
    """

    runs: tuple[Outcome, Outcome]
    settings: Mapping[str, tuple[Any, Any]]
    claims: Mapping[str, tuple[ClaimResult | None, ClaimResult | None]]


def compare(first: Outcome, second: Outcome) -> Comparison:
    """Lay two runs side by side: their verdicts, and the settings in which they differ."""
    own = [_flat(one.settings) | _about(one) for one in (first, second)]
    keys = dict.fromkeys([*own[0], *own[1]])
    settings = {
        key: (own[0].get(key), own[1].get(key))
        for key in keys
        if own[0].get(key) != own[1].get(key)
    }
    by_id = [{claim.id: claim for claim in one.claims} for one in (first, second)]
    ids = dict.fromkeys([*by_id[0], *by_id[1]])
    claims = {claim: (by_id[0].get(claim), by_id[1].get(claim)) for claim in ids}
    return Comparison((first, second), settings, claims)


def _about(outcome: Outcome) -> dict[str, Any]:
    seeds = outcome.seeds
    return {"recipe": outcome.recipe.name, "scale": outcome.scale, "seeds": written(seeds)}


def _flat(values: Any, path: str = "") -> dict[str, Any]:
    """Nested settings by their dotted path."""
    if not isinstance(values, Mapping) or not values:
        return {path: values}
    flat: dict[str, Any] = {}
    for key, value in values.items():
        flat |= _flat(value, f"{path}.{key}" if path else key)
    return flat
