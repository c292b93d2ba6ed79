"""A share at the boundary of a target meets it, in whatever precision it was stored."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest

import inweights as iw
from inweights import probes
from inweights.errors import ConfigError
from inweights.experiments import judge, number, share
from inweights.experiments.claims.stating import own_claim
from inweights.experiments.claims.target import Rounding, Target
from inweights.experiments.claims.verdict import lies
from inweights.models.configs import EmbMLPConfig, GPTConfig
from inweights.probes.states import share as share_of

SHARES = Rounding(size=1.0)
EIGHT = list(range(8))
#: As probes store shares now, as they did earlier, and as a user's own column may.
PRECISIONS = {
    "double": lambda values: pl.Series(values, dtype=pl.Float64),
    "single, kept as double": lambda values: pl.Series(
        np.float32(values).astype(float)
    ),
    "single": lambda values: pl.Series(values, dtype=pl.Float32),
}


def table_of(columns: dict[str, list[float]], precision: str) -> pl.DataFrame:
    parts = [
        pl.DataFrame(
            {"seed": EIGHT, "arm": [arm] * 8, "hit": PRECISIONS[precision](values)}
        )
        for arm, values in columns.items()
    ]
    return pl.concat(parts)


@pytest.mark.parametrize("size", [0.0, 1.0], ids=["number", "share"])
def test_every_share_up_to_two_hundred_lies_on_its_edge(size: float) -> None:
    """Each share is equal to its boundary, and its neighbours lie on their own sides."""
    rounding = Rounding(size=size)
    for n in range(1, 201):
        for k in range(n + 1):
            edge, single = k / n, float(np.float32(k / n))
            least, most = Target(least=edge), Target(most=edge)
            for value in (edge, single):
                assert least.contains(value, value, rounding), (k, n)
                assert most.contains(value, value, rounding), (k, n)
            below, above = (float(np.float32((k + step) / n)) for step in (-1, 1))
            assert lies(least, below, below, rounding) == "not reproduced", (k, n)
            assert lies(most, above, above, rounding) == "not reproduced", (k, n)


@pytest.mark.parametrize("n", [3, 7, 20, 49, 97, 128, 200])
def test_every_difference_of_shares_lies_on_its_edge(n: int) -> None:
    for one, other in itertools.product(range(n + 1), repeat=2):
        edge = float(Fraction(one - other, n))
        singles = [float(np.float32(k / n)) for k in (one, other)]
        for value in (one / n - other / n, singles[0] - singles[1]):
            assert Target(least=edge).contains(value, value, SHARES), (one, other)
            assert Target(most=edge).contains(value, value, SHARES), (one, other)
        beside = (one + 1) / n - other / n
        assert Target(most=edge).exceeds(beside, SHARES), (one, other)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("kind", [share, number])
def test_verdicts_of_seeds_on_the_edge(kind, precision: str) -> None:
    table = table_of(
        {"a": [18 / 20] * 8, "b": [0.6] * 8, "c": [0.85] * 8, "d": [0.95] * 8},
        precision,
    )
    hit = kind("t", "hit")
    for judged in (
        hit.at(arm="a") >= 0.9,
        hit.at(arm="b") <= 0.6,
        hit.at(arm="b").within(0.5, 0.6),
        hit.at(arm="c") - hit.at(arm="d") >= -0.1,
        hit.at(arm="d") - hit.at(arm="c") <= 0.1,
        hit.at(arm="d") - hit.at(arm="c") >= 0.1,
        hit.at(arm="a") - hit.at(arm="c") >= 0.05,
    ):
        found = iw.claim(table, judged)
        assert (found.verdict, found.hits) == ("reproduced", 8), judged
    for judged in (hit.at(arm="a") >= 0.90001, hit.at(arm="b") <= 0.59999):
        assert iw.claim(table, judged).verdict == "not reproduced", judged


@pytest.mark.parametrize("rule", ["typical", "reliable", "mean"])
def test_each_rule_counts_seeds_on_the_edge(rule: Any) -> None:
    from inweights.experiments import Stating

    values = np.array([0.9] * 12 + [0.95] * 4, dtype=np.float32).astype(float)
    table = pl.DataFrame({"seed": range(16), "hit": values})
    claim = Stating("a/b", "ours", "here")(
        "c", "It works.", share("t", "hit") >= 0.9, rule=rule
    )
    found = judge(claim, {"t": table})
    assert found.hits == 16
    assert found.verdict == ("undecided" if rule == "mean" else "reproduced")


def test_small_numbers_are_compared_by_their_own_size() -> None:
    """The tolerance for residuals of proofs is relative, unlike the one for shares."""
    table = pl.DataFrame({"seed": EIGHT, "gap": [3e-9] * 8})
    assert iw.claim(table, number("t", "gap") <= 1e-9).verdict == "not reproduced"
    steps = pl.DataFrame(
        {"seed": EIGHT * 2, "arm": ["a"] * 8 + ["b"] * 8, "steps": [5_000_000] * 16}
    )
    more = number("t", "steps", arm="a") - number("t", "steps", arm="b") >= 1
    assert iw.claim(steps, more).verdict == "not reproduced"


def test_a_share_of_a_tensor_is_a_count_over_a_number() -> None:
    import torch

    for n in range(1, 201):
        # Row k has k right answers.
        right = torch.arange(n).lt(torch.arange(n + 1)[:, None])
        assert share_of(right).tolist() == [k / n for k in range(n + 1)]
    among = torch.tensor([[True, True, False], [False, False, False]])
    first, none = share_of(torch.tensor([[True, False, True]] * 2), among).tolist()
    assert (first, none != none) == (0.5, True)


def test_probes_store_shares_in_double_precision() -> None:
    """Each share times its number of statements is exactly a whole number."""
    world = iw.TwoHop(n=7).build()
    size = len(world.vocabulary)
    mlp = EmbMLPConfig(width=8).build(vocabulary=size, seeds=range(32))
    gpt = GPTConfig(width=8, heads=1, layers=2).build(vocabulary=size, seeds=range(32))
    star = iw.worlds.PathStar(arms=7, nodes=3).build()
    walker = GPTConfig(width=8, heads=1).build(
        vocabulary=len(star.vocabulary), seeds=range(32)
    )
    tables = {
        "accuracy": (probes.accuracy(mlp, world), ["accuracy", "accuracy_among"]),
        "logit_lens": (probes.logit_lens(mlp, world), ["accuracy"]),
        "patching": (probes.activation_patching(gpt, world), ["accuracy"]),
        "realignment": (probes.realignment(gpt, world), ["accuracy", "decodable"]),
        "paths": (probes.path_accuracy(walker, star), ["accuracy", "exact"]),
    }
    for name, (table, columns) in tables.items():
        statements = table["statements"].to_numpy()
        for column in columns:
            found = table[column].to_numpy()
            assert np.array_equal(found, np.round(found * statements) / statements), (
                name
            )
        rounded = table.select(pl.col(columns).cast(pl.Float32).cast(pl.Float64))
        assert not rounded.equals(table.select(columns)), (
            f"{name}: no share tells single from double"
        )


@pytest.mark.parametrize("end", [{"least": float("nan")}, {"most": float("nan")}])
def test_a_target_has_ends_that_are_numbers(end) -> None:
    with pytest.raises(ConfigError, match="must be numbers, got nan"):
        Target(**end)


@pytest.mark.parametrize("alpha", [0.0, 1.0, 2.0, -0.05, float("nan")])
def test_an_error_probability_is_between_0_and_1(alpha) -> None:
    claim = own_claim("a/b/c", "It holds.", share("runs", "accuracy") >= 0.5)
    table = pl.DataFrame({"accuracy": [0.9] * 8, "seed": EIGHT})
    with pytest.raises(ConfigError, match="alpha must be"):
        judge(claim, {"runs": table}, alpha=alpha)
