"""A small monotone model of how likely trained networks are to answer a query."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib import resources

import msgspec
import numpy as np
import polars as pl

from inweights.theory.prediction.calibration.features import (
    FEATURES,
    PROPERTIES,
    columns,
    properties,
)
from inweights.worlds.arrays import Floats
from inweights.worlds.world import World

#: Models that probabilities were fitted to.
MODELS = ("Emb-MLP", "GPT")
#: Probabilities from which an answer is likely, and up to which it is unlikely.
LIKELY, UNLIKELY = 2 / 3, 1 / 3
#: Distance over its radius from which on the nearest family says little.
FAR = 1.5
#: Penalty of squared effects, for each world.
_RIDGE = 1e-4

Effects = dict[str, float]


class Family(msgspec.Struct, frozen=True):
    """Worlds of one kind, on which the probabilities were measured.

    Attributes:
        properties: Mean of the properties of its worlds.
        radius: Distance from there of nine in ten of its own worlds.
        error: By model, the 90th percentile over its worlds (the next world's above) of the
            distance between the mean probability and the share of right answers; fitted without
            this family.
        effects: By model, what was fitted without this family.
    """

    properties: Effects
    radius: float
    error: Effects
    effects: dict[str, Effects]


class Nearest(msgspec.Struct, frozen=True):
    """The family nearest to a world.

    Attributes:
        name: Its name.
        distance: Distance from its centre, over that of nine in ten of its own worlds.
        error: By model, the error of nine in ten of its worlds; where the family is farther away
            than :data:`FAR`, the largest of all families.
    """

    name: str
    distance: float
    error: Effects


class Calibration(msgspec.Struct, frozen=True):
    """What was fitted, and how well it did.

    Attributes:
        worlds: Number of worlds.
        replicas: Of each model on each world.
        effects: By model, the effect of each feature on the log odds, and the ``constant``.
        spread: Standard deviation of each property over all worlds.
        families: The families by name.
    """

    worlds: int
    replicas: int
    effects: dict[str, Effects]
    spread: Effects
    families: dict[str, Family]

    def probabilities(self, features: pl.DataFrame, without: str = "") -> pl.DataFrame:
        """Return ``query`` and the probability of each model that it is answered rightly.

        Args:
            features: As :func:`~.features.query_features` returns them.
            without: A family; then that fit is taken which has not seen it.
        """
        effects = self.families[without].effects if without else self.effects
        found = {model: pl.Series(_said(features, own)) for model, own in effects.items()}
        return features.select("query").with_columns(**found)

    def nearest(self, world: World) -> Nearest:
        """Return the family whose worlds are most like a given one."""
        own = properties(world)
        distances = {
            name: _distance(own, family.properties, self.spread) / family.radius
            for name, family in self.families.items()
        }
        name = min(distances, key=distances.__getitem__)
        errors = [family.error for family in self.families.values()]
        worst = {model: max(error[model] for error in errors) for model in MODELS}
        far = distances[name] > FAR
        return Nearest(name, distances[name], worst if far else self.families[name].error)


@lru_cache
def calibration(name: str = "fitted") -> Calibration:
    """Return what predictions print, or the ``pilot`` that was judged before.

    Both were fitted to worlds of the families of ``beyond/calibrated-predictions``: ``fitted`` to
    those of its judged run, the ``pilot`` to four others of each.
    """
    text = resources.files(__package__).joinpath(f"{name}.json").read_bytes()
    return msgspec.json.decode(text, type=Calibration)


def outlook(probability: float | None) -> str:
    """Return ``likely``, ``unlikely`` or ``open``; empty where there is no probability.

    Example:
        >>> outlook(0.9), outlook(0.5), outlook(0.1)
        ('likely', 'open', 'unlikely')
    """
    if probability is None:
        return ""
    return "likely" if probability >= LIKELY else "unlikely" if probability <= UNLIKELY else "open"


def fit(queries: pl.DataFrame, worlds: pl.DataFrame, replicas: int) -> Calibration:
    """Fit probabilities to trained worlds, once with all families and once without each.

    Args:
        queries: A row a query and model: ``family``, ``seed``, ``model``, ``query``, ``share`` (of
            the replicas that answer it) and the features.
        worlds: A row a world: ``family``, ``seed`` and the properties.
        replicas: Of each model on each world.
    """
    names = worlds["family"].unique(maintain_order=True).to_list()
    spread = {name: max(float(np.std(worlds[name].to_numpy())), 1e-3) for name in PROPERTIES}
    families = {}
    for name in names:
        own, mine = worlds.filter(family=name), queries.filter(family=name)
        centre = {p: float(np.mean(own[p].to_numpy())) for p in PROPERTIES}
        distances = [_distance(row, centre, spread) for row in own.iter_rows(named=True)]
        others = queries.filter(pl.col("family") != name)
        effects = _effects(others)
        families[name] = Family(
            centre, max(float(np.quantile(distances, 0.9)), 0.1), _errors(mine, effects), effects
        )
    return Calibration(worlds.height, replicas, _effects(queries), spread, families)


def _effects(queries: pl.DataFrame) -> dict[str, Effects]:
    return {model: _logistic(queries.filter(model=model)) for model in MODELS}


def _logistic(queries: pl.DataFrame) -> Effects:
    """Logistic regression on shares with the signs of :data:`FEATURES`; each world counts alike."""
    from scipy.optimize import minimize

    from inweights.errors import SolverError

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
        slope = full.T @ (weight * (_sigmoid(logits) - share))
        ridge = float(value + _RIDGE * (pull * effects**2).sum())
        return ridge, slope + 2 * _RIDGE * pull * effects

    bounds = [(0, None) if sign > 0 else (None, 0) for sign in signs] + [(None, None)]
    solved = minimize(loss, np.zeros(full.shape[1]), jac=True, bounds=bounds, method="L-BFGS-B")
    if not solved.success:
        raise SolverError(f"the fit of probabilities did not converge: {solved.message}")
    return dict(zip((*names, "constant"), (round(float(e), 6) for e in solved.x), strict=True))


def _errors(queries: pl.DataFrame, effects: Mapping[str, Effects]) -> Effects:
    """The 90th percentile over worlds of how far a mean probability is from the share."""
    found = {}
    for model, own in effects.items():
        rows = queries.filter(model=model)
        off = rows.with_columns(said=pl.Series(_said(rows, own))).group_by("seed").agg(
            (pl.col("said").mean() - pl.col("share").mean()).abs()
        )  # fmt: skip
        found[model] = round(float(np.quantile(off["said"].to_numpy(), 0.9, method="higher")), 4)
    return found


def _said(features: pl.DataFrame, effects: Effects) -> Floats:
    """The probability of each row."""
    matrix, names = columns(features)
    return _sigmoid(matrix @ [effects[name] for name in names] + effects["constant"])


def _distance(one: Mapping[str, float], other: Effects, spread: Effects) -> float:
    """Root mean square of the differences, in standard deviations over all worlds."""
    gaps = [(one[name] - other[name]) / spread[name] for name in PROPERTIES]
    return float(np.sqrt(np.mean(np.square(gaps))))


def _sigmoid(logits: Floats) -> Floats:
    return np.asarray(0.5 * (1 + np.tanh(logits / 2)))
