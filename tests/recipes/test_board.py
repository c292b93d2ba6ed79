"""The board from ledger and scores alone; withdrawn claims, effect sizes, all claims."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.coins import PAPER
from tests.recipes.ledger_home import (
    CLEAR,
    CLEAR_SCORE,
    EDGE,
    NEVER,
    RECIPE,
    state,
)

from inweights import actions
from inweights.actions.ledger.board import read_board, verdict_lines
from inweights.actions.ledger.ledger import read_ledger
from inweights.actions.ledger.lines import BLOCK, LEDGER, Earlier, JudgedLine, Stated
from inweights.actions.ledger.significance import holm, least_alpha
from inweights.cli import entry as cli
from inweights.cli.console.claims import counts
from inweights.errors import ConfigError
from inweights.experiments import number, share
from inweights.experiments.claims.claim import Claim
from inweights.experiments.claims.claim_result import ClaimResult
from inweights.experiments.claims.numbers import Numbers
from inweights.experiments.claims.target import ROUNDING
from inweights.experiments.claims.verdict import decide


def test_the_size_of_an_effect_is_a_verdict_of_its_own(home) -> None:
    """Next to a printed number, on the board, in the ledger, and in the counts."""
    claims = [
        state("clear", CLEAR.text, CLEAR_SCORE, published=printed, source="someone")
        for printed in ("0.95", "0.2")
    ]
    sizes: list[str] = []
    for claim in claims:
        home.recipe = replace(RECIPE, claims=(claim, NEVER, EDGE))
        home.state()
        home.run()  # a different printed number is a different claim
        actions.record()
        line = (
            read_ledger(Path("results/ledger.jsonl")).entry(claim.id, "cpu").judged_anew
        )
        assert line
        sizes.append(line.size)
        assert f"1 {sizes[-1]}" in counts(actions.board().claims)[-1]
    assert sizes == ["close", "not close"]


def test_a_verdict_on_an_edge_stands_until_there_are_more_seeds(tmp_path) -> None:
    """Earlier, scores were compared without tolerance, and shares had single precision."""
    path = tmp_path / LEDGER
    claim = state(
        "edge", "The coin falls on its head.", share("tosses", "heads") >= 0.9
    )
    about: dict[str, Any] = {"scale": "cpu", "version": 1}
    stated = Stated(date="2026-11-20", claim=claim, seeds=8, block=1, hash="h", **about)
    verdict = JudgedLine(
        date="2026-11-21", name=claim.id, verdict="not reproduced", seeds=8, **about
    )
    read_ledger(path).add(path, [stated, verdict])

    def judged(seeds: int, heads: float) -> ClaimResult:
        rows = [
            {
                "claim": claim.id,
                **about,
                "case": "",
                "seed": BLOCK + k,
                "number": heads,
                "why": None,
            }
            | {"environment": "here"}
            for k in range(seeds)
        ]
        board = read_board(tmp_path, "cpu", more=rows)
        lines = verdict_lines(board, "2026-11-28")
        assert [line.rounding for line in lines] == [ROUNDING] * (seeds > 8)
        return board.claims[0]

    single = 0.8999999761581421
    assert [(judged(n, single).verdict, judged(n, single).hits) for n in (8, 16)] == [
        ("not reproduced", 0),
        ("reproduced", 16),
    ]
    assert judged(16, 0.85).verdict == "not reproduced"


def test_an_older_verdict_on_a_substitute_is_the_same_by_another_name(tmp_path) -> None:
    """Only the name is new, so no line is added and no earlier verdict is shown."""
    path = tmp_path / LEDGER
    heads = share("tosses", "heads") >= 0.9
    claim = state("far", "The coin falls on its head.", heads, protocol="substitute")
    about: dict[str, Any] = {"scale": "cpu", "version": 1}
    judged: dict[str, Any] = {
        **about,
        "name": claim.id,
        "verdict": "not reproduced",
        "seeds": 8,
    }
    read_ledger(path).add(
        path,
        [
            Earlier(date="2026-11-19", text=claim.text, target="", commit="", **judged),
            Stated(date="2026-11-20", claim=claim, seeds=8, block=1, hash="h", **about),
            JudgedLine(date="2026-11-21", **judged),
        ],
    )
    rows = [
        {
            "claim": claim.id,
            **about,
            "case": "",
            "seed": BLOCK + k,
            "number": 0.1,
            "why": None,
        }
        | {"environment": "here"}
        for k in range(8)
    ]
    board = read_board(tmp_path, "cpu", more=rows)
    assert board.claims[0].verdict == "not seen in a substitute"
    assert board.claims[0].earlier == ()
    assert board.claims[0].p is not None
    assert not verdict_lines(board, "2026-11-28")


def test_a_withdrawn_claim_stays_on_the_board(home, capsys) -> None:
    home.state()
    home.run()
    actions.record()
    with pytest.raises(ConfigError, match="--why"):
        actions.withdraw(EDGE.id, "")
    with pytest.raises(ConfigError, match="did you mean 'mine/coins/edge'"):
        actions.withdraw("mine/coins/edgy", "a slip")
    actions.withdraw(EDGE.id, "the coin was lost")
    board = actions.board()
    assert EDGE.id not in {claim.id for claim in board.claims}
    assert [(one.name, one.verdict, one.why) for one in board.withdrawn] == [
        (EDGE.id, "not reproduced", "the coin was lost")
    ]
    assert cli.main(["verify", "--from", "results", "--markdown"]) == 0
    printed = capsys.readouterr().out
    assert "changed since they were stated: of 2 claims 2 never" in printed
    assert "| not reproduced, version 1 | `mine/coins/edge`" in printed
    assert cli.main(["claims", "history", "edge"]) == 0
    history = capsys.readouterr().out
    assert [word in history for word in ("stated", "judged", "the coin was lost")] == [
        True
    ] * 3
    home.recipe = replace(RECIPE, claims=(CLEAR, NEVER))
    assert not actions.state()
    home.recipe = RECIPE  # a claim that is stated again gets a second version
    assert cli.main(["claims", "state"]) == 0
    assert "version 2, 8 seeds from block 2" in capsys.readouterr().out


def test_a_claim_that_is_stated_again_keeps_its_place(tmp_path) -> None:
    """Neither the claim nor its recipe moves, so that a board changes only where it must."""
    path = tmp_path / LEDGER
    judged = share("tosses", "heads") >= 0.9
    claims = [
        PAPER.stating(recipe, "nowhere")(name, "Heads.", judged)
        for recipe, name in (("a", "first"), ("a", "second"), ("b", "only"))
    ]
    about: dict[str, Any] = {"scale": "cpu", "seeds": 8}
    for claim, version in [*((claim, 1) for claim in claims), (claims[0], 2)]:
        line = Stated(
            date="2026-11-20",
            claim=claim,
            block=version,
            hash=f"h{version}",
            version=version,
            **about,
        )
        read_ledger(path).add(path, [line])
    shown = [claim.id for claim in read_board(tmp_path, "cpu").claims]
    assert shown == [claim.id for claim in claims]


def test_the_board_is_of_ledger_and_scores_alone(home, capsys) -> None:
    home.state()
    home.run()
    assert cli.main(["verify", "--into", "results", "--json"]) == 0
    captured = capsys.readouterr()
    assert "24 scores added" in captured.err
    there = json.loads(captured.out)["claims"]
    Path("runs").rename("elsewhere")
    assert cli.main(["verify", "--from", "results", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["claims"] == there
    board = actions.board()
    assert board.verdicts["verdict"].to_list() == [claim["verdict"] for claim in there]
    assert board.ledger.filter(pl.col("kind") == "judged").height == 3
    assert board.scores.height == 24


def test_verdicts_of_before_the_ledger_are_shown_as_such(home) -> None:
    path = Path("results/ledger.jsonl")
    old: dict[str, Any] = {
        "name": CLEAR.id,
        "scale": "cpu",
        "text": CLEAR.text,
        "target": "≥ 0.6",
    }
    ledger = read_ledger(path)
    ledger.add(
        path,
        [
            Earlier(
                date=day, version=v, verdict=verdict, commit="abc", measured=0.9, **old
            )
            for day, v, verdict in (
                ("2026-11-21", 1, "undecided"),
                ("2026-11-22", 2, "reproduced"),
            )
        ],
    )
    home.state()
    clear = home.board()["clear"]
    assert (clear.version, clear.verdict) == (3, "not judged")
    assert clear.why == "stated, and not run yet"
    assert clear.earlier == (
        "version 1: undecided, 2026-11-21",
        "version 2: reproduced, 2026-11-22",
    )


VALUES = {
    "typical": ([0.9] * 9 + [0.1], [0.1] * 9 + [0.9]),
    "reliable": ([0.9] * 20, [0.1] * 8),
    "mean": ([0.9, 0.6] * 8, [0.1, 0.4] * 8),
}


@pytest.mark.parametrize("rule", VALUES)
def test_the_smallest_error_of_a_verdict(rule) -> None:
    """With a slightly larger error the verdict is the same, with a smaller one there is none."""
    claim = state("a", "It works.", share("t", "x") >= 0.5, rule=rule)
    for values, verdict in zip(
        VALUES[rule], ("reproduced", "not reproduced"), strict=True
    ):
        numbers = Numbers({"": dict(enumerate(values))})
        alpha = least_alpha(claim, numbers, verdict == "reproduced")
        for error, expected in ((alpha * 1.001, verdict), (alpha * 0.999, "undecided")):
            assert decide(claim, numbers, alpha=error, minimum=1).verdict == expected


def test_verdicts_that_hold_together() -> None:
    claims = [_decided(p) for p in (0.001, 0.0249, 0.03, 0.2)]
    assert [claim.together for claim in holm(claims)] == [True, False, False, False]
    claims = [_decided(p) for p in (0.04, 0.001, 0.02)]
    assert [claim.together for claim in holm(claims)] == [True, True, True]


def _decided(p: float) -> ClaimResult:
    claim: Claim = state(
        "a", "It works.", number("t", "x") >= 0.5, source="identity-bridge"
    )
    numbers = Numbers({"": dict(enumerate([0.9] * 8))})
    found = decide(claim, numbers)
    return ClaimResult(
        **{name: getattr(found, name) for name in found.__struct_fields__}
        | {"p": p, "id": f"a/b/{p}"}
    )
