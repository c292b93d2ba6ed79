"""How often does the interval of a rule hold what it is about, and how wide is it?

Samples of n seeds are drawn from populations such as verdicts meet: a few seeds fail, scores lie
near a bound, an accuracy takes few values, a difference is taken seed by seed. Each rule is asked
for a nominal 95% interval. "median" and "share" are what claims are judged by, "pseudo" judges
means; Student's was used before. "Anderson" (of the mean, exact) and "betting" (Waudby-Smith and
Ramdas 2023, predictable plug-in) are candidates that were not taken. ``share`` is the share of
seeds that reach a target, here the population's 30th percentile.

    python benchmarks/coverage.py [--samples 2000] [--seeds 5 8 16 32 64] [--markdown]

Where ``results/scores`` has claims with 32 seeds and more, their numbers are populations, too.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from inweights.support.intervals import (
    bounded_interval,
    interval,
    median_interval,
    share_interval,
)

ALPHA = 0.05
SCORES = Path(__file__).parents[1] / "results" / "scores"
Span = tuple[float, float, float]
Draw = Callable[[np.random.Generator, int], np.ndarray]


def populations() -> Iterator[tuple[str, Draw, tuple[float, float]]]:
    """Names, how many numbers are drawn, and the bounds of the score."""
    unit = (0.0, 1.0)
    for p in (0.02, 0.05, 0.1, 0.3):
        yield f"fails {p:g}", lambda rng, n, p=p: (rng.random(n) >= p) * 1.0, unit
    for p in (0.05, 0.1):
        yield (
            f"fails {p:g}, else Beta(20, 1)",
            lambda rng, n, p=p: rng.beta(20, 1, n) * (rng.random(n) >= p),
            unit,
        )
    for a, b in ((20, 1), (80, 20), (8, 2), (1, 20)):
        yield f"Beta({a}, {b})", lambda rng, n, a=a, b=b: rng.beta(a, b, n), unit
    yield "k of 20, Beta(20, 2)", lambda rng, n: rng.binomial(20, rng.beta(20, 2, n)) / 20, unit
    yield (
        "difference: fails .1, Beta(8, 2)",
        lambda rng, n: (rng.random(n) >= 0.1) - rng.beta(8, 2, n),
        (-1.0, 1.0),
    )
    yield (
        "difference: Beta(8, 2), Beta(2, 2)",
        lambda rng, n: rng.beta(8, 2, n) - rng.beta(2, 2, n),
        (-1.0, 1.0),
    )
    yield from stored()


def stored() -> Iterator[tuple[str, Draw, tuple[float, float]]]:
    """The numbers of every bounded claim with 32 seeds or more, resampled; all are one row."""
    if not (files := sorted(SCORES.glob("*.parquet"))):
        return
    import polars as pl

    table = pl.concat([pl.read_parquet(file) for file in files]).filter(
        pl.col("number").is_between(-1, 1)
    )
    keys = ["claim", "version", "scale", "case"]
    many = table.group_by(keys).agg("number").filter(pl.col("number").list.len() >= 32)
    pools = [np.array(numbers) for numbers in many["number"]]
    for pool in pools:
        bounds = (0.0 if pool.min() >= 0 else -1.0, 1.0)
        yield "stored", lambda rng, n, pool=pool: rng.choice(pool, n), bounds


def anderson(values: np.ndarray, bounds: tuple[float, float]) -> tuple[float, float]:
    """The means of the distributions within the one-sided DKW band, for each side."""
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
    """All means against which a hedged bettor has not won 1 / alpha."""
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
    ends = (held.min() - 0.0025, held.max() + 0.0025) if len(held) else (mean[-1], mean[-1])
    return low + ends[0] * (high - low), low + ends[1] * (high - low)


def measure(
    draw: Draw, bounds: tuple[float, float], count: int, samples: int
) -> dict[str, tuple[float, float]]:
    """Coverage and median width of each rule."""
    rng = np.random.default_rng(7)
    many = draw(rng, 400_000)
    mean, middle, target = many.mean(), np.median(many), np.quantile(many, 0.3)
    share = (many >= target).mean()
    found: dict[str, list[tuple[bool, float]]] = {}
    for _ in range(samples):
        values = draw(rng, count)
        listed: Sequence[float] = values.tolist()
        spans = {
            "Student": (mean, interval(values, ALPHA, bounds)[1:]),
            "pseudo": (mean, bounded_interval(listed, ALPHA, bounds)[1:]),
            "Anderson": (mean, anderson(values, bounds)),
            "betting": (mean, betting(values, bounds)),
            "median": (middle, np.clip(median_interval(listed, ALPHA)[1:], *bounds)),
            "share": (share, share_interval(int((values >= target).sum()), count, ALPHA)[1:]),
        }
        for rule, (true, (low, high)) in spans.items():
            holds = low - 1e-9 <= true <= high + 1e-9
            found.setdefault(rule, []).append((holds, float(high - low)))
    return {
        rule: (float(np.mean([h for h, _ in rows])), float(np.median([w for _, w in rows])))
        for rule, rows in found.items()
    }


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
            print(line.format(between.join([f"{name:36}", f"{count:2}", *shown])), flush=True)
    shown = (f"{least[rule]:9.2f}" for rule in rules)
    print(line.format(between.join([f"{'least coverage':36}", "  ", *shown])))


if __name__ == "__main__":
    main()
