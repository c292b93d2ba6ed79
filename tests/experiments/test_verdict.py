"""Verdicts are computed from the interval over seeds, and need at least eight of them."""

from __future__ import annotations

import math

import msgspec
import polars as pl
import pytest
from scipy import stats

from inweights.config import decode, to_plain
from inweights.errors import ConfigError, DataError
from inweights.experiments import (
    Judged,
    Stating,
    computed,
    cosine,
    judge,
    number,
    share,
)
from inweights.experiments.claims.claim import Statement
from inweights.experiments.claims.claim_result import ClaimResult
from inweights.experiments.claims.needed_seeds import first_seeds
from inweights.experiments.claims.target import Target
from inweights.experiments.claims.verdict import is_open, tally, unjudged
from inweights.support.statistics.intervals import (
    bounded_interval,
    version_alpha,
)

state = Stating("a/b", "ours", "Fig. 1")
ACCURACY = share("t", "accuracy")

TABLE = pl.DataFrame(
    {
        "model": ["a"] * 8 + ["b"] * 8,
        "seed": list(range(8)) * 2,
        "accuracy": [
            *(0.55, 0.6, 0.65, 0.7, 0.8, 0.85, 0.9, 0.95),
            *(0.1, 0.15, 0.2, 0.3, 0.3, 0.35, 0.4, 0.8),
        ],
    }
)
EIGHT = list(range(8))


def result(judged: Judged, table: pl.DataFrame = TABLE, **options):
    rule = options.pop("rule", "typical")
    return judge(state("c", "It works.", judged, rule=rule), {"t": table}, **options)


def test_a_verdict_says_under_which_condition() -> None:
    """The condition is that of the score's rows, or of the recipe, or of the claim."""
    fast, slow = (ACCURACY.at(condition=one) for one in ("fast", "slow"))
    told = Stating("a/b", "ours", "Fig. 1", condition="usual")
    for judged, condition in (
        (fast >= 0.5, "fast"),
        (fast - slow >= 0.5, "fast, minus slow"),
        (fast - fast.at(model="a") >= 0.5, "fast"),
        (ACCURACY.over("condition") >= 0.5, "each"),
        (ACCURACY >= 0.5, "usual"),
    ):
        claim = told("c", "It works.", judged)
        assert unjudged(claim, "").condition == claim.condition == condition
        assert unjudged(claim, "").replicates == 0
    assert told("c", "It works.", ACCURACY >= 0.5, condition="").condition == ""
    assert result(ACCURACY >= 0.5).condition == ""


@pytest.mark.parametrize(
    ("judged", "verdict"),
    [
        (ACCURACY.at(model="a") >= 0.5, "reproduced"),
        (ACCURACY.at(model="a") <= 0.99, "reproduced"),
        (ACCURACY.at(model="a").within(0.5, 1.0), "reproduced"),
        (ACCURACY.at(model="a") >= 0.97, "not reproduced"),
        (ACCURACY.at(model="a") <= 0.5, "not reproduced"),
        (ACCURACY.at(model="a").within(0.1, 0.5), "not reproduced"),
        (ACCURACY.at(model="a") >= 0.7, "undecided"),
        (ACCURACY.at(model="a") <= 0.8, "undecided"),
        (ACCURACY.at(model="a").within(0.74, 0.76), "undecided"),
        (ACCURACY.at(model="a").within(0.6, 0.8), "undecided"),
    ],
)
def test_a_verdict_is_where_the_whole_interval_lies(
    judged: Judged, verdict: str
) -> None:
    # For eight seeds, the interval of the median is the whole range.
    found = result(judged)
    assert (found.measured, found.low, found.high) == pytest.approx((0.75, 0.55, 0.95))
    assert (found.verdict, found.replicates) == (verdict, 8)
    assert found.hits == sum(
        judged.target.distance(value) >= 0 for value in TABLE["accuracy"][:8]
    )


