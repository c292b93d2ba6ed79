"""Compare the verdicts and the settings of two finished runs (:func:`compare`)."""

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
    """Result of comparing two runs.

    Attributes:
        runs: The two runs, in the order in which they were given.
        settings: Pairs of values of the settings in which the runs differ, keyed by the
            path of the setting, such as ``gpt.layers``. A value is ``None`` if its run
            does not have the setting. ``recipe``, ``scale`` and ``seeds`` (as text) are
            included.
        claims: Pairs of results of each claim in the two runs, keyed by the claim's id.
            A result is ``None`` if its run does not have the claim.
    """

    runs: tuple[Outcome, Outcome]
    settings: Mapping[str, tuple[Any, Any]]
    claims: Mapping[str, tuple[ClaimResult | None, ClaimResult | None]]


def compare(first: Outcome, second: Outcome) -> Comparison:
    """Compare two finished runs: their verdicts, and the settings in which they differ.

    Args:
        first: A finished run, as :func:`inweights.run` or :func:`inweights.open_run`
            returns it.
        second: Another run, of the same or another recipe.

    Returns:
        The comparison, with the values of both runs in pairs.
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
    """Return pairs of values from two mappings, one pair per key of either mapping."""
    return {key: (one.get(key), other.get(key)) for key in {**one, **other}}


def _flat(values: Any, path: str = "") -> dict[str, Any]:
    """Return nested plain values as a flat dictionary of values by path."""
    if not isinstance(values, Mapping) or not values:
        return {path: values}
    flat: dict[str, Any] = {}
    for key, value in values.items():
        flat |= _flat(value, f"{path}.{key}" if path else key)
    return flat
