"""Verdicts and numbers of claims that a page gives in its own words are those of the board."""

import re
import tomllib
from pathlib import Path

import msgspec
import pytest

from inweights.actions.ledger.board import read_board
from inweights.experiments.claims.claim_result import ClaimResult

ROOT = Path(__file__).parents[2]
QUOTED = tomllib.loads(
    Path(__file__).with_name("quoted_claims.toml").read_text(encoding="utf-8")
)
CASES = [
    pytest.param(page, claim, said, id=f"{page}: {claim}")
    for page, claims in QUOTED.items()
    for claim, said in claims.items()
]


@pytest.fixture(scope="module")
def board() -> dict[str, ClaimResult]:
    return {c.id: c for c in read_board(ROOT / "results", "cpu").claims}


def agrees(said: str, claim: ClaimResult) -> bool:
    """Return whether a text such as ``0.80``, ``97%`` or ``29 of 32`` agrees with the board."""
    if seeds := re.fullmatch(r"(\d+) of (\d+)", said):
        return (int(seeds[1]), int(seeds[2])) == (claim.hits, claim.replicates)
    number = said.removesuffix("%").replace(",", "").replace("−", "-")
    _, _, decimals = number.partition(".")
    factor = 100 if said.endswith("%") else 1
    assert claim.measured is not None
    # The last digit of the page may be rounded either way.
    error = abs(claim.measured * factor - float(number))
    return error <= 0.5 * 10 ** -len(decimals) * (1 + 1e-9)


@pytest.mark.parametrize(("page", "claim", "said"), CASES)
def test_a_page_agrees_with_the_board(
    page: str, claim: str, said: list[str], board: dict[str, ClaimResult]
) -> None:
    assert claim in board, f"{page} mentions a claim that is not on the board"
    verdict, *numbers = said
    found = board[claim]
    now = f"{found.verdict}, {found.measured}, {found.hits} of {found.replicates} seeds"
    assert verdict == found.verdict, f"correct {page}: the board says {now}"
    for number in numbers:
        assert agrees(number, found), f"correct {page} ({number}): the board says {now}"


@pytest.mark.parametrize("page", QUOTED)
def test_the_numbers_are_on_the_page(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for claim, (_, *numbers) in QUOTED[page].items():
        for number in numbers:
            assert number in text, f"{page} no longer gives {number} for {claim}"


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("0.80", True),
        ("0.8", True),
        ("0.79", False),
        ("80%", True),
        ("81%", False),
        ("16 of 32", True),
        ("16 of 16", False),
    ],
)
def test_a_number_is_compared_with_the_digits_that_are_given(
    said: str, expected: bool, board: dict[str, ClaimResult]
) -> None:
    claim = msgspec.structs.replace(
        next(iter(board.values())), measured=0.798, hits=16, replicates=32
    )
    assert agrees(said, claim) == expected
