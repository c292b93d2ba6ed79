"""The ledger: stated, run, judged; changed, and judged anew; withdrawn. Nothing is forgotten."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from inweights import laboratory
from inweights.cli import entry as cli
from inweights.cli.console.claims import counts
from inweights.config import Config
from inweights.errors import ConfigError, DataError
from inweights.lab import Computation, Paper, Plan, number, share
from inweights.lab.grammar.claim import Claim
from inweights.lab.grammar.numbers import Numbers
from inweights.lab.grammar.verdict import ClaimResult, decide
from inweights.laboratory import finished, results
from inweights.laboratory.ledger.board import holm, least_alpha
from inweights.laboratory.ledger.lines import (
    BLOCK,
    Earlier,
    JudgedLine,
    Reworded,
    RuleChange,
    Stated,
    read_ledger,
)
from inweights.laboratory.ledger.scores import add_scores, read_scores
from inweights.laboratory.ledger.stating import hashes, on_its_block
from inweights.seeds import Streams

PAPER = Paper("mine", "My lab", claims_of="ours")
state = PAPER.stating("coins", "nowhere")
COINS = {"fair": 0.5, "false": 0.95}


class Settings(Config):
    tosses: int = 20


def tossed(seed: int, coin: str, tosses: int) -> pl.DataFrame:
    draw = Streams(seed).numpy(coin).binomial(tosses, COINS[coin]) / tosses
    return pl.DataFrame({"heads": [draw]})


def of_coins(settings: Settings) -> Plan:
    return Plan(
        computations=[
            Computation(
                name="tosses",
                labels={"coin": coin},
                compute=tossed,
                options={"coin": coin, "tosses": settings.tosses},
                seeded=True,
            )
            for coin in COINS
        ]
    )


heads = share("tosses", "heads")
CLEAR_SCORE = heads.at(coin="false") >= 0.5
CLEAR = state("clear", "The false coin falls on its head.", CLEAR_SCORE)
NEVER = state("never", "It never shows tails.", heads.at(coin="false") >= 0.6, rule="reliable")
EDGE = state("edge", "The fair coin does, too.", heads.at(coin="fair") >= 0.9)
RECIPE = PAPER.recipe(
    "coins",
    title="Two coins",
    place="nowhere",
    summary="Tosses coins.",
    scales={"cpu": Settings()},
    seeds={"cpu": 8},
    plan=of_coins,
    claims=(CLEAR, NEVER, EDGE),
)


def git(*words: str) -> str:
    who = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    done = subprocess.run(["git", *who, *words], capture_output=True, text=True, check=True)
    return done.stdout.strip()


class Home:
    """A repository with a ledger, and coins as the library's only recipe."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.recipe = RECIPE
        self.commit: str | None = None
        for module in (finished, results):
            monkeypatch.setattr(module, "get_recipe", lambda _name: self.recipe)
            monkeypatch.setattr(module, "recipes_like", lambda _part: (RECIPE.name,))
        monkeypatch.setattr(finished, "recipe_names", lambda: (RECIPE.name,))
        monkeypatch.setattr(
            "inweights.lab.engine.engine.repositories",
            lambda: {"inweights": {"commit": git("rev-parse", "HEAD"), "clean": True}},
        )

    def state(self) -> list[Any]:
        lines = laboratory.state()
        git("add", "results")
        git("commit", "-q", "--allow-empty", "-m", "stated")
        return lines

    def run(self, seeds: int | None = 8, **options) -> dict[str, ClaimResult]:
        outcome = laboratory.run(self.recipe, seeds=seeds, **options)
        return {claim.id.rpartition("/")[2]: claim for claim in outcome.claims}

    def board(self) -> dict[str, ClaimResult]:
        return {c.id.rpartition("/")[2]: c for c in laboratory.board().claims}


@pytest.fixture
def home(tmp_path, monkeypatch) -> Home:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("INWEIGHTS_RESULTS")
    git("init", "-q")
    return Home(monkeypatch)


