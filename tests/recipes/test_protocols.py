"""Each claim of a paper has a quote, a published number and a protocol."""

from __future__ import annotations

import math
from itertools import combinations

import pytest

from inweights.experiments import Stating, share
from inweights.experiments.claims.claim import NO_TEXT, NO_WORDS, Claim
from inweights.recipes import get_recipe, recipe_names

HITS = share("answers", "hit")
CLAIMS = [
    claim
    for name in recipe_names()
    for claim in get_recipe(name).claims
    if not claim.ours
]


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_a_claim_of_a_paper_says_what_it_is_compared_with(claim: Claim) -> None:
    assert claim.quote, "quote the paper's own words"
    assert len(claim.quote.split()) <= 25, "shorter, please"
    assert claim.published, (
        "the number or relation, 'none printed', or 'lost in the text at hand'"
    )
    assert claim.protocol, "protocol = exact, scaled or substitute"


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_a_quote_is_no_fragment(claim: Claim) -> None:
    """A quote has several words; otherwise the claim names a formula or a figure."""
    if claim.quote not in (NO_WORDS, NO_TEXT):
        assert len(words_of(claim.quote)) >= 5, f"'{claim.quote}': quote the sentence"


def words_of(quote: str) -> list[str]:
    """Return the words of a quote, without the marks of omissions."""
    return [word for word in quote.split() if word != "[…]"]


def test_what_is_left_out_of_a_quote_is_no_word() -> None:
    assert words_of("For any […] with […]") == ["For", "any", "with"]


def contradict(one: Claim, other: Claim) -> bool:
    """Return whether two claims about one score cannot both hold."""
    if one.score != other.score:
        return False
    first, second = one.target, other.target
    low = max(
        -math.inf if edge is None else edge for edge in (first.least, second.least)
    )
    high = min(math.inf if edge is None else edge for edge in (first.most, second.most))
    return low > high


def test_claims_that_cannot_both_hold_contradict() -> None:
    state = Stating("toy/one", "toy", "Fig. 1")
    low = state("low", "It fails.", HITS <= 0.2)
    assert contradict(low, state("high", "It succeeds.", HITS >= 0.5))
    assert not contradict(low, state("lower", "It fails.", HITS <= 0.1))
    assert not contradict(low, state("other", "a succeeds.", HITS.at(model="a") >= 0.5))


def test_no_sentence_is_quoted_for_claims_that_contradict_each_other() -> None:
    quoted: dict[tuple[str, str, str], list[Claim]] = {}
    for one in CLAIMS:
        if one.quote not in (NO_WORDS, NO_TEXT):
            recipe = one.id.rpartition("/")[0]
            quoted.setdefault((one.source, recipe, one.quote), []).append(one)
    for claims in quoted.values():
        for first, second in combinations(claims, 2):
            assert not contradict(first, second), (
                f"{first.id} and {second.id} have one quote"
            )


def test_there_are_claims() -> None:
    assert len(CLAIMS) > 400
