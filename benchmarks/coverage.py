"""Measure the coverage and width of the intervals with which claims are judged.

Samples of n seeds are drawn from populations like those of claims: a few seeds fail,
scores are near a bound, an accuracy has few values, or scores are differences within
seeds. Each rule returns a nominal 95% interval. Claims are judged by "median" and "share",
and means by "pseudo"; Student's interval was used earlier. "Anderson" (exact, of the mean)
and "betting" (Waudby-Smith and Ramdas 2023, predictable plug-in) are alternatives that are
not used. ``share`` is the share of seeds that reach a target, here the population's 30th
percentile.

    python benchmarks/coverage.py [--samples 2000] [--seeds 5 8 16 32 64] [--markdown]

Claims with at least 32 seeds in ``results/scores`` are also used as populations. One line
for all of them has the median width and the smallest coverage. The latter is measured
again on other samples, since the smallest of many values is biased. The two slow
alternatives are left out there.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from inweights.support.statistics.intervals import (
    bounded_interval,
    interval,
    median_interval,
    share_interval,
)

ALPHA = 0.05
SCORES = Path(__file__).parents[1] / "results" / "scores"
Span = tuple[float, float]
Draw = Callable[[np.random.Generator, int], np.ndarray]


UNIT, CENTRED = (0.0, 1.0), (-1.0, 1.0)


def beta(a: float, b: float, fails: float = 0.0) -> Draw:
    """Return beta-distributed shares, which are 0 with some probability."""
    return lambda rng, n: rng.beta(a, b, n) * (rng.random(n) >= fails)


def ones(fails: float) -> Draw:
    """Return shares that are 0 with some probability and otherwise 1."""
    return lambda rng, n: (rng.random(n) >= fails) * 1.0


def minus(one: Draw, other: Draw) -> Draw:
    """Return differences of two populations."""
    return lambda rng, n: one(rng, n) - other(rng, n)


def counted(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return accuracies on twenty questions."""
    return rng.binomial(20, rng.beta(20, 2, n)) / 20


def populations() -> Iterator[tuple[str, Draw, tuple[float, float]]]:
    """Return the populations: names, functions that draw numbers, and bounds of the score."""
    for p in (0.02, 0.05, 0.1, 0.3):
        yield f"fails {p:g}", ones(p), UNIT
    for p in (0.05, 0.1):
        yield f"fails {p:g}, else Beta(20, 1)", beta(20, 1, p), UNIT
    for a, b in ((20, 1), (80, 20), (8, 2), (1, 20)):
        yield f"Beta({a}, {b})", beta(a, b), UNIT
    yield "k of 20, Beta(20, 2)", counted, UNIT
    yield "difference: fails .1, Beta(8, 2)", minus(ones(0.1), beta(8, 2)), CENTRED
    yield "difference: Beta(8, 2), Beta(2, 2)", minus(beta(8, 2), beta(2, 2)), CENTRED


def stored() -> Iterator[tuple[Draw, tuple[float, float]]]:
    """Return resampled numbers of every bounded case of a claim with at least 32 seeds."""
    if not (files := sorted(SCORES.glob("*.parquet"))):
        return
    import polars as pl

    table = pl.concat([pl.read_parquet(file) for file in files])
    keys = ["claim", "version", "scale", "case"]
    for pool in table.group_by(keys, maintain_order=True).agg("number")["number"]:
        if len(pool) >= 32 and pool.is_between(-1, 1).all() and pool.n_unique() > 1:
            yield _resampled(pool.to_numpy()), UNIT if pool.min() >= 0 else CENTRED


def _resampled(pool: np.ndarray) -> Draw:
    return lambda rng, n: rng.choice(pool, n)


def anderson(values: np.ndarray, bounds: tuple[float, float]) -> tuple[float, float]:
    """Return the extreme means of distributions within the one-sided DKW bands."""
    low, high = bounds
    slack = math.sqrt(math.log(2 / ALPHA) / (2 * len(values)))

    def least(unit: np.ndarray) -> float:
        edges = np.concatenate([[0.0], np.sort(unit)])
        below = np.arange(len(unit)) / len(unit)
        return float(np.diff(edges) @ np.maximum(0.0, 1 - below - slack))

    unit = (values - low) / (high - low)
    ends = least(unit), 1 - least(1 - unit)
    return low + ends[0] * (high - low), low + ends[1] * (high - low)