def test_stated_run_and_judged(home) -> None:
    lines = home.state()
    assert [(type(one), one.version, one.block) for one in lines] == [(Stated, 1, 1)] * 3
    assert not laboratory.state()
    ran = home.run()
    assert laboratory.record() == 3 * 8
    board = home.board()
    assert [board[name].verdict for name in ("clear", "never", "edge")] == [
        "reproduced",
        "not judged",
        "not reproduced",
    ]
    assert board["never"].needed == 16  # a share of 3/4 takes so many seeds, all of them right
    for name, claim in board.items():
        same = ("verdict", "measured", "low", "high", "hits", "level", "replicates", "needed")
        assert [getattr(claim, f) for f in same] == [getattr(ran[name], f) for f in same]
    assert board["clear"].level == 0.975
    scores = read_scores(Path("results"))
    assert scores["seed"].unique().sort().to_list() == list(range(BLOCK, BLOCK + 8))
    assert laboratory.record() == 0  # all of it is there
    judged = [one for one in read_ledger(Path("results/ledger.jsonl")).lines if one.key]
    assert sum(isinstance(one, JudgedLine) for one in judged) == 3
    # Seeds are added, on this machine or another; those that are there stay.
    # Who says nothing of seeds gets as many as every verdict takes.
    assert home.run(seeds=None)["never"].verdict == "reproduced"
    assert laboratory.record() == 3 * 8
    assert home.board()["never"].verdict == "reproduced"
    assert (
        read_scores(Path("results"))
        .filter(pl.col("seed") < BLOCK + 8)
        .sort("claim", "seed")
        .equals(scores.sort("claim", "seed"))
    )


def test_what_changes_is_a_new_version_on_fresh_seeds(home) -> None:
    home.state()
    home.run()
    laboratory.record()
    moved = state("clear", CLEAR.text, heads.at(coin="false") >= 0.7)
    said = state("edge", "A fair coin is no false one.", heads.at(coin="fair") >= 0.9)
    home.recipe = replace(RECIPE, claims=(moved, NEVER, said))
    lines = home.state()
    first, second = lines
    assert (first.claim.id, first.version, first.block) == ("mine/coins/clear", 2, 2)
    assert isinstance(second, Reworded)
    assert second.before == EDGE.text
    assert home.board()["clear"].why == "stated, and not run yet"
    assert home.board()["edge"].text == said.text
    ran = home.run()
    assert ran["clear"].level == pytest.approx(1 - 0.05 / 6)
    laboratory.record()
    clear = home.board()["clear"]
    assert (clear.verdict, clear.version) == ("reproduced", 2)
    assert len(clear.earlier) == 1
    assert clear.earlier[0].startswith("version 1: reproduced")
    of_clear = read_scores(Path("results")).filter(pl.col("claim") == clear.id)
    assert of_clear.group_by("version").agg(pl.col("seed").min()).sort("version").rows() == [
        (1, BLOCK),
        (2, 2 * BLOCK),
    ]
    # The claims that stayed are judged on their own block, also where a run is on another.
    assert home.board()["edge"].replicates == 8


def test_all_that_is_not_judged_may_be_stated_anew(home) -> None:
    """On a fresh block, and as the same version only where what is judged is the same."""
    home.state()
    moved = state("edge", EDGE.text, heads.at(coin="fair") >= 0.8)
    home.recipe = replace(RECIPE, version=2, claims=(CLEAR, NEVER, moved))
    with pytest.raises(ConfigError, match="cannot be asked of some recipes"):
        laboratory.state(only="mine", anew="new rounding")
    first, *lines = laboratory.state(anew="new rounding")
    assert isinstance(first, RuleChange)
    assert [(one.version, one.block) for one in lines] == [(1, 2), (1, 2), (2, 2)]
    git("add", "results")
    git("commit", "-q", "-m", "stated anew")
    home.run()
    laboratory.record()
    home.recipe = replace(home.recipe, version=3)
    first, *lines = laboratory.state(anew="again")
    versions = {one.claim.id.rpartition("/")[2]: one.version for one in lines}
    assert versions == {"clear": 2, "never": 2, "edge": 3}  # each of them has been judged


