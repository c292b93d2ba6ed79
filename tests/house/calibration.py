"""Fit the probabilities of predictions: ``python -m tests.house.calibration RUN``.

RUN is the folder of a run of ``beyond/calibrated-predictions``. The fit is written to
``fitted.json``, and its scores on families that it was not fitted to are printed. Claims
are about ``pilot.json``, which is not changed.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec
import numpy as np
import polars as pl
from scipy.optimize import minimize

from inweights.errors import SolverError
from inweights.recipes.beyond.calibrating import in_fifths, judged
from inweights.theory.prediction.calibration import fitted
from inweights.theory.prediction.calibration.features import (
    FEATURES,
    PROPERTIES,
    columns,
)
from inweights.theory.prediction.calibration.fitted import (
    MODELS,
    Calibration,
    Effects,
    Family,
    distance,
    said,
    sigmoid,
)
from inweights.worlds.arrays import Floats

#: Weight of the penalty on squared effects; worlds have a total weight of 1.
RIDGE = 1e-4


def fit(queries: pl.DataFrame, worlds: pl.DataFrame, replicas: int) -> Calibration:
    """Fit probabilities to trained worlds, once with all families and once without each.

    Args:
        queries: One row per query and model: ``family``, ``seed``, ``model``, ``query``,
            ``share`` (of the replicas that answer it) and the features.
        worlds: One row per world: ``family``, ``seed`` and the properties.
        replicas: Number of replicas of each model on each world.
    """
    names = worlds["family"].unique(maintain_order=True).to_list()
    spread = {
        name: max(float(np.std(worlds[name].to_numpy())), 1e-3) for name in PROPERTIES
    }
    families = {}
    for name in names:
        own, mine = worlds.filter(family=name), queries.filter(family=name)
        centre = {p: float(np.mean(own[p].to_numpy())) for p in PROPERTIES}
        distances = [distance(row, centre, spread) for row in own.iter_rows(named=True)]
        others = queries.filter(pl.col("family") != name)
        effects = effects_of(others)
        families[name] = Family(
            centre,
            max(float(np.quantile(distances, 0.9)), 0.1),
            errors_of(mine, effects),
            effects,
        )
    return Calibration(worlds.height, replicas, effects_of(queries), spread, families)


def effects_of(queries: pl.DataFrame) -> dict[str, Effects]:
    return {model: logistic(queries.filter(model=model)) for model in MODELS}


def logistic(queries: pl.DataFrame) -> Effects:
    """Fit a logistic regression with the signs of :data:`FEATURES`; worlds weigh the same."""
    matrix, names = columns(queries)
    share = queries["share"].to_numpy()
    weight = queries.select(1 / pl.len().over("family", "seed")).to_series().to_numpy()
    weight = weight / weight.sum()
    signs = [FEATURES.get(name, 1) for name in names]
    full = np.column_stack([matrix, np.ones(len(matrix))])
    pull = np.append(np.ones(len(names)), 0.0)

    def loss(effects: Floats) -> tuple[float, Floats]:
        logits = full @ effects
        value = weight @ (np.logaddexp(0, logits) - share * logits)
        slope = full.T @ (weight * (sigmoid(logits) - share))
        ridge = float(value + RIDGE * (pull * effects**2).sum())
        return ridge, slope + 2 * RIDGE * pull * effects

    bounds = [(0, None) if sign > 0 else (None, 0) for sign in signs] + [(None, None)]
    solved = minimize(
        loss, np.zeros(full.shape[1]), jac=True, bounds=bounds, method="L-BFGS-B"
    )
    if not solved.success:
        raise SolverError(
            f"the fit of probabilities did not converge: {solved.message}"
        )
    return dict(
        zip((*names, "constant"), (round(float(e), 6) for e in solved.x), strict=True)
    )


def errors_of(queries: pl.DataFrame, effects: Mapping[str, Effects]) -> Effects:
    """Return the 90th percentile over worlds of the error of the mean probability."""
    found = {}
    for model, own in effects.items():
        rows = queries.filter(model=model)
        off = (
            rows.with_columns(said=pl.Series(said(rows, own)))
            .group_by("seed")
            .agg((pl.col("said").mean() - pl.col("share").mean()).abs())
        )
        found[model] = round(
            float(np.quantile(off["said"].to_numpy(), 0.9, method="higher")), 4
        )
    return found


def refitted(queries: pl.DataFrame) -> Calibration:
    """Fit probabilities to the table ``queries`` of a run."""
    worlds = queries.group_by("family", "seed", maintain_order=True).agg(
        pl.col(f"world_{name}").first().alias(name) for name in PROPERTIES
    )
    return fit(queries, worlds, replicas=8)


def held_out(known: Calibration, queries: pl.DataFrame) -> str:
    """Return scores and reliability on families that were left out of the fit, as CSV."""
    rows, scores = judged(known, queries)
    means = pl.col("brier", "log_loss", "auc").mean().round(3)
    by = ["model", "predictor"]
    families = scores.group_by("family", *by, maintain_order=True).agg(means)
    whole = scores.group_by(by, maintain_order=True).agg(means, family=pl.lit("mean"))
    bins = (
        in_fifths(rows)
        .group_by("model", "bin")
        .agg(
            (
                (pl.col("probability", "share") * pl.col("queries")).sum()
                / pl.col("queries").sum()
            ).round(2)
        )
    )
    tables = (
        pl.concat([families, whole.select(families.columns)]),
        bins.sort("model", "bin"),
    )
    return "\n".join(table.write_csv() for table in tables)


if __name__ == "__main__":
    table = pl.read_parquet(Path(sys.argv[1]) / "tables" / "queries.parquet")
    made = refitted(table)
    text = msgspec.json.format(msgspec.json.encode(made), indent=1)
    Path(fitted.__file__).with_name("fitted.json").write_bytes(text + b"\n")
    print(held_out(made, table))
