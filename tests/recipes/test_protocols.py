"""What was compared with what: each claim of a paper has its words, its number and the protocol."""

from __future__ import annotations

import pytest

from inweights.experiments.claims.claim import Claim
from inweights.recipes import get_recipe, recipe_names

CLAIMS = [claim for name in recipe_names() for claim in get_recipe(name).claims if not claim.ours]


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_a_claim_of_a_paper_says_what_it_is_compared_with(claim: Claim) -> None:
    assert claim.quote, "quote the paper's own words"
    assert len(claim.quote.split()) <= 25, "shorter, please"
    assert claim.published, "the number or relation, 'none printed', or 'lost in the text at hand'"
    assert claim.protocol, "protocol = exact, scaled or substitute"


def test_there_are_claims() -> None:
    assert len(CLAIMS) > 400
