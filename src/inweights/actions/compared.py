"""Compare two finished runs: verdicts, and the settings in which they differ (:func:`compare`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from inweights.experiments.claims.claim_result import ClaimResult
from inweights.runs import written

if TYPE_CHECKING:
    from inweights.experiments.engine.outcome import Outcome


@dataclass(frozen=True)
class Comparison:
    """Two runs side by side.

    Attributes:
        runs: Both.
        settings: Settings that differ, by their path, with both values; ``None`` where
            there is none.
        claims: Every claim of either, by its id, with both results.
    """

    runs: tuple[Outcome, Outcome]
    settings: Mapping[str, tuple[Any, Any]]
    claims: Mapping[str, tuple[ClaimResult | None, ClaimResult | None]]


def compare(first: Outcome, second: Outcome) -> Comparison:
    """Lay two runs side by side: their verdicts, and the settings in which they differ.

    Args:
        first: A finished run.
        second: Another one.

    Returns:
        Both runs, and by name what each of them has: settings that differ, verdicts.
    """
    every = _beside(_settings(first), _settings(second))
    settings = {key: both for key, both in every.items() if both[0] != both[1]}
    claims = _beside(_claims_of(first), _claims_of(second))
    return Comparison((first, second), settings, claims)


def _settings(run: Outcome) -> dict[str, Any]:
    """Return the settings of a run by path, including its scale and seeds."""
    chosen = {
        "recipe": run.recipe.name,
        "scale": run.scale,
        "seeds": written(run.seeds),
    }
    return _flat(run.settings) | chosen


def _claims_of(run: Outcome) -> dict[str, ClaimResult]:
    """Return the claims of a run by their id."""
    return {claim.id: claim for claim in run.claims}


def _beside(
    one: Mapping[str, Any], other: Mapping[str, Any]
) -> dict[str, tuple[Any, Any]]:
    """Return the values that two mappings have for each key of either."""
    return {key: (one.get(key), other.get(key)) for key in {**one, **other}}


def _flat(values: Any, path: str = "") -> dict[str, Any]:
    """Return plain values by path."""
    if not isinstance(values, Mapping) or not values:
        return {path: values}
    flat: dict[str, Any] = {}
    for key, value in values.items():
        flat |= _flat(value, f"{path}.{key}" if path else key)
    return flat
