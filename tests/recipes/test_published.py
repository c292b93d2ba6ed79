"""Statements of papers: quote, number and protocol of each claim, and effect sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

import pytest
from msgspec import structs

from inweights.errors import ConfigError
from inweights.experiments import Stating, share
from inweights.experiments.claims.claim import Claim, Verdict
from inweights.experiments.claims.claim_result import ClaimResult
from inweights.experiments.claims.closeness import closeness, sizes
from inweights.experiments.claims.numbers import Numbers
from inweights.experiments.claims.published import printed_number
from inweights.experiments.claims.score import Judged
from inweights.experiments.claims.target import Target
from inweights.experiments.claims.verdict import decide, lies
from inweights.recipes import get_recipe, recipe_names
from inweights.report.pages.claims import headline

STATE = Stating("toy/one", "toy", "Fig. 1")
SAID: dict[str, Any] = {"quote": "it works", "published": "0.9", "protocol": "exact"}


DIFFERENCE = share("t", "hit").at(arm="one") - share("t", "hit").at(arm="other")


def stated(**said: Any) -> Claim:
    return STATE("works", "It works.", share("t", "hit") >= 0.5, **SAID | said)


def measured(claim: Claim, numbers: Sequence[float]) -> ClaimResult:
    return decide(claim, Numbers(cases={"": dict(enumerate(numbers))}))


def result(**found: Any) -> ClaimResult:
    about: dict[str, Any] = {"id": "a/b/c", "text": "", "place": "", "source": "a"}
    about |= {"published": "0.02", "close": (0.02 / 1.5, 0.03)}
    return ClaimResult(
        **about | {"target": Target(least=0.0), "verdict": "reproduced"} | found
    )


def test_every_claim_of_a_paper_has_quote_number_and_protocol() -> None:
    claims = [claim for name in recipe_names() for claim in get_recipe(name).claims]
    papers = [claim for claim in claims if not claim.ours]
    assert papers
    for claim in papers:
        claim.check_sources("")
    for claim in claims:
        assert not claim.ours or claim.protocol is None, (
            f"{claim.id} is ours and has a protocol"
        )
        if claim.close:
            assert printed_number(claim.published) is not None, (
                f"{claim.id}: close to what?"
            )


@pytest.mark.parametrize("name", ["quote", "published", "protocol"])
def test_a_claim_without_its_source_does_not_load(name: str) -> None:
    stated().check_sources("one.toml")
    with pytest.raises(
        ConfigError, match=f"one.toml: claim toy/one/works has no '{name}'; give"
    ):
        structs.replace(
            stated(), **{name: "" if name == "quote" else None}
        ).check_sources("one.toml")


def test_a_reversed_range_of_close_numbers_is_refused() -> None:
    with pytest.raises(
        ConfigError, match=r"toy/one/c: 'close' must be a range from a sm"
    ):
        STATE("c", "Text.", share("t", "x") >= 0.9, published="0.95", close=(1.0, 0.9))


def test_a_single_close_number_is_a_range() -> None:
    claim = STATE("c", "Text.", share("t", "x") >= 0.9, published="1", close=(1.0, 1.0))
    assert claim.close == (1.0, 1.0)


def test_a_long_quote_does_not_load() -> None:
    stated(quote="word " * 25).check_sources("one.toml")
    with pytest.raises(ConfigError, match="has 26 words; shorten it to at most 25"):
        stated(quote="word " * 26).check_sources("one.toml")


@pytest.mark.parametrize(
    ("protocol", "verdict", "missed"),
    [
        ("exact", "reproduced", "not reproduced"),
        ("scaled", "reproduced", "not reproduced"),
        ("substitute", "consistent", "not seen in a substitute"),
    ],
)
def test_a_substitute_neither_reproduces_nor_contradicts(
    protocol: str, verdict: str, missed: str
) -> None:
    good = Numbers(cases={"": dict.fromkeys(range(8), 0.9)})
    bad = Numbers(cases={"": dict.fromkeys(range(8), 0.1)})
    assert decide(stated(protocol=protocol), good).verdict == verdict
    assert decide(stated(protocol=protocol), bad).verdict == missed
    assert verdict in headline([decide(stated(protocol=protocol), good)])


@pytest.mark.parametrize(
    ("low", "measured", "high", "verdict"),
    [
        (0.018, 0.021, 0.024, "close"),
        (0.002, 0.003, 0.004, "not close"),
        (0.04, 0.05, 0.06, "not close"),
        (0.012, 0.02, 0.028, "undecided"),
        (0.02, 0.028, 0.04, "undecided"),
    ],
)
def test_size_is_judged_by_the_whole_interval(
    low: float, measured: float, high: float, verdict: str
) -> None:
    size = closeness(result(low=low, measured=measured, high=high))
    assert size is not None
    assert size.verdict == verdict
    assert size.ratio == pytest.approx(measured / 0.02)
    assert size.span == pytest.approx((low / 0.02, high / 0.02))


def test_the_ends_of_what_is_close_belong_to_it() -> None:
    for low, high in ((0.01, 0.04), (0.02, 0.02)):
        size = closeness(result(low=low, measured=0.02, high=high, close=(low, high)))
        assert size is not None
        assert size.verdict == "close"


def test_sizes_of_judged_claims_are_counted() -> None:
    close, far = ({"low": size, "measured": size, "high": size} for size in (0.02, 0.2))
    unjudged = result(**close, verdict="not judged")
    assert sizes([result(**close), result(**far), result(**far), unjudged]) == {
        "close": 1,
        "not close": 2,
    }


@pytest.mark.parametrize(
    ("target", "low", "high", "verdict"),
    [
        (Target(least=1), 1, 1, "reproduced"),  # the boundary belongs to the target
        (Target(least=1), 1, 2, "reproduced"),
        (Target(least=1), 0, 1, "undecided"),
        (Target(least=1), 0, 0.9, "not reproduced"),
        (Target(most=1), 1, 1, "reproduced"),
        (Target(most=1), 0, 1, "reproduced"),
        (Target(most=1), 1, 2, "undecided"),
        (Target(most=1), 1.1, 2, "not reproduced"),
        (Target(least=1, most=2), 1, 2, "reproduced"),
        (Target(least=1, most=2), 0, 3, "undecided"),
        (Target(least=1, most=2), 2, 3, "undecided"),
        (Target(least=1, most=2), 0, 1, "undecided"),
        (Target(least=1, most=2), 2.1, 3, "not reproduced"),
        (Target(least=1, most=2), 0, 0.9, "not reproduced"),
    ],
)
def test_where_an_interval_lies(
    target: Target, low: float, high: float, verdict: str
) -> None:
    assert lies(target, low, high) == verdict


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("62%", 0.62),
        ("≈ .5", 0.5),
        ("-1e-3", -0.001),
        (".7983 ± .027", 0.7983),
        ("99.7 ± .5%", 0.997),
        ("derived .1967 (.995 − .7983)", 0.1967),
        ("derived .1559 (Llama), .0516 (Qwen)", None),
        ("73% against 53%", None),
        ("> 1/C", None),
        ("", None),
        (None, None),
    ],
)
def test_a_printed_number_is_read(text: str | None, number: float | None) -> None:
    assert printed_number(text) == (None if number is None else pytest.approx(number))


def test_a_number_that_follows_from_two_printed_ones_is_not_called_published() -> None:
    claim = STATE(
        "falls", "It falls.", DIFFERENCE >= 0.1, published="derived .3 (.9 − .6)"
    )
    assert claim.number == ("derived", ".3 (.9 − .6)")
    size = closeness(measured(claim, [0.3] * 8))
    assert size is not None
    assert "1 of the derived 0.3" in size.text


@pytest.mark.parametrize("verdict", get_args(Verdict))
def test_only_what_reproduces_or_is_consistent_agrees(verdict: Verdict) -> None:
    agreed = verdict in ("reproduced", "consistent")
    assert result(verdict=verdict).agrees is agreed


def test_a_negative_number_keeps_its_range_in_order() -> None:
    numbers = [-0.4] + [-0.3] * 6 + [-0.25]
    judged = DIFFERENCE <= 0.0
    size = closeness(
        measured(STATE("falls", "It falls.", judged, published="-0.3"), numbers)
    )
    assert size is not None
    assert size.close == pytest.approx((-0.45, -0.2))
    assert size.span == pytest.approx((0.25 / 0.3, 0.4 / 0.3))
    assert size.verdict == "close"


def test_a_stated_range_decides_where_the_paper_prints_zero() -> None:
    numbers, judged = [0.0] * 7 + [0.005], share("t", "hit") <= 0.2
    none = STATE("none", "Never.", judged, published="0%")
    assert closeness(measured(none, numbers)) is None
    size = closeness(measured(structs.replace(none, close=(0.0, 0.01)), numbers))
    assert size is not None
    assert (size.verdict, size.ratio) == ("close", None)
    assert "beside the published 0" in size.text


@pytest.mark.parametrize(
    ("judged", "published", "sized"),
    [
        (DIFFERENCE >= 0.1, "0.9", True),
        (DIFFERENCE.within(0.7, 1), "0.9", False),  # an interval that contains it
        (DIFFERENCE >= 0.1, "> 1/C", False),
        (DIFFERENCE >= 0.1, "0.9 ± .1", True),
        (DIFFERENCE >= 0.97, "100%", False),  # differences of shares are at most 1
        (share("t", "hit") >= 0.97, "100%", False),  # all remaining values lie within
        (share("t", "hit") >= 0.5, "100%", True),
        (share("t", "hit") <= 0.05, ".9%", True),
    ],
)
def test_a_size_is_judged_where_the_target_leaves_it_open(
    judged: Judged, published: str, sized: bool
) -> None:
    claim = STATE("works", "It works.", judged, published=published)
    assert (closeness(measured(claim, [0.9] * 8)) is not None) == sized
    assert closeness(measured(claim, [0.9] * 3)) is None  # not judged
