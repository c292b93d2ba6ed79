"""Fit and judge the probabilities of queries with several right answers.

``python -m tests.house.several train DATASETS TABLE --first 0 --count 2`` trains small
models on worlds of each family (:mod:`tests.house.several_worlds`) and writes a row for
each query and model. ``… judge TABLE --pilot PILOT`` judges the claims of
``several.toml`` on a table, for each family with a fit to the other families of the
pilot; ``… fit TABLE …`` writes the calibration of the package. The fit to single answers
is not changed, as the new features are 0 for them.
"""

from __future__ import annotations

import argparse
import tomllib
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
import polars as pl
from scipy.optimize import minimize
from tests.house.several_worlds import worlds

from inweights.audit.prediction.by_training import predict_by_training
from inweights.errors import ConfigError, SolverError
from inweights.theory import predict
from inweights.theory.prediction.calibration import fitted
from inweights.theory.prediction.calibration.features import (
    OF_ANSWERS,
    PROPERTIES,
    SEVERAL,
    columns,
    properties,
    query_features,
)
from inweights.theory.prediction.calibration.fitted import (
    MODELS,
    Calibration,
    Effects,
    Family,
    above_chance,
    calibration,
    distance,
    said,
    sigmoid,
)
from inweights.worlds.arrays import Floats

CLAIMS = Path(__file__).with_name("several.toml")
#: Weight of the penalty on squared effects; worlds have a total weight of 1.
RIDGE = 1e-3
#: Number of replicas of each model on each world.
REPLICAS = 4
#: Family of a world, in which networks with edges stated in one direction are separated
#: from networks with edges stated in both.
KIND = (
    pl.when(pl.col("family") != "real: networks")
    .then("family")
    .when(pl.col("symmetric") < 0.5)
    .then(pl.lit("real: networks, one way"))
    .otherwise(pl.lit("real: networks, both ways"))
)


def measured(datasets: Path, first: int, count: int) -> pl.DataFrame:
    """Train models on worlds of every family; return one row per query and model."""
    parts = []
    for family, seed, world in worlds(datasets, first, count):
        queries = predict(world, answers="several", advise=False).queries
        features = query_features(world, queries)
        own = {
            f"world_{name}": pl.lit(value) for name, value in properties(world).items()
        }
        answered = predict_by_training(world, replicas=REPLICAS, seed=seed).queries
        kept = queries.select(
            "query", "prompt", "right_answers", "chance", "expected", "verdict"
        )
        table = kept.join(features, on="query", maintain_order="left").with_columns(
            **own
        )
        labels = {"family": pl.lit(family), "seed": pl.lit(seed)}
        rows = answered.select("model", "query", "share").join(table, on="query")
        parts.append(rows.with_columns(**labels))
        chance = mean(queries["chance"])
        shares = [
            f"{model} {mean(rows.filter(model=model)['share']):.2f}" for model in MODELS
        ]
        shown = ", ".join(shares)
        print(
            f"{family} {seed}: {len(world.facts)} facts, chance {chance:.2f}, {shown}"
        )
    return pl.concat(parts)


def effects_of(queries: pl.DataFrame) -> dict[str, Effects]:
    """Return each model's effects: those of single answers, and added ones of several."""
    return {model: _added(model, queries.filter(model=model)) for model in MODELS}


def _added(model: str, queries: pl.DataFrame) -> Effects:
    """Fit the effects of several answers with the others fixed; worlds weigh the same."""
    known = {n: e for n, e in calibration().effects[model].items() if n not in SEVERAL}
    matrix, names = columns(queries)
    base = matrix @ [known.get(name, 0.0) for name in names] + known["constant"]
    added = queries.select(list(SEVERAL)).to_numpy()
    share = queries["share"].to_numpy()
    weight = queries.select(1 / pl.len().over("family", "seed")).to_series().to_numpy()
    weight = weight / weight.sum()

    def loss(effects: Floats) -> tuple[float, Floats]:
        logits = base + added @ effects
        value = weight @ (np.logaddexp(0, logits) - share * logits)
        slope = added.T @ (weight * (sigmoid(logits) - share))
        return float(value + RIDGE * (effects**2).sum()), slope + 2 * RIDGE * effects

    bounds = [(0, None) if sign else (None, None) for sign in SEVERAL.values()]
    solved = minimize(
        loss, np.zeros(len(SEVERAL)), jac=True, bounds=bounds, method="L-BFGS-B"
    )
    if not solved.success:
        raise SolverError(
            f"the fit of probabilities did not converge: {solved.message}"
        )
    new = zip(SEVERAL, (round(float(e), 6) for e in solved.x), strict=True)
    return {**known, **dict(new)}


def with_probabilities(
    queries: pl.DataFrame, fits: dict[str, dict[str, Effects]]
) -> pl.DataFrame:
    """Add probabilities by the fit of the row's family.

    ``probability`` is the printed probability, which is at least chance, ``unbounded`` is
    the same without this bound, and ``before`` is by the fit to single answers.
    """
    parts = []
    for (family, model), rows in queries.group_by(
        "family", "model", maintain_order=True
    ):
        own = fits[str(family)][str(model)]
        old = {name: value for name, value in own.items() if name not in SEVERAL}
        parts.append(
            rows.with_columns(
                probability=above_chance(pl.Series(said(rows, own)), rows["chance"]),
                unbounded=pl.Series(said(rows, own)),
                before=pl.Series(said(rows, old)),
            )
        )
    return pl.concat(parts)


def without_each(queries: pl.DataFrame) -> dict[str, dict[str, Effects]]:
    """Return for every family the effects that are fitted to all other families."""
    names = queries["family"].unique(maintain_order=True).to_list()
    return {
        name: effects_of(queries.filter(pl.col("family") != name)) for name in names
    }


