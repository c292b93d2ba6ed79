"""Predicted similarities, compared with hand calculations for every setting."""

from __future__ import annotations

import math
from typing import Any

import polars as pl
import pytest

from inweights.errors import ConfigError, DataError
from inweights.models import OneLayerConfig
from inweights.probes.resemblance import predicted_similarity as foretold
from inweights.worlds import AnalogicalTwoHop, Analogy, TwoHop

SETTINGS: dict[str, Any] = {"rate": 0.3, "steps": 7}
MODEL = OneLayerConfig(width=64, kappa=50.0, hidden=4)
JOINT = {"category": 2.0, "similarity": 2.0, "attribution": 1.0}


def by_hand(n: int, told: dict[str, float], start: float) -> float:
    """Return the cosine of ``a1`` and ``b1`` in an analogy of ``2n`` labels, ``c`` and ``d``.

    ``a`` is trained on ``c`` and ``d``, and ``b`` on ``c``. Each fact adds its weight at the
    label, minus the mean over all labels, halved because two tokens share it.
    """
    total = n * sum(told.values())

    def coefficients(c: float, d: float) -> list[float]:
        alpha = [c, d, *[0.0] * (2 * n - 2)]
        return [(x - (c + d) / (2 * n)) / total / 2 for x in alpha]

    a = coefficients(told["category"], told["attribution"])
    b = coefficients(told["similarity"], 0.0)
    inner = sum(x * y for x, y in zip(a, b, strict=True))
    squares = [sum(x * x for x in a) + start, sum(x * x for x in b) + start]
    return inner / math.prod(square**0.5 for square in squares)


def test_the_cosine_of_the_facts_by_hand() -> None:
    """``ν² = m / (η κ0 T1)²``."""
    start = 4 / (0.3 * 50 * 7) ** 2
    table = foretold(Analogy(n=6), JOINT, model=MODEL, **SETTINGS)
    assert table.columns == ["from_facts"]
    assert table["from_facts"].to_list() == pytest.approx(
        [by_hand(6, JOINT, start)], rel=1e-12
    )


@pytest.mark.parametrize("rho", [1.0, 3.0])
def test_the_closed_form_by_hand(rho: float) -> None:
    """``S² / √((S² (1 + 1/ρ²) + ν²)(S² + ν²))`` with ``ν² = m / (η κ0 T1 / 2n)²``."""
    n, share = 6, rho / (2 * rho + 1)
    start = 4 / (0.3 * 50 * 7 / (2 * n)) ** 2
    table = foretold(
        Analogy(n=n), JOINT, model=MODEL, course="joint", rho=rho, **SETTINGS
    )
    expected = share**2 / math.sqrt(
        (share**2 * (1 + 1 / rho**2) + start) * (share**2 + start)
    )
    assert table["closed_form"].to_list() == pytest.approx([expected], rel=1e-12)
    assert table["from_facts"][0] == pytest.approx(
        by_hand(n, JOINT, start / (2 * n) ** 2)
    )


def test_courses_differ() -> None:
    for course, expected in (
        ("AS", 0.0),
        ("two-hop without identity", 0.0),
        ("SA", 1.0),
    ):
        table = foretold(Analogy(n=6), JOINT, course=course, steps=10**6)  # type: ignore[arg-type]
        assert table["closed_form"][0] == pytest.approx(expected, abs=1e-6)


def test_the_defaults_are_those_of_the_paper() -> None:
    given = foretold(
        Analogy(n=6),
        JOINT,
        model=OneLayerConfig(kappa=300.0, hidden=10),
        rate=0.47,
        steps=50,
    )
    assert foretold(Analogy(n=6), JOINT).equals(given)


def test_by_pair_names_the_pairs_of_that_seed() -> None:
    """Half of the bridges have an identity, and only they are similar to their subjects."""
    config = AnalogicalTwoHop(n=6, identity=0.5, maps="permutation")
    roles = {"first_hop": 1.0, "identity": 1.0, "second_hop": 1.0}
    seen = []
    for seed in (1, 2):
        world = config.build(seed)
        names = world.vocabulary.names
        table = foretold(config, roles, seed=seed, by_pair=True, course="two-hop")
        assert table.columns == ["one", "two", "from_facts", "closed_form"]
        hops = {
            names[int(world.facts.prompt(i)[0])]: names[int(world.facts.answer(i)[0])]
            for i in world.facts.with_role("first_hop").tolist()
        }
        assert dict(table.select("one", "two").rows()) == hops
        like = set(table.filter(pl.col("from_facts") > 0.4)["two"])
        told = world.facts.matrix(world.facts.with_role("identity"))[0][:, 0]
        assert like == {names[i] for i in told}
        mean = foretold(config, roles, seed=seed)["from_facts"].item()
        assert mean == pytest.approx(table["from_facts"].mean())
        assert table["closed_form"].n_unique() == 1
        seen.append(hops)
    assert seen[0] != seen[1]


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ConfigError, match="did you mean 'joint'"):
        foretold(Analogy(n=3), JOINT, course="joints")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="rate must be finite and > 0"):
        foretold(Analogy(n=3), JOINT, rate=0.0)
    with pytest.raises(DataError, match="unknown role 'identity'"):
        foretold(Analogy(n=3), {"identity": 1.0})
    with pytest.raises(DataError, match="requires the query role 'conclusion'"):
        foretold(TwoHop(n=3), {"first_hop": 1.0})