def test_an_undecided_claim_says_how_many_seeds_would_settle_it() -> None:
    """About this many similar seeds decide the claim, and half as many do not."""
    for rule, target in (("typical", 0.7), ("reliable", 0.6), ("mean", 0.7)):
        judged = ACCURACY.at(model="a") >= target
        found = result(judged, rule=rule, minimum=1)
        assert (found.verdict, found.needed is None) == ("undecided", False), rule
        for times, verdict in ((2, "reproduced"), (0.5, "undecided")):
            count = round(times * (found.needed or 0) / 8)
            many = pl.concat(
                [TABLE.with_columns(pl.col("seed") + 8 * k) for k in range(count)]
            )
            assert result(judged, many, rule=rule).verdict == verdict, rule
    assert result(ACCURACY.at(model="a") >= 0.5).needed is None


def test_a_reliable_claim_is_not_proposed_fewer_seeds_than_a_verdict_takes() -> None:
    """This number of seeds is needed even if all seeds so far meet the target."""
    judged = ACCURACY.at(model="a") >= 0.05
    found = result(judged, rule="reliable")
    assert found.verdict == "undecided"
    needed = found.needed or 0
    for seeds, verdict in ((needed // 2, "undecided"), (needed, "reproduced")):
        met = pl.DataFrame({"model": "a", "seed": range(seeds), "accuracy": 0.9})
        assert result(judged, met, rule="reliable").verdict == verdict, seeds


def test_one_seed_of_a_mean_is_undecided_without_an_estimate_of_seeds() -> None:
    """One seed has no spread from which the required number of seeds could be estimated."""
    table = TABLE.filter(model="a", seed=4)
    found = result(ACCURACY >= 0.7, table, rule="mean", minimum=1)
    assert (found.verdict, found.needed) == ("undecided", None)
    two = TABLE.filter(pl.col("seed").is_in([4, 5]), model="a")  # .8 and .85
    found = result(ACCURACY >= 0.8, two, rule="mean", minimum=1)
    width = stats.norm.ppf(0.975) * 0.05 / math.sqrt(2)
    assert (found.verdict, found.needed) == (
        "undecided",
        math.ceil((width / 0.025) ** 2),
    )


def test_ten_thousand_seeds_are_not_proposed() -> None:
    """A verdict proposes 9,999 seeds if so many are needed, but not 10,000."""
    values = TABLE["accuracy"][:8].to_numpy()
    for count, proposed in ((9_999, 9_999), (10_000, None)):
        gap = stats.norm.ppf(0.975) * values.std(ddof=1) / math.sqrt(count - 0.5)
        judged = number("t", "accuracy", model="a") >= values.mean() - gap
        found = result(judged, rule="mean")
        assert (found.verdict, found.needed) == ("undecided", proposed)


@pytest.mark.parametrize(
    ("judged", "values"),
    [(ACCURACY <= 0.1, [0.1] + [0.3] * 7), (ACCURACY >= 0.9, [0.9] + [0.7] * 7)],
)
def test_an_interval_that_ends_at_the_edge_is_undecided(
    judged: Judged, values: list[float]
) -> None:
    """An interval that ends at the target's edge, which is in the target, decides nothing."""
    found = result(judged, pl.DataFrame({"seed": EIGHT, "accuracy": values}))
    assert values[0] in (found.low, found.high)
    assert found.verdict == "undecided"


def test_several_rows_of_a_seed_count_as_their_mean() -> None:
    rows = pl.DataFrame(
        {"seed": [*EIGHT, *EIGHT], "accuracy": [0.0, *[0.2] * 7, 1.0, *[0.6] * 7]}
    )
    found = result(ACCURACY >= 0.5, rows)
    assert found.replicates == 8
    assert (found.measured, found.low, found.high) == pytest.approx((0.4, 0.4, 0.5))


def test_each_case_has_to_hold_and_the_worst_decides() -> None:
    found = result(ACCURACY.over("model") >= 0.5)
    assert (found.verdict, found.case) == ("undecided", "model = b")
    found = result(ACCURACY.over("model") >= 0.96)  # both cases fail, b by more
    assert (found.verdict, found.case) == ("not reproduced", "model = b")
    # Case a is closer to the boundary; both are below it.
    found = result(ACCURACY.over("model") <= 0.97)
    assert (found.verdict, found.case) == ("reproduced", "model = a")


def test_a_failure_of_one_case_is_corrected_for_their_number() -> None:
    """Eight seeds can refute a claim of at most six cases, each with a sixth of the error.

    The interval that is shown has the corrected level, which eight seeds cannot reach for
    seven cases.
    """
    for cases, verdict in ((6, "not reproduced"), (7, "undecided")):
        table = pl.concat(
            [
                pl.DataFrame({"k": k, "seed": EIGHT, "accuracy": 0.9 if k else 0.1})
                for k in range(cases)
            ]
        )
        found = result(ACCURACY.over("k") >= 0.5, table)
        assert (found.verdict, found.case) == (verdict, "k = 0")
        assert found.level == pytest.approx(1 - 0.05 / cases)
        assert (found.low is None) == (verdict == "undecided")
        assert result(ACCURACY.over("k") >= 0.05, table).verdict == "reproduced"


def test_a_claim_may_be_about_the_share_of_seeds() -> None:
    """The rule ``typical`` allows one wrong seed in four; ``reliable`` does not."""
    values = [0.9] * 12 + [0.1] * 4
    table = pl.DataFrame({"seed": range(16), "accuracy": values})
    assert result(ACCURACY >= 0.5, table).verdict == "undecided"
    many = pl.concat([table.with_columns(pl.col("seed") + 16 * k) for k in range(4)])
    assert result(ACCURACY >= 0.5, many).verdict == "reproduced"
    found = result(ACCURACY >= 0.5, many, rule="reliable")
    assert (found.verdict, found.hits, found.replicates) == ("undecided", 48, 64)
    assert found.share_low == pytest.approx(stats.beta.ppf(0.025, 48, 17))
    assert found.share_high == pytest.approx(stats.beta.ppf(0.975, 49, 16))
    few = result(ACCURACY <= 0.5, many, rule="reliable")
    assert (few.verdict, few.hits) == ("not reproduced", 16)


def test_a_mean_without_a_failure_has_a_width() -> None:
    ones = pl.DataFrame({"seed": EIGHT, "accuracy": [1.0] * 8})
    found = result(ACCURACY >= 0.7, ones, rule="mean")
    assert (found.verdict, found.measured, found.high) == ("undecided", 1.0, 1.0)
    assert found.low == pytest.approx(bounded_interval([1.0] * 8, 0.05, (0, 1))[1])
    loss = result(number("t", "accuracy") <= 2.0, ones, rule="mean")
    assert (loss.low, loss.high) == (1.0, 1.0)


def test_a_substitute_has_words_of_its_own() -> None:
    """Results with other models or data neither reproduce nor refute a paper."""
    for target, verdict in ((0.5, "consistent"), (0.97, "not seen in a substitute")):
        judged = ACCURACY.at(model="a") >= target
        claim = state("c", "It works.", judged, protocol="substitute")
        assert judge(claim, {"t": TABLE}).verdict == verdict
        assert judge(
            state("c", "It works.", judged, protocol="scaled"), {"t": TABLE}
        ).verdict in (
            "reproduced",
            "not reproduced",
        )


def test_targets_at_the_bound_are_refused() -> None:
    for judged in (ACCURACY >= 1.0, ACCURACY <= 0.0):
        with pytest.raises(
            ConfigError, match="is at a bound of the range of its score"
        ):
            state("c", "It works.", judged)
        assert state("c", "It works.", judged, check=True).check


def test_a_verdict_waits_until_one_is_possible() -> None:
    claim = state("c", "It never works.", ACCURACY <= 0.1, rule="reliable")
    assert [first_seeds(claim, 8, version_alpha(v)) for v in (1, 2, 3)] == [16, 32, 32]
    typical = state("c", "It works.", ACCURACY >= 0.1)
    assert [first_seeds(typical, 8, version_alpha(v)) for v in (1, 2, 3)] == [8, 8, 16]
    found = result(ACCURACY >= 0.5, TABLE.head(7))
    assert (found.verdict, found.needed) == ("not judged", 8)
    assert is_open(found)
    assert not is_open(unjudged(claim, "no run"))  # no number of seeds would help
    assert not is_open(msgspec.structs.replace(found, verdict="reproduced"))


def test_a_tight_case_beyond_the_edge_decides_over_a_wide_one_further_off() -> None:
    table = TABLE.with_columns(
        accuracy=pl.when(pl.col("model") == "a").then(0.48).otherwise("accuracy")
    )
    found = result(ACCURACY.over("model") >= 0.5, table)
    assert (found.verdict, found.case) == ("not reproduced", "model = a")


@pytest.mark.parametrize("alpha", [0.05, 0.01])
def test_a_result_says_the_level_of_its_interval(alpha: float) -> None:
    found = result(ACCURACY.at(model="a") >= 0.5, alpha=alpha, rule="mean")
    assert found.level == pytest.approx(1 - alpha)
    values = TABLE["accuracy"][:8].to_list()
    assert found.low == pytest.approx(bounded_interval(values, alpha, (0, 1))[1])


def test_an_undecided_case_decides_over_a_reproduced_one_that_is_closer() -> None:
    table = pl.DataFrame(
        {
            "model": ["a"] * 8 + ["b"] * 8,
            "seed": [*EIGHT, *EIGHT],
            "accuracy": [*[0.52] * 8, 0.4, *[0.9] * 7],
        }
    )
    found = result(ACCURACY.over("model") >= 0.5, table)
    assert (found.verdict, found.case) == ("undecided", "model = b")


def test_a_target_may_be_one_number() -> None:
    assert (
        result(computed("t", "accuracy", model="a").within(0.75, 0.75)).verdict
        != "not judged"
    )
    with pytest.raises(ConfigError):
        ACCURACY.within(0.76, 0.75)


def test_differences_are_paired_by_seed() -> None:
    shuffled = TABLE.sample(fraction=1.0, shuffle=True, seed=0)
    found = result(ACCURACY.at(model="a") - ACCURACY.at(model="b") >= 0.0, shuffled)
    assert found.measured == pytest.approx(0.45)
    assert (found.low, found.high) == pytest.approx((0.15, 0.5))


@pytest.mark.parametrize(
    ("table", "options", "why"),
    [
        (TABLE.filter(pl.col("seed") < 2), {}, "2 seed"),
        (TABLE.clear(), {"strict": False}, "unknown value of model 'a'"),
        (TABLE.drop("accuracy"), {"strict": False}, "unknown column 'accuracy'"),
        (TABLE.with_columns(accuracy=pl.lit(float("nan"))), {}, "not a number"),
        (TABLE.with_columns(accuracy=pl.lit(None, pl.Float64)), {}, "not a number"),
        (TABLE, {"targets": False}, "too small to judge"),
    ],
)
def test_no_verdict_without_evidence(table, options, why: str) -> None:
    found = result(ACCURACY.at(model="a") >= 0.5, table, **options)
    assert found.verdict == "not judged"
    assert why in found.why


def test_what_is_computed_needs_no_replicates() -> None:
    one = TABLE.filter(pl.col("seed") == 0)
    found = result(computed("t", "accuracy", model="a") >= 0.5, one)
    assert (found.verdict, found.low, found.replicates) == ("reproduced", None, 1)
    assert (found.hits, found.met, found.level) == (None, "", 0.95)
    assert (
        result(computed("t", "accuracy", model="b") >= 0.5, one).verdict
        == "not reproduced"
    )


def test_a_score_is_as_large_as_its_bounds() -> None:
    assert (number("t", "accuracy").size, ACCURACY.size, cosine("t", "c").size) == (
        0,
        1,
        1,
    )


def test_a_claim_shows_its_published_number_or_a_dash() -> None:
    for published, shown in (("73%", "73%"), ("", "–")):
        claim = state("c", "It works.", ACCURACY >= 0.5, published=published)
        assert f"published {shown}<" in claim._repr_html_()


def test_what_is_not_there_is_an_error_that_names_the_nearest() -> None:
    with pytest.raises(DataError, match="did you mean 'accuracy'"):
        result(ACCURACY.of("acuracy") >= 0.5)
    with pytest.raises(DataError, match="unknown table 'tt'"):
        result(share("tt", "accuracy") >= 0.5)
    with pytest.raises(DataError, match=r"unknown value of model 'aa'.*Claim a/b/c"):
        result(ACCURACY.at(model="aa") >= 0.5)
    with pytest.raises(DataError, match="unknown value of seed '8'"):
        result(ACCURACY.at(model="a") - ACCURACY.at(seed=8) >= 0.5)
    with pytest.raises(DataError, match=r"seed.*compared with 'one'"):
        result(ACCURACY.at(seed="one") >= 0.5)


def test_scores_refuse_what_cannot_be_judged() -> None:
    with pytest.raises(ConfigError, match=r"\('least'\) or a largest"):
        type((ACCURACY >= 0.1).target)()
    with pytest.raises(ConfigError, match="contains no number"):
        ACCURACY.within(0.9, 0.1)
    with pytest.raises(ConfigError, match="from the same column"):
        _ = ACCURACY.at(model="a") - ACCURACY.at(model="b").of("recall")
    with pytest.raises(ConfigError, match="and itself is always 0"):
        _ = ACCURACY.at(model="a") - ACCURACY.at(model="a")
    with pytest.raises(ConfigError, match="difference of differences"):
        _ = (ACCURACY.at(model="a") - ACCURACY.at(model="b")) - ACCURACY.at(model="c")


def test_bounds_of_differences_follow() -> None:
    assert (ACCURACY.at(model="a") - ACCURACY.at(model="b")).bounds == (-1.0, 1.0)
    near = cosine("t", "x", model="a")
    assert (near.table, near.column, near.where, near.exact) == (
        "t",
        "x",
        {"model": "a"},
        False,
    )
    assert near.bounds == (-1.0, 1.0)
    assert (near - near.at(model="b")).bounds == (-2.0, 2.0)
    assert (
        number("t", "loss", model="a") - number("t", "loss", model="b")
    ).bounds is None


def test_checks_are_counted_apart() -> None:
    claims = [
        state("one", "It works.", ACCURACY >= 0.5, source="identity-bridge"),
        state("two", "It works.", ACCURACY >= 0.5),
        state("three", "It works.", ACCURACY >= 0.5, check=True),
    ]
    counts = tally(unjudged(claim, "no run") for claim in claims)
    assert [counts[kind]["not judged"] for kind in ("papers", "ours", "checks")] == [
        1,
        1,
        1,
    ]


def test_boards_of_earlier_versions_lack_some_fields() -> None:
    """Missing fields mean a level of 95%, no check, and no condition."""
    old = to_plain(result(ACCURACY >= 0.5))
    for name in ("level", "check", "condition", "needed"):
        del old[name]
    read = decode(ClaimResult, old)
    assert (read.level, read.check, read.condition, read.needed) == (
        0.95,
        False,
        "",
        None,
    )


def test_a_statement_stays_as_it_is() -> None:
    said = Statement(
        id="a/b/c", text="It works.", place="", source="ours", target=Target(least=1)
    )
    with pytest.raises(AttributeError):
        said.text = "It does not."  # type: ignore[misc]


def test_a_claim_may_have_a_source_and_place_of_its_own() -> None:
    made = state("c", "It works.", ACCURACY >= 0.5, source="another", place="Fig. 2")
    assert (made.source, made.place) == ("another", "Fig. 2")
    assert state("c", "It works.", ACCURACY >= 0.5).source == "ours"
