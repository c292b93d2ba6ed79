"""The ledger of claims: stated, judged, changed, judged again and withdrawn."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from msgspec import structs
from tests.coins import TOSSED, Settings
from tests.recipes.ledger_home import (
    CLEAR,
    EDGE,
    NEVER,
    RECIPE,
    git,
    heads,
    state,
)

from inweights import actions
from inweights.actions.ledger.hashes import hashes
from inweights.actions.ledger.ledger import Entry, read_ledger
from inweights.actions.ledger.lines import (
    BLOCK,
    Corrected,
    JudgedLine,
    Reworded,
    RuleChange,
    Stated,
)
from inweights.actions.ledger.scores import add_scores, read_scores
from inweights.actions.ledger.stating import on_its_block, stands
from inweights.errors import ConfigError, DataError


def times(tables: dict[str, pl.DataFrame], factor: int) -> dict[str, pl.DataFrame]:
    return {"more": tables["tosses"].with_columns(pl.col("heads") * factor)}


def doubled(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    return times(tables, 2)


def doubled_again(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """The same as before."""
    # in other words
    return times(tables, 2)


def tripled(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    return times(tables, 3)


def test_stated_run_and_judged(home) -> None:
    lines = home.state()
    assert [(type(one), one.version, one.block) for one in lines] == [
        (Stated, 1, 1)
    ] * 3
    assert not actions.state()
    ran = home.run()
    assert actions.record() == 3 * 8
    board = home.board()
    assert [board[name].verdict for name in ("clear", "never", "edge")] == [
        "reproduced",
        "not judged",
        "not reproduced",
    ]
    # A share of 3/4 requires this number of seeds, all of which must be right.
    assert board["never"].needed == 16
    for name, claim in board.items():
        same = (
            "verdict",
            "measured",
            "low",
            "high",
            "hits",
            "level",
            "replicates",
            "needed",
        )
        assert [getattr(claim, f) for f in same] == [
            getattr(ran[name], f) for f in same
        ]
    assert board["clear"].level == 0.975
    scores = read_scores(Path("results"))
    assert scores["seed"].unique().sort().to_list() == list(range(BLOCK, BLOCK + 8))
    assert actions.record() == 0  # everything is stored
    judged = [one for one in read_ledger(Path("results/ledger.jsonl")).lines if one.key]
    assert sum(isinstance(one, JudgedLine) for one in judged) == 3
    # Seeds are added, on this machine or another; existing ones are not replaced.
    # Without a number of seeds, as many are run as every verdict needs.
    assert home.run(seeds=None)["never"].verdict == "reproduced"
    assert actions.record() == 3 * 8
    assert home.board()["never"].verdict == "reproduced"
    assert (
        read_scores(Path("results"))
        .filter(pl.col("seed") < BLOCK + 8)
        .sort("claim", "seed")
        .equals(scores.sort("claim", "seed"))
    )


def test_seeds_are_added_where_the_earlier_ones_never_ran(home) -> None:
    home.state()
    home.run()
    actions.record()
    git("add", "results")
    git("commit", "-q", "-m", "judged")
    decided = home.board()["edge"]
    TOSSED.clear()
    (done,) = actions.settle(runs="elsewhere", results="results")
    assert (done.before, done.left, done.why) == ((NEVER.id,), (), "")
    # One seed shows on what the claim depends: the biased coin, which gets seven more
    # seeds.
    assert TOSSED == {"false": 8, "fair": 1}
    assert actions.record(runs="elsewhere") == 8
    board = home.board()
    assert board["never"] == done.outcome.claims[0]
    assert board["never"].verdict == home.run(seeds=16)["never"].verdict == "reproduced"
    assert board["never"].replicates == 16
    assert board["edge"] == decided
    assert not list(actions.settle(runs="elsewhere", results="results"))


def test_new_seeds_that_do_not_count_are_not_added_for_ever(home, monkeypatch) -> None:
    home.state()
    home.run()
    actions.record()
    changed = {"inweights": {"commit": git("rev-parse", "HEAD"), "clean": False}}
    monkeypatch.setattr(
        "inweights.experiments.engine.engine.repositories", lambda: changed
    )
    with pytest.warns(UserWarning, match="changes that were not committed"):
        (done,) = actions.settle(runs="elsewhere", results="results")
    assert (done.left, done.why) == (
        (NEVER.id,),
        "the new seeds are not counted in the results",
    )


def test_what_changes_is_a_new_version_on_fresh_seeds(home) -> None:
    home.state()
    home.run()
    actions.record()
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
    actions.record()
    clear = home.board()["clear"]
    assert (clear.verdict, clear.version) == ("reproduced", 2)
    assert len(clear.earlier) == 1
    assert clear.earlier[0].startswith("version 1: reproduced")
    of_clear = read_scores(Path("results")).filter(pl.col("claim") == clear.id)
    assert of_clear.group_by("version").agg(pl.col("seed").min()).sort(
        "version"
    ).rows() == [
        (1, BLOCK),
        (2, 2 * BLOCK),
    ]
    # Unchanged claims are judged on their own block, also if a run is on another block.
    assert home.board()["edge"].replicates == 8


def test_all_that_is_not_judged_may_be_stated_anew(home) -> None:
    """On a fresh block; the version stays only if the claim itself is the same."""
    home.state()
    moved = state("edge", EDGE.text, heads.at(coin="fair") >= 0.8)
    home.recipe = replace(RECIPE, version=2, claims=(CLEAR, NEVER, moved))
    with pytest.raises(ConfigError, match="states the claims of all recipes"):
        actions.state(only="mine", anew="new rounding")
    first, *lines = actions.state(anew="new rounding")
    assert isinstance(first, RuleChange)
    assert [(one.version, one.block) for one in lines] == [(1, 2), (1, 2), (2, 2)]
    git("add", "results")
    git("commit", "-q", "-m", "stated anew")
    home.run()
    actions.record()
    home.recipe = replace(home.recipe, version=3)
    first, *lines = actions.state(anew="again")
    versions = {one.claim.id.rpartition("/")[2]: one.version for one in lines}
    # Each of the claims has been judged.
    assert versions == {
        "clear": 2,
        "never": 2,
        "edge": 3,
    }


@pytest.mark.parametrize(
    "change",
    [
        {"version": 2},
        {"seeds": {"cpu": 16}},
        {"scales": {"cpu": Settings(tosses=21)}},
        {"claims": (state("clear", CLEAR.text, heads.at(coin="fair") >= 0.5),)},
        {"claims": (state("clear", CLEAR.text, heads.at(coin="false") >= 0.4),)},
        {
            "claims": (
                state("clear", CLEAR.text, heads.at(coin="false") >= 0.5, rule="mean"),
            )
        },
    ],
)
def test_a_hash_is_of_all_that_moves_a_verdict(change, monkeypatch) -> None:
    before = hashes(RECIPE, "cpu")[CLEAR.id]
    assert hashes(replace(RECIPE, **change), "cpu")[CLEAR.id] != before
    words = state(
        "clear", "Other words.", heads.at(coin="false") >= 0.5, published="0.9"
    )
    assert hashes(replace(RECIPE, claims=(words,)), "cpu")[CLEAR.id] == before


def test_other_code_of_a_derived_table_is_a_new_version(home) -> None:
    """This applies to claims stated with a hash of their code; older ones stay valid."""
    home.recipe = replace(RECIPE, derive=doubled)
    assert [bool(one.code) for one in home.state()] == [True] * 3
    # A different name, and a longer comment.
    home.recipe = replace(RECIPE, derive=doubled_again)
    assert not home.state()
    home.recipe = replace(RECIPE, derive=tripled)
    assert [(one.version, one.block) for one in home.state()] == [(2, 2)] * 3
    stated = Stated(
        date="2026-11-20",
        claim=CLEAR,
        scale="cpu",
        version=1,
        seeds=8,
        block=1,
        hash="h",
    )
    assert stands(Entry(stated=stated, claim=CLEAR), CLEAR, "h", lambda: "other")


@pytest.mark.parametrize(
    "change",
    [
        {"source": "other"},
        {"check": True},
        {"protocol": "substitute"},
        {"close": (0.8, 1.0)},
    ],
)
def test_what_a_verdict_counts_for_is_a_new_version(home, change) -> None:
    """A different model or size makes a new version and is not a rewording."""
    home.state()
    home.recipe = replace(
        RECIPE, claims=(structs.replace(CLEAR, **change), NEVER, EDGE)
    )
    assert home.run()["clear"].why.startswith(
        "not stated in the ledger before this run"
    )
    assert [(one.claim.id, one.version, one.block) for one in home.state()] == [
        (CLEAR.id, 2, 2)
    ]


@pytest.mark.parametrize(
    ("computed", "stated", "corrected", "kind"),
    [
        ("substitute", "exact", "substitute", Corrected),
        ("scaled", "exact", "substitute", Stated),  # not the computed protocol
        ("exact", "substitute", "exact", Stated),  # closer to the paper
    ],
)
def test_a_protocol_that_was_stated_too_near_is_corrected(
    home, monkeypatch, computed, stated, corrected, kind
) -> None:
    """The seeds stay, and the verdict is named according to the computed protocol."""
    monkeypatch.setattr(
        "inweights.actions.ledger.stating.computed_protocols",
        lambda recipe, _scale: {one.id: computed for one in recipe.claims},
    )
    one = structs.replace(CLEAR, protocol=stated)
    home.recipe = replace(RECIPE, claims=(one, NEVER, EDGE))
    home.state()
    home.run()
    actions.record()
    before = home.board()["clear"]
    other = structs.replace(one, protocol=corrected)
    home.recipe = replace(RECIPE, claims=(other, NEVER, EDGE))
    (line,) = home.state()
    assert isinstance(line, kind)
    now = home.board()["clear"]
    if kind is Stated:
        assert (line.version, line.block) == (2, 2)
        assert now.verdict == "not judged"
        return
    assert (line.version, line.before) == (1, stated)
    assert (before.verdict, now.verdict) == ("reproduced", "consistent")
    assert now.measured == before.measured
    assert now.earlier[-1].startswith("stated as = exact, corrected on ")
    assert actions.record() == 0
    assert not home.state()
    assert home.run()["clear"].verdict == "consistent"
    assert read_ledger(Path("results/ledger.jsonl")).lines[-1] == line, (
        "nothing is judged anew"
    )


def test_a_printed_number_is_part_of_a_claim_and_its_spread_is_not(home) -> None:
    home.state()
    for published, version in (("0.9", 2), ("0.9 ± 0.1", 2), ("0.8 ± 0.1", 3)):
        home.recipe = replace(
            RECIPE, claims=(structs.replace(CLEAR, published=published), NEVER, EDGE)
        )
        home.state()
        assert home.board()["clear"].version == version


def test_a_run_of_before_the_statement_does_not_count(home) -> None:
    git("commit", "-q", "--allow-empty", "-m", "nothing yet")
    actions.state()  # and it is not committed
    ran = home.run(seeds=range(BLOCK, BLOCK + 8))
    assert (
        ran["clear"].verdict == "reproduced"
    )  # a replication, judged separately at 95%
    git("add", "results")
    git("commit", "-q", "-m", "stated")
    with pytest.warns(UserWarning, match=r"left out: the commit .* has no ledger here"):
        assert actions.record() == 0
    assert home.board()["clear"].verdict == "not judged"


def test_a_claim_that_the_ledger_does_not_hold_is_not_judged(home) -> None:
    home.state()
    home.recipe = replace(RECIPE, version=2, claims=(CLEAR, EDGE))
    assert {claim.why.partition(";")[0] for claim in home.run().values()} == {
        "not stated in the ledger before this run"
    }
    assert actions.record() == 0
    with pytest.raises(ConfigError, match="no longer a claim of"):
        actions.state()


def test_no_seed_is_left_out_and_none_is_tried_twice(home) -> None:
    home.state()
    home.run()
    actions.record()
    row = {"claim": CLEAR.id, "scale": "cpu", "version": 1, "case": "", "why": None}
    row |= {"environment": "", "number": 0.0}
    assert add_scores(Path("results"), [{**row, "seed": BLOCK}]) == 0
    for seed in (BLOCK + 9, 100):  # after a gap, and not of a block
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
        with pytest.raises(DataError, match="lines may only be appended to a ledger"):
            read_ledger(path)
    path.write_text("\n".join([*lines, "{}"]))
    with pytest.raises(DataError, match="line 4: not a line of a ledger"):
        read_ledger(path)
    path.write_text("\n".join(lines) + "\n")
    ledger = read_ledger(path)
    ledger.add(path, [RuleChange(date="2026-11-24", says="all by the median")])
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(DataError, match="changed while it was used"):
        ledger.add(path, [RuleChange(date="2026-11-24", says="and again")])


def test_a_recipe_that_no_ledger_knows_is_run_as_it_is(home) -> None:
    other = replace(RECIPE, name="mine/others", claims=())
    home.state()
    ledger = read_ledger(Path("results/ledger.jsonl"))
    assert on_its_block(other, "cpu", ledger) is other
    assert on_its_block(RECIPE, "cpu", ledger).first_seed == BLOCK
    assert on_its_block(RECIPE, "paper", ledger) is RECIPE
