"""Two finished runs side by side: their verdicts, and the settings in which they differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from inweights.runs import written

if TYPE_CHECKING:
    from inweights.lab.engine.outcome import Outcome
    from inweights.lab.grammar.claim import ClaimResult


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
    own = [
        _flat(run.settings)
        | {"recipe": run.recipe.name, "scale": run.scale, "seeds": written(run.seeds)}
        for run in (first, second)
    ]
    settings = {key: both for key, both in _beside(*own).items() if both[0] != both[1]}
    claims = _beside(*({claim.id: claim for claim in one.claims} for one in (first, second)))
    return Comparison((first, second), settings, claims)


def _beside(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """The values that two mappings have for each key of either."""
    return {key: (one.get(key), other.get(key)) for key in {**one, **other}}


def _flat(values: Any, path: str = "") -> dict[str, Any]:
    if not isinstance(values, Mapping) or not values:
        return {path: values}
    flat: dict[str, Any] = {}
    for key, value in values.items():
        flat |= _flat(value, f"{path}.{key}" if path else key)
    return flat
