"""A sentence of a paper that several claims quote is counted once."""

from __future__ import annotations

from collections.abc import Iterable

from inweights.actions.ledger.sentences import by_sentence, opposed, tally_sentences
from inweights.experiments import Target
from inweights.experiments.claims.claim import NO_WORDS, Verdict
from inweights.experiments.claims.claim_result import ClaimResult

STORED = "its neighbors appear in the top softmax probabilities"


def claim(
    name: str,
    verdict: Verdict,
    quote: str = STORED,
    source: str = "paper",
    check: bool = False,
) -> ClaimResult:
    return ClaimResult(
        id=f"paper/{name}",
        text="Every edge is stored.",
        place="C.3",
        source=source,
        check=check,
        target=Target(least=0.99),
        quote=quote,
        verdict=verdict,
    )


def names(claims: Iterable[ClaimResult]) -> list[str]:
    return [one.id.rpartition("/")[2] for one in claims]


CLAIMS = [
    claim("fig9", "reproduced"),
    claim("fig5", "not reproduced", f"we ensure that {STORED}"),
    claim("fig32", "not seen in a substitute", STORED.replace(" in the", "\nin the")),
    claim("fig25", "undecided"),
    claim("other", "consistent", "a geometry still arises in all of these models"),
    claim("open", "not judged", "the geometry is that of the whole graph"),
    claim("ours", "not reproduced", source="ours"),
    claim("check", "reproduced", check=True),
    claim("picture", "not reproduced", NO_WORDS),
    claim("another", "not reproduced", source="another-paper"),
]


def test_claims_of_one_sentence_are_together() -> None:
    groups = [names(group) for group in by_sentence(CLAIMS)]
    assert groups == [
        ["fig9", "fig5", "fig32", "fig25"],
        ["other"],
        ["open"],
        ["another"],
    ]


def test_each_sentence_is_counted_once() -> None:
    assert dict(tally_sentences(CLAIMS)) == {
        "agree": 1,
        "do not": 1,
        "have verdicts of both kinds (⇄)": 1,
        "have none that is decided": 1,
    }


def test_opposite_verdicts_on_one_sentence_are_named() -> None:
    found = {name: names(others) for name, others in opposed(CLAIMS).items()}
    assert found == {
        "paper/fig9": ["fig5", "fig32"],
        "paper/fig5": ["fig9"],
        "paper/fig32": ["fig9"],
    }
    assert not opposed(CLAIMS[1:])
