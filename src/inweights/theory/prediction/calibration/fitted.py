"""Give the probability that trained networks answer a query, by a fit to them.

:func:`calibration` returns the fit, whose :meth:`~Calibration.probabilities` and
:meth:`~Calibration.nearest` predictions print. ``tests/house/calibration.py`` of the
repository makes it.
"""

from collections.abc import Mapping
from functools import lru_cache
from importlib import resources

import msgspec
import numpy as np
import polars as pl

from inweights.theory.prediction.calibration.features import columns, properties
from inweights.worlds.arrays import Floats
from inweights.worlds.world import World

#: Models that probabilities were fitted to.
MODELS = ("Emb-MLP", "GPT")
#: Probabilities from which an answer is likely, and up to which it is unlikely.
LIKELY = 2 / 3
UNLIKELY = 1 / 3
#: Distance over its radius from which on the nearest family says little.
FAR = 1.5
#: What is said of a query of a world that no family is near to.
UNCALIBRATED = "uncalibrated"

Effects = dict[str, float]


class Family(msgspec.Struct, frozen=True):
    """Worlds of one kind, on which the probabilities were measured.

    Attributes:
        properties: Mean of the properties of its worlds.
        radius: Distance from there of nine in ten of its own worlds.
        error: By model, the 90th percentile over its worlds (the next world's above) of
            the distance between the mean probability and the share of right answers;
            fitted without this family.
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
        error: By model, the error of nine in ten of its worlds; where the family is
            farther away than :data:`FAR`, the largest of all families.
    """

    name: str
    distance: float
    error: Effects

    @property
    def far(self) -> bool:
        """Whether the world is unlike every family, so that the probabilities mean little."""
        return self.distance > FAR

    @property
    def vague(self) -> bool:
        """Whether nothing can be called likely or unlikely of a world.

        It is so where no family is near, and where the share of right answers of the
        nearest one was off by more than lies between likely and unlikely.
        """
        return self.far or self.error["GPT"] > LIKELY - UNLIKELY


class Calibration(msgspec.Struct, frozen=True):
    """A fit, and how well it did.

    Attributes:
        worlds: Number of worlds.
        replicas: Number of replicas of each model on each world, at most.
        effects: By model, the effect of each feature on the log odds, and the
            ``constant``.
        spread: Standard deviation of each property over all worlds.
        families: The families by name.
    """

    worlds: int
    replicas: int
    effects: dict[str, Effects]
    spread: Effects
    families: dict[str, Family]

    def probabilities(self, features: pl.DataFrame, without: str = "") -> pl.DataFrame:
        """Return the probability of each model that it answers a query rightly.

        Args:
            features: As :func:`~.features.query_features` returns them.
            without: Name of a family; then the fit is taken that has not seen it. By
                default the fit to all families.

        Returns:
            ``query``, and a column per model.
        """
        effects = self.families[without].effects if without else self.effects
        found = {
            model: pl.Series(said(features, own)) for model, own in effects.items()
        }
        return features.select("query").with_columns(**found)

    def nearest(self, world: World) -> Nearest:
        """Return the family whose worlds are most like a given one.

        Where no query has several right answers, only families of which that is true
        are considered.
        """
        own = properties(world)
        families = {
            name: family
            for name, family in self.families.items()
            if own["right"] or not family.properties.get("right")
        }
        distances = {
            name: distance(own, family.properties, self.spread) / family.radius
            for name, family in families.items()
        }
        name = min(distances, key=distances.__getitem__)
        errors = [family.error for family in families.values()]
        worst = {}
        for model in MODELS:
            worst[model] = max(error[model] for error in errors)
        far = distances[name] > FAR
        return Nearest(
            name, distances[name], worst if far else self.families[name].error
        )


@lru_cache
def calibration(name: str = "fitted") -> Calibration:
    """Return a fit: ``fitted``, which predictions print, or the earlier ``pilot``.

    Both were fitted to worlds of the families of ``beyond/calibrated-predictions``:
    ``fitted`` to those of its judged run, the ``pilot`` to four others of each.
    """
    text = resources.files(__package__).joinpath(f"{name}.json").read_bytes()
    return msgspec.json.decode(text, type=Calibration)


def outlook(probability: float | None) -> str:
    """Return ``likely``, ``unlikely`` or ``open``; empty if there is no probability.

    Example:
        >>> outlook(0.9), outlook(0.5), outlook(0.1)
        ('likely', 'open', 'unlikely')
    """
    if probability is None:
        return ""
    if probability >= LIKELY:
        return "likely"
    return "unlikely" if probability <= UNLIKELY else "open"


def said(features: pl.DataFrame, effects: Effects) -> Floats:
    """Return the probability of each row of features.

    Args:
        features: As :func:`~.features.query_features` returns them.
        effects: The effect of each feature on the log odds, and the ``constant``.
    """
    matrix, names = columns(features)
    # A fit that was made before there were queries with several right answers knows
    # nothing of them, and they are 0 for all others.
    return sigmoid(
        matrix @ [effects.get(name, 0.0) for name in names] + effects["constant"]
    )


def above_chance(probabilities: pl.Series, chances: pl.Series) -> pl.Series:
    """Return probabilities that are nowhere below the chance of a guess.

    Args:
        probabilities: One probability per query; null if there is none.
        chances: Chance of a guess for each query; null if there is no right answer.
    """
    both = pl.DataFrame(
        {"probability": probabilities, "chance": chances.fill_null(0.0)}
    )
    return both.select(pl.max_horizontal(pl.all())).to_series()


def distance(one: Mapping[str, float], other: Effects, spread: Effects) -> float:
    """Return the root mean square of the differences, in standard deviations over all worlds.

    Args:
        one: Properties of a world, by name.
        other: Properties of another, or of a family.
        spread: Standard deviation of each property.
    """
    gaps = [(one[name] - other.get(name, 0.0)) / spread[name] for name in spread]
    return float(np.sqrt(np.mean(np.square(gaps))))


def sigmoid(logits: Floats) -> Floats:
    """Return the probabilities of log odds."""
    return np.asarray(0.5 * (1 + np.tanh(logits / 2)))