def betting(values: np.ndarray, bounds: tuple[float, float]) -> tuple[float, float]:
    """Return the interval of means against which a hedged bettor has not won 1 / alpha."""
    low, high = bounds
    unit = (values - low) / (high - low)
    count = np.arange(1, len(unit) + 1)
    mean = (0.5 + np.cumsum(unit)) / (count + 1)
    spread = (0.25 + np.cumsum((unit - mean) ** 2)) / (count + 1)
    before = np.concatenate([[0.25], spread[:-1]])
    stake = np.sqrt(2 * math.log(2 / ALPHA) / (len(unit) * before))[:, None]
    grid = np.linspace(0.0025, 0.9975, 200)
    gain = unit[:, None] - grid
    up = np.log1p(np.minimum(stake, 0.5 / grid) * gain).sum(0)
    down = np.log1p(-np.minimum(stake, 0.5 / (1 - grid)) * gain).sum(0)
    held = grid[np.logaddexp(up, down) - math.log(2) < -math.log(ALPHA)]
    ends = (
        (held.min() - 0.0025, held.max() + 0.0025)
        if len(held)
        else (mean[-1], mean[-1])
    )
    return low + ends[0] * (high - low), low + ends[1] * (high - low)


def measure(
    draw: Draw,
    bounds: tuple[float, float],
    count: int,
    samples: int,
    *,
    candidates: bool = True,
    seed: int = 7,
) -> dict[str, tuple[float, float]]:
    """Return the coverage and median width of each rule and each alternative."""
    rng = np.random.default_rng(seed)
    many = draw(rng, 400_000)
    mean, middle, target = many.mean(), np.median(many), np.quantile(many, 0.3)
    share = (many >= target).mean()
    found: dict[str, list[tuple[bool, float]]] = {}
    for _ in range(samples):
        values = draw(rng, count)
        listed: Sequence[float] = values.tolist()
        spans: dict[str, tuple[float, Span]] = {
            "Student": (mean, interval(values, ALPHA, bounds)[1:]),
            "pseudo": (mean, bounded_interval(listed, ALPHA, bounds)[1:]),
            "median": (middle, _cut(median_interval(listed, ALPHA)[1:], bounds)),
            "share": (
                share,
                share_interval(int((values >= target).sum()), count, ALPHA)[1:],
            ),
        }
        if candidates:
            spans["Anderson"] = mean, anderson(values, bounds)
            spans["betting"] = mean, betting(values, bounds)
        for rule, (true, (low, high)) in spans.items():
            holds = low - 1e-9 <= true <= high + 1e-9
            found.setdefault(rule, []).append((holds, float(high - low)))
    return {
        rule: (
            float(np.mean([h for h, _ in rows])),
            float(np.median([w for _, w in rows])),
        )
        for rule, rows in found.items()
    }


def _cut(span: Span, bounds: Span) -> Span:
    return max(span[0], bounds[0]), min(span[1], bounds[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--seeds", type=int, nargs="+", default=[5, 8, 16, 32, 64])
    parser.add_argument("--markdown", action="store_true")
    asked = parser.parse_args()
    between, line = (" | ", "| {} |") if asked.markdown else ("  ", "{}")
    rules = ["Student", "pseudo", "Anderson", "betting", "median", "share"]
    heads = [f"{'population':36}", " n", *(f"{rule:>9}" for rule in rules)]
    print(line.format(between.join(heads)))
    if asked.markdown:
        print("|---" * len(heads) + "|")
    least = dict.fromkeys(rules, 1.0)
    for name, draw, bounds in populations():
        for count in asked.seeds:
            cells = measure(draw, bounds, count, asked.samples)
            least = {rule: min(least[rule], cells[rule][0]) for rule in rules}
            shown = (f"{cells[rule][0]:.2f}, {cells[rule][1]:.2f}" for rule in rules)
            print(
                line.format(between.join([f"{name:36}", f"{count:2}", *shown])),
                flush=True,
            )
    pools = list(stored())
    for count in asked.seeds if pools else ():
        cases = [
            measure(*pool, count, asked.samples // 5, candidates=False)
            for pool in pools
        ]
        cells = {}
        for rule in cases[0]:
            worst = pools[int(np.argmin([case[rule][0] for case in cases]))]
            again = measure(*worst, count, 5 * asked.samples, candidates=False, seed=8)
            cells[rule] = (
                again[rule][0],
                float(np.median([case[rule][1] for case in cases])),
            )
        least = {rule: min(least[rule], cells.get(rule, (1.0,))[0]) for rule in rules}
        shown = (
            f"{cells[r][0]:.2f}, {cells[r][1]:.2f}" if r in cells else "" for r in rules
        )
        name = f"{len(pools)} stored cases"
        print(
            line.format(between.join([f"{name:36}", f"{count:2}", *shown])), flush=True
        )
    shown = (f"{least[rule]:9.2f}" for rule in rules)
    print(line.format(between.join([f"{'least coverage':36}", "  ", *shown])))


if __name__ == "__main__":
    main()