@pytest.mark.parametrize(
    "change",
    [
        {"version": 2},
        {"seeds": {"cpu": 16}},
        {"scales": {"cpu": Settings(tosses=21)}},
        {"claims": (state("clear", CLEAR.text, heads.at(coin="fair") >= 0.5),)},
        {"claims": (state("clear", CLEAR.text, heads.at(coin="false") >= 0.4),)},
        {"claims": (state("clear", CLEAR.text, heads.at(coin="false") >= 0.5, rule="mean"),)},
    ],
)
def test_a_hash_is_of_all_that_moves_a_verdict(change, monkeypatch) -> None:
    before = hashes(RECIPE, "cpu")[CLEAR.id]
    assert hashes(replace(RECIPE, **change), "cpu")[CLEAR.id] != before
    words = state("clear", "Other words.", heads.at(coin="false") >= 0.5, published="0.9")
    assert hashes(replace(RECIPE, claims=(words,)), "cpu")[CLEAR.id] == before


def test_the_size_of_an_effect_is_a_verdict_of_its_own(home) -> None:
    """Beside a printed number: on the board, in the ledger, and counted."""
    claims = [
        state("clear", CLEAR.text, CLEAR_SCORE, published=printed, source="someone")
        for printed in ("0.95", "0.2")
    ]
    sizes: list[str] = []
    for claim in claims:
        home.recipe = replace(RECIPE, claims=(claim, NEVER, EDGE))
        home.state()
        if not sizes:
            home.run()
        laboratory.record()
        line = read_ledger(Path("results/ledger.jsonl")).entry(claim.id, "cpu").judged_anew
        assert line
        sizes.append(line.size)
        assert f"1 {sizes[-1]}" in counts(laboratory.board().claims)[-1]
    assert sizes == ["close", "not close"]


def test_a_run_of_before_the_statement_does_not_count(home) -> None:
    git("commit", "-q", "--allow-empty", "-m", "nothing yet")
    laboratory.state()  # and not committed
    ran = home.run(seeds=range(BLOCK, BLOCK + 8))
    assert ran["clear"].verdict == "reproduced"  # a replication: by itself, at 95%
    git("add", "results")
    git("commit", "-q", "-m", "stated")
    with pytest.warns(UserWarning, match=r"left out: the commit .* has no ledger here"):
        assert laboratory.record() == 0
    assert home.board()["clear"].verdict == "not judged"


def test_a_claim_that_the_ledger_does_not_hold_is_not_judged(home) -> None:
    home.state()
    home.recipe = replace(RECIPE, version=2, claims=(CLEAR, EDGE))
    assert {claim.why.partition(";")[0] for claim in home.run().values()} == {
        "not stated in the ledger before this run"
    }
    assert laboratory.record() == 0
    with pytest.raises(ConfigError, match="states it no longer"):
        laboratory.state()


def test_a_withdrawn_claim_stays_on_the_board(home, capsys) -> None:
    home.state()
    home.run()
    laboratory.record()
    with pytest.raises(ConfigError, match="--why"):
        laboratory.withdraw(EDGE.id, "")
    with pytest.raises(ConfigError, match="did you mean 'mine/coins/edge'"):
        laboratory.withdraw("mine/coins/edgy", "a slip")
    laboratory.withdraw(EDGE.id, "the coin was lost")
    board = laboratory.board()
    assert EDGE.id not in {claim.id for claim in board.claims}
    assert [(one.name, one.verdict, one.why) for one in board.withdrawn] == [
        (EDGE.id, "not reproduced", "the coin was lost")
    ]
    assert cli.main(["verify", "--from", "results", "--markdown"]) == 0
    printed = capsys.readouterr().out
    assert "2 of 2 claims stand as they were first stated" in printed
    assert "| not reproduced, version 1 | `mine/coins/edge`" in printed
    assert cli.main(["claims", "history", "edge"]) == 0
    history = capsys.readouterr().out
    assert [word in history for word in ("stated", "judged", "the coin was lost")] == [True] * 3
    home.recipe = replace(RECIPE, claims=(CLEAR, NEVER))
    assert not laboratory.state()
    home.recipe = RECIPE  # and whoever states it again has a second version
    assert cli.main(["claims", "state"]) == 0
    assert "version 2, 8 seeds from block 2" in capsys.readouterr().out


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
    board = laboratory.board()
    assert board.verdicts["verdict"].to_list() == [claim["verdict"] for claim in there]
    assert board.ledger.filter(pl.col("kind") == "judged").height == 3
    assert board.scores.height == 24


