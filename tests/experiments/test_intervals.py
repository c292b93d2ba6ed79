"""Intervals over seeds, against SciPy, and the error that versions and further analyses spend."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

from inweights.experiments import interval
from inweights.support.statistics.intervals import (
    alpha_of,
    median_interval,
    paired_interval,
    share_interval,
    version_alpha,
)


def test_interval_is_students() -> None:
    values = [0.2, 0.5, 0.9, 0.4]
    mean, low, high = interval(values)
    expected = stats.t.interval(0.95, 3, np.mean(values), stats.sem(values))
    assert mean == pytest.approx(0.5)
    assert (low, high) == pytest.approx(expected)
    assert interval([0.3]) == (0.3, 0.3, 0.3)
    assert interval([0.2, 0.4])[1:] == pytest.approx(
        stats.t.interval(0.95, 1, 0.3, 0.1)
    )
    assert interval(values, 0.01)[1] == pytest.approx(
        stats.t.interval(0.99, 3, np.mean(values), stats.sem(values))[0]
    )


@given(st.lists(st.floats(0, 1), min_size=2, max_size=12))
def test_interval_of_a_share_is_students_cut_to_its_range(values: list[float]) -> None:
    mean, low, high = interval(values)
    cut = interval(values, bounds=(0.0, 1.0))
    assert cut[0] == mean
    assert cut[1:] == pytest.approx((max(0.0, low), min(1.0, high)), abs=1e-12)
    assert cut[1] <= mean <= cut[2]


@given(st.floats(0.3, 0.7), st.integers(0, 10_000))
def test_cutting_loses_no_coverage(true: float, seed: int) -> None:
    """An interval cut at the bounds of a share covers the same shares as the whole one."""
    sample = np.random.default_rng(seed).binomial(1, true, 5).astype(float)
    _, low, high = interval(sample)
    _, cut_low, cut_high = interval(sample, bounds=(0.0, 1.0))
    assert (low <= true <= high) == (cut_low <= true <= cut_high)


@pytest.mark.parametrize("count", [5, 8, 16, 41, 200])
def test_the_interval_of_a_median_is_exact(count: int) -> None:
    """The ranks of its ends are quantiles of the binomial distribution with chance 1/2."""
    median, low, high = median_interval(list(range(count)), 0.05)
    assert median == np.median(range(count))
    outside = int(stats.binom.ppf(0.025, count, 0.5))
    while stats.binom.cdf(outside - 1, count, 0.5) > 0.025:
        outside -= 1
    expected = (outside - 1, count - outside) if outside else (-math.inf, math.inf)
    assert (low, high) == expected
    assert 2 * stats.binom.cdf(outside - 1, count, 0.5) <= 0.05
    assert 2 * stats.binom.cdf(outside, count, 0.5) > 0.05


@given(st.integers(1, 600), st.data())
def test_the_interval_of_a_share_is_clopper_and_pearsons(count: int, data) -> None:
    hits = data.draw(st.integers(0, count))
    share_, low, high = share_interval(hits, count, 0.025)
    assert share_ == hits / count
    ends = stats.binomtest(hits, count).proportion_ci(0.975)
    assert (low, high) == pytest.approx((ends.low, ends.high), abs=1e-9)


def score(gained: int, lost: int, total: int, difference: float) -> float:
    """The score of a paired difference, with the likeliest share of losses found by search."""

    def unlikely(share: float) -> float:
        rest = max(1e-300, 1 - 2 * share - difference)
        logs = gained * np.log(share + difference) + lost * np.log(share)
        return float(-logs - (total - gained - lost) * np.log(rest))

    least, most = max(0.0, -difference) + 1e-12, (1 - difference) / 2 - 1e-12
    options = {"xatol": 1e-13}
    share = optimize.minimize_scalar(
        unlikely, bounds=(least, most), method="bounded", options=options
    ).x
    variance = total * (2 * share + difference - difference**2)
    return float((gained - lost - total * difference) / np.sqrt(variance))


@pytest.mark.parametrize(
    ("gained", "lost", "total"), [(12, 2, 50), (5, 3, 30), (1, 6, 9)]
)
def test_the_interval_of_a_paired_difference_ends_where_its_score_is_1_96(
    gained: int, lost: int, total: int
) -> None:
    difference, low, high = paired_interval(gained, lost, total)
    assert difference == (gained - lost) / total
    assert score(gained, lost, total, low) == pytest.approx(1.959964, abs=1e-5)
    assert score(gained, lost, total, high) == pytest.approx(-1.959964, abs=1e-5)
    mirrored = paired_interval(lost, gained, total)
    assert mirrored == pytest.approx((-difference, -high, -low), abs=1e-12)


def test_the_interval_of_a_paired_difference_has_a_width_without_a_change() -> None:
    assert paired_interval(0, 0, 20)[1:] == pytest.approx(
        (-0.161125, 0.161125), abs=1e-5
    )
    assert paired_interval(20, 0, 20)[1:] == pytest.approx((0.677750, 1.0), abs=1e-5)


def test_the_interval_of_a_paired_difference_covers_what_it_says() -> None:
    """Its coverage, summed over all outcomes of 30 questions, is close to 95%."""
    gain, loss, total = 0.25, 0.10, 30
    covered = 0.0
    for gained in range(total + 1):
        for lost in range(total + 1 - gained):
            counts = (gained, lost, total - gained - lost)
            chance = stats.multinomial.pmf(counts, total, (gain, loss, 1 - gain - loss))
            if chance > 1e-9:
                _, low, high = paired_interval(gained, lost, total)
                covered += chance * (low <= gain - loss <= high)
    assert 0.93 < covered < 0.98


def test_versions_and_further_looks_spend_no_more_than_they_have() -> None:
    """All versions spend .05 together; further analyses spend at most half of the first."""
    assert sum(version_alpha(v) for v in range(1, 1000)) == pytest.approx(
        0.05, rel=2e-3
    )
    for version in (1, 2, 5):
        first = alpha_of(8, stated=8, version=version)
        assert first == version_alpha(version) == alpha_of(5, stated=8, version=version)
        alphas = [alpha_of(8 * 2**k, stated=8, version=version) for k in range(1, 40)]
        assert sum(alphas) < first / 2
        assert alphas == sorted(alphas, reverse=True)
        assert (
            alpha_of(9, 8, version)
            == alpha_of(16, 8, version)
            == pytest.approx(first / 6)
        )