def by_world(rows: pl.DataFrame) -> pl.DataFrame:
    """Return means over the queries of every world, with Brier scores of single replicas."""
    share = pl.col("share")

    def brier(column: str) -> pl.Expr:
        value = share * (1 - pl.col(column)) ** 2 + (1 - share) * pl.col(column) ** 2
        return value.mean().alias(f"brier of {column}")

    return rows.group_by("family", "seed", "model", maintain_order=True).agg(
        pl.len().alias("queries"),
        pl.col(
            "right_answers", "chance", "before", "unbounded", "probability", "share"
        ).mean(),
        *(brier(column) for column in ("probability", "unbounded", "before", "chance")),
    )


def scores_of(worlds: pl.DataFrame) -> dict[str, float]:
    """Return the scores that the claims are about, by name."""
    found: dict[str, float] = {}
    real = worlds.filter(pl.col("family").str.starts_with("real"))
    for model in MODELS:
        own, graphs = worlds.filter(model=model), real.filter(model=model)
        error = (graphs["probability"] - graphs["share"]).abs()
        brier = own["brier of probability"]
        found |= {
            f"brier, {model}": mean(brier),
            f"gain over chance, {model}": mean(own["brier of chance"] - brier),
            f"cost of the bound, {model}": mean(brier - own["brier of unbounded"]),
            f"gain over before, {model}": mean(
                own["brier of before"] - own["brier of unbounded"]
            ),
            f"median error of real graphs, {model}": float(np.median(error.to_numpy())),
            f"real graphs within .2, {model}": mean(error <= 0.2),
        }
    lead = worlds["probability"] - worlds["chance"]
    return found | {"lowest lead over chance": float(lead.to_numpy().min())}


def mean(numbers: pl.Series) -> float:
    """Return the mean of a column."""
    return float(np.mean(numbers.to_numpy()))


def verdicts(scores: dict[str, float]) -> pl.DataFrame:
    """Return the measured score of each claim, and whether the claim holds."""
    rows = []
    for claim in tomllib.loads(CLAIMS.read_text(encoding="utf-8"))["claim"]:
        value = scores[claim["score"]]
        holds = claim.get("least", -np.inf) <= value <= claim.get("most", np.inf)
        rows.append(
            (claim["text"], round(value, 3), "holds" if holds else "does not hold")
        )
    return pl.DataFrame(rows, schema=("claim", "measured", "verdict"), orient="row")


def joined(queries: pl.DataFrame) -> Calibration:
    """Return the calibration of single answers with these families added.

    Worlds with single answers have 0 in the properties of answers. Their distances to the
    earlier families and the radii of these families shrink by the same factor, so that
    nothing changes for such worlds.
    """
    old = calibration()
    if set(old.spread) & set(OF_ANSWERS):
        raise ConfigError(
            "the stored calibration has such families already; restore the old one"
        )
    names = [*PROPERTIES, *OF_ANSWERS]
    worlds = queries.group_by("family", "seed", maintain_order=True).agg(
        pl.col(f"world_{name}").first().alias(name) for name in names
    )
    worlds = worlds.with_columns(kind=KIND)
    spread = {name: old.spread[name] for name in PROPERTIES}
    for name in OF_ANSWERS:
        spread[name] = max(float(np.std(worlds[name].to_numpy(), ddof=1)), 1e-3)
    shrunk = np.sqrt(len(old.spread) / len(spread))
    families = {
        name: msgspec.structs.replace(family, radius=float(family.radius * shrunk))
        for name, family in old.families.items()
    }
    fits = without_each(queries)
    means = by_world(with_probabilities(queries, fits))
    means = means.join(worlds.select("family", "seed", "kind"), on=["family", "seed"])
    for (family, kind), own in worlds.group_by("family", "kind", maintain_order=True):
        centre = {p: float(np.mean(own[p].to_numpy())) for p in spread}
        distances = [distance(row, centre, spread) for row in own.iter_rows(named=True)]
        errors = {}
        for model in MODELS:
            rows = means.filter(kind=kind, model=model)
            off = (rows["probability"] - rows["share"]).abs().to_numpy()
            errors[model] = round(float(np.quantile(off, 0.9, method="higher")), 4)
        radius = max(float(np.quantile(distances, 0.9)), 0.1)
        families[str(kind)] = Family(centre, radius, errors, fits[str(family)])
    count = old.worlds + worlds.height
    return Calibration(count, old.replicas, effects_of(queries), spread, families)


def _read(tables: Sequence[Path]) -> pl.DataFrame:
    return pl.concat([pl.read_parquet(table) for table in tables], how="diagonal")


def main() -> None:
    """Train, judge or fit, as the first argument names."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("what", choices=["train", "judge", "fit"])
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=2)
    parser.add_argument("--pilot", type=Path)
    given = parser.parse_args()
    pl.Config(tbl_rows=200, tbl_cols=20, tbl_width_chars=200, fmt_str_lengths=90)
    if given.what == "train":
        datasets, table = given.paths
        measured(datasets, given.first, given.count).write_parquet(table)
    elif given.what == "judge":
        queries = _read(given.paths)
        fits = without_each(pl.read_parquet(given.pilot) if given.pilot else queries)
        means = by_world(with_probabilities(queries, fits))
        numbers = pl.selectors.float()
        print(
            means.group_by("family", "model", maintain_order=True).agg(
                numbers.mean().round(3)
            )
        )
        print(verdicts(scores_of(means)))
    else:
        made = joined(_read(given.paths))
        text = msgspec.json.format(msgspec.json.encode(made), indent=1)
        Path(fitted.__file__).with_name("fitted.json").write_bytes(text + b"\n")


if __name__ == "__main__":
    main()
