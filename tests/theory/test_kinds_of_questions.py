"""Predictions and advice for reversals, implications and longer chains."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.theory.another_solver import least_norm

import inweights as iw
from inweights.errors import ConfigError
from inweights.theory import Program, bridges, predict, solve, transfer_margin
from inweights.theory.prediction import advice_by_parts
from inweights.theory.prediction.remedies import remedies
from inweights.theory.prediction.trust import trust
from inweights.worlds import Hops, Implication, RandomFacts, Reversal, TwoHop, World


def kinds(seed: int) -> World:
    """Yield random small worlds of each kind in turn."""
    rng = np.random.default_rng(seed)
    if seed % 3 == 0:
        n = int(rng.integers(3, 6))
        which: Any = ("none", "first", "second", "both")[int(rng.integers(4))]
        return Reversal(
            n=n,
            told=int(rng.integers(0, n)),
            identity=which,
            phrased=bool(rng.random() < 0.3),
        ).build(seed)
    if seed % 3 == 1:
        members = int(rng.integers(3, 6))
        example = int(rng.integers(1, members - 1))
        return Implication(
            groups=int(rng.integers(2, 4)),
            members=members,
            told=example,
            denied=int(rng.integers(0, members - example)),
            counter=("other", "unknown")[seed % 2],
        ).build(seed)
    return Hops(n=3, hops=int(rng.integers(2, 4)), identity=float(rng.random())).build(
        seed
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60))
def test_optimum_is_that_of_cvxpy(seed: int) -> None:
    """The optimum agrees with CVXPY on 20 random worlds of each kind."""
    program = Program.of(kinds(seed))
    assert solve(program, gap=1e-5).optimum == pytest.approx(
        least_norm(program)[0], rel=2e-5
    )


@pytest.mark.parametrize(
    ("groups", "members", "told"),
    [(3, 2, 1), (5, 3, 1), (3, 6, 2), (2, 5, 4), (7, 4, 1)],
)
def test_transfer_has_a_closed_form(groups: int, members: int, told: int) -> None:
    made = Implication(groups=groups, members=members, told=told).build()
    margins = solve(made, gap=1e-6).margins(made.queries)
    np.testing.assert_allclose(margins, transfer_margin(members, told), atol=5e-3)


@pytest.mark.parametrize(
    ("told", "denied", "sign"), [(2, 1, 1), (2, 2, 0), (2, 3, -1), (1, 1, 0)]
)
def test_as_many_counter_examples_as_examples_kill_it(
    told: int, denied: int, sign: int
) -> None:
    made = Implication(groups=4, members=7, told=told, denied=denied).build(1)
    margins = solve(made, gap=1e-5).margins(made.queries)
    assert set(np.where(np.abs(margins) < 1e-3, 0, np.sign(margins))) == {sign}


def test_hallucinations_are_asserted_and_nothing_is_expected_of_them() -> None:
    forecast = predict(Implication(related=False).build())
    assert set(forecast.queries["verdict"]) == {"asserted"}
    assert forecast.queries["expected"].null_count() == forecast.queries.height
    assert (
        forecast.queries["predicted"].to_list() == forecast.queries["answer"].to_list()
    )
    (remedy,) = forecast.remedies
    assert remedy.kind == "counter-examples"
    assert remedy.statements[0].endswith("→ unknown")
    assert remedy.flipped > 0


@pytest.mark.parametrize(("stays", "denied", "flipped"), [(2, 1, 2), (3, 4, 0)])
def test_one_counter_example_is_enough_if_half_of_the_others_turn(
    stays, denied, flipped
) -> None:
    """Counter-examples that change half of the other assertions are advised; others are not."""
    made = Implication(groups=2, members=7, told=2).build()
    rows = [
        q
        for q in range(len(made.queries))
        if made.queries.answer(q) == made.queries.answer(0)
    ]
    assert len(rows) == 5
    table = pl.DataFrame(
        {"query": rows, "role": "unstated", "predicted": "it", "margin": 1.0}
    )
    table = table.with_columns(verdict=pl.lit("asserted"))
    left = pl.col("query").is_in(rows[-stays:])
    after = table.with_columns(
        verdict=pl.when(left).then("verdict").otherwise(pl.lit("open"))
    )
    solution = solve(made)
    (remedy,) = remedies(made, table, lambda *_: (solution, after, ""), None)
    assert (len(remedy.statements), remedy.flipped, remedy.of) == (
        denied,
        flipped,
        5 - denied,
    )


@pytest.mark.parametrize(
    ("late", "second", "shares"),
    [
        (12.0, 5.0, [6.0, 12.0]),
        (12.0, 3.1, [6.0, 12.0]),
        (12.0, 3.0, [6.0, 12.0, 12.0]),
        (60.0, 5.0, [20.0, 33.0, 60.0]),
    ],
)
def test_parts_share_the_time_and_those_without_get_no_advice(
    monkeypatch, late: float, second: float, shares: list[float]
) -> None:
    """Parts with the most failing queries get advice first, if time for three solutions is left."""
    clock, takes = [0.0], [6.0, second, 0.0]
    asked: list[tuple[int, float]] = []

    def advised(
        _world: World, rows: pl.DataFrame, _solve: Any, until: float, _lost: int
    ) -> None:
        clock[0] += takes[len(asked)]
        asked.append((rows["part"][0], until))

    monkeypatch.setattr(
        advice_by_parts, "time", SimpleNamespace(perf_counter=lambda: clock[0])
    )
    monkeypatch.setattr(advice_by_parts, "advise_identities", advised)
    monkeypatch.setattr(advice_by_parts, "in_time", lambda _: False)
    part = replace(solve(TwoHop(n=2).build()), seconds=1.0)
    queries = pl.DataFrame(
        {"query": [0, 0, 1, 0], "part": [0, 1, 1, 2], "verdict": "fails"}
    )
    assert advice_by_parts.advise_parts([part] * 3, queries, None, late) == (None, ())  # type: ignore[arg-type]
    assert asked == list(zip((1, 0, 2), shares, strict=False))


@pytest.mark.parametrize(
    ("identity", "told", "verdict"),
    [
        ("none", 3, "fails"),
        ("both", 0, "fails"),
        ("both", 3, "follows"),
        ("first", 3, "fails"),
    ],
)
def test_reversals_need_both_identities_and_a_few_that_are_told(
    identity: Any, told: int, verdict: str
) -> None:
    made = Reversal(n=8, told=told, identity=identity).build()
    assert set(predict(made, advise=False).queries["verdict"]) == {verdict}


def test_phrased_identities_are_forecast_by_the_soft_program() -> None:
    """Program (2) predicts that no reversal follows, but trained networks answer them."""
    made = Reversal(n=10, told=5, phrased=True).build()
    assert (solve(made).margins(made.queries) < 0).all()
    forecast = predict(made, advise=False)
    assert "several tokens" in forecast.why
    assert "does not apply to effects of identities with longer prompts" in trust(
        forecast
    )
    assert set(forecast.queries["verdict"]) == {"follows"}
    assert not predict(Reversal(n=10, told=5).build(), advise=False).why


@pytest.mark.slow
def test_trained_networks_answer_what_is_said_of_phrased_identities() -> None:
    """With 5 of 10 stated, the soft program predicts Emb-MLP correctly; program (2) does not."""
    made = Reversal(n=10, told=5, phrased=True).build(3)
    model = iw.EmbMLPConfig().build(
        vocabulary=len(made.vocabulary), seeds=[0, 1], candidates=made.outputs.tolist()
    )
    descent = iw.Phase(steps=3000, optimizer=iw.Optimizer(kind="sgd", rate=4.0))
    iw.train(model, made, iw.Curriculum(phases=(descent,)), seeds=[0, 1])
    accuracy = iw.probes.accuracy(model, made)
    assert accuracy.filter(part="facts")["accuracy"].min() == 1.0
    assert accuracy.filter(part="queries")["accuracy"].to_numpy().min() >= 0.8


@pytest.mark.slow
def test_of_chains_the_soft_program_says_what_networks_with_its_decay_answer() -> None:
    """The soft program predicts two and three hops; program (2) does not (docs/predict.md)."""
    made = RandomFacts(told=0.75, identity=1.0, hops=3, bridges=6).build()
    model = iw.EmbMLPConfig().build(
        vocabulary=len(made.vocabulary), seeds=[0, 1], candidates=made.outputs.tolist()
    )
    decaying = iw.Optimizer(kind="sgd", rate=2.0, weight_decay=1e-2)
    descent = iw.Phase(steps=2000, optimizer=decaying)
    iw.train(model, made, iw.Curriculum(phases=(descent,)), seeds=[0, 1])
    answered = iw.probes.margins(model, made).select(
        "prompt", "answer", hit=pl.col("margin") > 0
    )
    agreed = {}
    for decay in (None, 1e-2):
        forecast = predict(made, decay=decay, advise=False)
        judged = answered.join(forecast.queries, on=["prompt", "answer"]).filter(
            pl.col("verdict") != "tied"
        )
        agreed[decay] = (
            judged["hit"].eq(judged["verdict"] == "follows").to_numpy().mean()
        )
        assert "does not apply to individual chains" in trust(forecast)
    assert agreed[1e-2] >= 0.95
    assert agreed[None] <= 0.7


def test_told_reversals_are_advised() -> None:
    forecast = predict(Reversal(n=8, told=0, identity="none").build())
    (remedy,) = forecast.remedies
    assert remedy.kind == "reversals"
    assert remedy.flipped == remedy.of
    assert (
        len(remedy.statements) > 16
    )  # identities of both ends, and some stated reversals


def test_two_hops_follow_by_identities_and_three_do_not() -> None:
    """Program (2) predicts this, and long training agrees with it."""
    for identity, verdict in ((True, "follows"), (False, "fails")):
        queries = predict(Hops(n=5, hops=3, identity=identity).build()).queries
        by_role = {
            role: set(rows["verdict"]) for (role,), rows in queries.group_by("role")
        }
        assert by_role == {"composition": {verdict}, "chain": {"fails"}}


def test_a_chain_of_three_has_two_bridges() -> None:
    made = Hops(n=3, hops=3, identity=False).build()
    found = bridges(made)
    names = made.vocabulary.names
    assert [names[b][:2] for q, b in found if q < 3] == ["e2"] * 3
    assert [names[b][:2] for q, b in found if q >= 3] == ["e2", "e3"] * 3


def test_transfer_that_cannot_be() -> None:
    with pytest.raises(ConfigError, match="told must be at least 1"):
        transfer_margin(3, 3)


@pytest.mark.parametrize(("late", "advices"), [(0.9, 0), (1.1, 1)])
def test_advice_begins_only_if_one_solution_fits(
    monkeypatch, late: float, advices: int
) -> None:
    """No solution is started for advice unless the remaining time suffices for one."""
    asked: list[float] = []
    monkeypatch.setattr(
        advice_by_parts, "time", SimpleNamespace(perf_counter=lambda: 0.0)
    )
    monkeypatch.setattr(advice_by_parts, "in_time", lambda until: until >= 0)
    monkeypatch.setattr(
        advice_by_parts, "advise_identities", lambda *given: asked.append(given[3])
    )

    def found(*given: Any) -> tuple[()]:
        asked.append(given[3])
        return ()

    monkeypatch.setattr(advice_by_parts, "remedies", found)
    part = replace(solve(TwoHop(n=2).build()), seconds=1.0)
    queries = pl.DataFrame({"query": [0], "part": [0], "verdict": "fails"})
    assert advice_by_parts.advise_parts([part], queries, None, late) == (None, ())  # type: ignore[arg-type]
    assert asked == pytest.approx([late, late - 1.0] * advices)