def test_no_seed_is_left_out_and_none_is_tried_twice(home) -> None:
    home.state()
    home.run()
    laboratory.record()
    row = {"claim": CLEAR.id, "scale": "cpu", "version": 1, "case": "", "why": None}
    row |= {"environment": "", "number": 0.0}
    assert add_scores(Path("results"), [{**row, "seed": BLOCK}]) == 0
    for seed in (BLOCK + 9, 100):  # after a gap, and of no block
        assert add_scores(Path("results"), [{**row, "seed": seed}]) == 1
        assert home.board()["clear"].replicates == 8
    add_scores(Path("results"), [{**row, "seed": BLOCK + 8}])  # which closes the gap
    assert home.board()["clear"].replicates == 10


def test_a_changed_line_is_noticed(home) -> None:
    home.state()
    path = Path("results/ledger.jsonl")
    lines = path.read_text().splitlines()
    for broken in (
        [lines[0].replace("0.5", "0.4"), *lines[1:]],
        [lines[0], lines[2]],
        [*lines, lines[-1]],
    ):
        path.write_text("\n".join(broken) + "\n")
        with pytest.raises(DataError, match="a ledger is only added to"):
            read_ledger(path)
    path.write_text("\n".join([*lines, "{}"]))
    with pytest.raises(DataError, match="line 4: no line of a ledger"):
        read_ledger(path)
    path.write_text("\n".join(lines) + "\n")
    ledger = read_ledger(path)
    ledger.add(path, [RuleChange(date="2026-11-24", says="all by the median")])
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(DataError, match="changed while it was used"):
        ledger.add(path, [RuleChange(date="2026-11-24", says="and again")])


def test_verdicts_of_before_the_ledger_are_shown_as_such(home) -> None:
    path = Path("results/ledger.jsonl")
    old: dict[str, Any] = {"name": CLEAR.id, "scale": "cpu", "text": CLEAR.text, "target": "≥ 0.6"}
    ledger = read_ledger(path)
    ledger.add(
        path,
        [
            Earlier(date=day, version=v, verdict=verdict, commit="abc", measured=0.9, **old)
            for day, v, verdict in (("2026-11-21", 1, "undecided"), ("2026-11-22", 2, "reproduced"))
        ],
    )
    home.state()
    clear = home.board()["clear"]
    assert (clear.version, clear.verdict) == (3, "not judged")
    assert clear.why == "judged earlier by the mean's interval: reproduced, 0.9 (2026-11-22)"
    assert clear.earlier == (
        "version 1: undecided, 2026-11-21",
        "version 2: reproduced, 2026-11-22",
    )


def test_a_recipe_that_no_ledger_knows_is_run_as_it_is(home) -> None:
    other = replace(RECIPE, name="mine/others", claims=())
    home.state()
    ledger = read_ledger(Path("results/ledger.jsonl"))
    assert on_its_block(other, "cpu", ledger) is other
    assert on_its_block(RECIPE, "cpu", ledger).first_seed == BLOCK
    assert on_its_block(RECIPE, "paper", ledger) is RECIPE


VALUES = {
    "typical": ([0.9] * 9 + [0.1], [0.1] * 9 + [0.9]),
    "reliable": ([0.9] * 20, [0.1] * 8),
    "mean": ([0.9, 0.6] * 8, [0.1, 0.4] * 8),
}


@pytest.mark.parametrize("rule", VALUES)
def test_the_smallest_error_of_a_verdict(rule) -> None:
    """With a little more the verdict is the same, and with a little less there is none."""
    claim = state("a", "It works.", share("t", "x") >= 0.5, rule=rule)
    for values, verdict in zip(VALUES[rule], ("reproduced", "not reproduced"), strict=True):
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
    claim: Claim = state("a", "It works.", number("t", "x") >= 0.5, source="identity-bridge")
    numbers = Numbers({"": dict(enumerate([0.9] * 8))})
    found = decide(claim, numbers)
    return ClaimResult(
        **{name: getattr(found, name) for name in found.__struct_fields__}
        | {"p": p, "id": f"a/b/{p}"}
    )
