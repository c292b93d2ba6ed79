"""The files in ``results/``: the ledger, the scores, and the board computed from both."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import polars as pl
import pytest

from inweights.actions.ledger.board import Board, called_now, read_board
from inweights.actions.ledger.hashes import code_hash, hashes
from inweights.actions.ledger.ledger import Ledger, read_ledger
from inweights.actions.ledger.lines import BLOCK, LEDGER, JudgedLine, Stated
from inweights.actions.ledger.results import history
from inweights.actions.ledger.scores import read_scores
from inweights.actions.ledger.stating import stands
from inweights.cli import console
from inweights.errors import ConfigError, DataError
from inweights.recipes import get_recipe, recipe_names

RESULTS = Path(__file__).parents[2] / "results"


@pytest.fixture(scope="module")
def ledger() -> Ledger:
    return read_ledger(RESULTS / LEDGER)  # this checks the chain of hashes


@pytest.fixture(scope="module")
def board() -> Board:
    return read_board(RESULTS, "cpu")


@pytest.mark.parametrize("name", recipe_names())
def test_claims_are_stated_as_they_are(name: str, ledger: Ledger) -> None:
    """A changed claim is restated in the same commit, before its results are known."""
    recipe = get_recipe(name)
    try:
        now = hashes(recipe, "cpu")
    except DataError as error:
        pytest.skip(f"cannot be planned without its model: {error}")
    for claim in recipe.claims:
        entry = ledger.entry(claim.id, "cpu")
        assert entry.stated, "inweights claims state"
        code = partial(code_hash, recipe)
        assert stands(entry, claim, now[claim.id], code), (
            "inweights claims state: a new version"
        )
        assert entry.claim == claim, "inweights claims state: other words"


def test_every_claim_of_the_ledger_is_a_recipes_or_withdrawn(ledger: Ledger) -> None:
    known = {claim.id for name in recipe_names() for claim in get_recipe(name).claims}
    standing = {name for name, entry in ledger.of_scale("cpu") if not entry.withdrawn}
    assert standing == known, "inweights claims withdraw"


def test_versions_and_blocks_are_in_order(ledger: Ledger) -> None:
    """Each version has fresh seeds, and the versions of a claim are consecutive."""
    last: dict[str, int] = {}
    block = 0
    for line in ledger.lines:
        if isinstance(line, Stated):
            assert line.block >= block
            block = line.block
        if version := getattr(line, "version", 0):
            assert version in (last.get(line.key, 0), last.get(line.key, 0) + 1), (
                line.key
            )
            last[line.key] = version


def test_every_score_and_verdict_has_its_line(ledger: Ledger, board: Board) -> None:
    stated = {
        (line.claim.id, line.scale, line.version): line
        for line in ledger.lines
        if isinstance(line, Stated)
    }
    scores = read_scores(RESULTS)
    for key, rows in scores.group_by("claim", "scale", "version"):
        first = stated[key].block * BLOCK
        assert rows["seed"].is_between(first, first + BLOCK - 1).all(), key
    for claim in board.claims:
        assert (claim.id, "cpu", claim.version) in stated
        judged = ledger.entry(claim.id, "cpu").judged_anew
        if claim.replicates:
            assert judged, f"{claim.id}: make board"
            verdict = called_now(judged.verdict, claim)
            assert (verdict, judged.seeds) == (claim.verdict, claim.replicates)
    judged_keys = {
        (line.name, line.scale, line.version)
        for line in ledger.lines
        if isinstance(line, JudgedLine)
    }
    assert judged_keys <= set(stated)
    scored = set(scores.select("claim", "scale", "version").unique().rows())
    assert judged_keys <= scored
    # A score that is NaN in some case gives no verdict and therefore no line.
    verdicts = {
        (claim.id, "cpu", claim.version): claim.verdict for claim in board.claims
    }
    assert {verdicts[key] for key in scored - judged_keys} <= {"not judged"}


def test_the_board_in_the_docs_is_that_of_the_results(board: Board, capsys) -> None:
    console.ledger.markdown(board.claims, "cpu", board)
    page = RESULTS.parent / "docs" / "board.md"
    assert page.read_text(encoding="utf-8") == capsys.readouterr().out, "make board"


def test_no_mean_without_a_width_decides(board: Board) -> None:
    """Only the interval of a median may have width 0, if most seeds are equal."""
    assert not [
        c.id for c in board.claims if c.rule == "mean" and c.low == c.high is not None
    ]
    assert all(c.replicates >= 8 for c in board.claims if c.met and c.p is not None)


def test_scores_are_those_of_the_schema() -> None:
    assert read_scores(RESULTS).schema["number"] == pl.Float64


def test_the_last_part_of_a_claim_names_it_where_one_has_it() -> None:
    assert history("drowned-are-memorised", results=RESULTS)
    several = "identity-bridge/fig2/non-zero-gpt-small, identity-bridge/fig2-every/non"
    with pytest.raises(
        ConfigError, match=f"of 2 claims end in .* choose one: {several}"
    ):
        history("non-zero-gpt-small", results=RESULTS)
    with pytest.raises(ConfigError, match="did you mean 'identity-bridge/fig2"):
        history("non-zero-gtp-small", results=RESULTS)
