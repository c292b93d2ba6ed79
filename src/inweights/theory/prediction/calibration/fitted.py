"""Compute the probability that trained networks answer a query, from a fit to such networks.

:func:`calibration` returns the fit. Predictions print its
:meth:`~Calibration.probabilities` and the family of worlds from
:meth:`~Calibration.nearest`. ``tests/house/calibration.py`` in the repository computes
it.
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

#: Models to which probabilities were fitted.
MODELS = ("Emb-MLP", "GPT")
#: Smallest probability of a likely answer, and largest probability of an unlikely
#: answer.
LIKELY = 2 / 3
UNLIKELY = 1 / 3
#: Distance, relative to the radius, above which the nearest family is not informative.
FAR = 1.5
#: Outlook of queries for which the fit is too uncertain.
UNCALIBRATED = "uncalibrated"

Effects = dict[str, float]


class Family(msgspec.Struct, frozen=True):
    """A family of calibration worlds, on which networks were trained to measure probabilities.

    Attributes:
        properties: Mean of each property over the worlds of the family
            (:func:`~.features.properties`).
        radius: Distance from this mean (:func:`distance`) within which 90% of the
            worlds lie.
        error: For each model (``Emb-MLP`` and ``GPT``), the 90th percentile over the
            worlds of the absolute difference between the mean predicted probability and
            the fraction of correct answers. The prediction is from a fit to the other
            families.
        effects: For each model, the coefficient of each feature in the log odds, and
            the ``constant``, in the fit to the other families.
    """

    properties: Effects
    radius: float
    error: Effects
    effects: dict[str, Effects]


class Nearest(msgspec.Struct, frozen=True):
    """The family of calibration worlds that is nearest to a given world.

    Attributes:
        name: Name of the family.
        distance: Distance of the world from the mean of the family, divided by the
            radius of the family.
        error: The error of the family for each model, as a difference of fractions from
            0 to 1 (:class:`Family`). If ``distance`` is above 1.5 (:data:`FAR`), it is
            the largest error of all families.
    """

    name: str
    distance: float
    error: Effects

    @property
    def far(self) -> bool:
        """Whether the world is unlike every family of calibration worlds.

        This is so if :attr:`distance`, in units of the radius of the nearest family, is
        above 1.5.
        """
        return self.distance > FAR

    @property
    def vague(self) -> bool:
        """Whether the fit is too uncertain to rate any answer as likely or unlikely.

        This is so if no family of calibration worlds is near (:attr:`far`), or if the
        error of the nearest family for the GPT is larger than 1/3, the difference
        between :data:`LIKELY` and :data:`UNLIKELY`.
        """
        return self.far or self.error["GPT"] > LIKELY - UNLIKELY


class Calibration(msgspec.Struct, frozen=True):
    """A model of the probability of correct answers, fitted to networks trained on many worlds.

    Attributes:
        worlds: Number of worlds to which the model was fitted.
        replicas: Largest number of replicas of each model on a world.
        effects: For each model, the coefficient of each feature in the log odds, and
            the ``constant``.
        spread: Standard deviation of each property over all worlds.
        families: The families, keyed by name.
    """

    worlds: int
    replicas: int
    effects: dict[str, Effects]
    spread: Effects
    families: dict[str, Family]

    def probabilities(self, features: pl.DataFrame, without: str = "") -> pl.DataFrame:
        """Return the probabilities that an Emb-MLP and a GPT answer each query correctly.

        Args:
            features: Table of :func:`~.features.query_features`.
            without: Name of a family, a key of :attr:`families`. The probabilities are
                then those of the fit without this family. The default, an empty string,
                selects the fit to all families.

        Returns:
            One row per row of ``features``, with the columns ``query``, and ``Emb-MLP``
            and ``GPT``, the probabilities from 0 to 1 for each model.

        Raises:
            KeyError: There is no family with the name ``without``.
        """
        effects = self.families[without].effects if without else self.effects
        found = {
            model: pl.Series(said(features, own)) for model, own in effects.items()
        }
        return features.select("query").with_columns(**found)

    def nearest(self, world: World) -> Nearest:
        """Return the family of calibration worlds whose mean is nearest to a world.

        The distance is the root mean square difference of the properties, each in
        standard deviations over all worlds (:func:`distance`), divided by the radius of
        the family. If no query of the world has several correct answers, only families
        without such queries are considered.

        Args:
            world: The world.

        Returns:
            The name of the nearest family, its distance, and its errors (or, if the
            distance is above 1.5, the largest errors of all families).
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
    """Load a fitted model of the probability of correct answers.

    Args:
        name: ``fitted``, which predictions use, or the earlier ``pilot``. Both were
            fitted to worlds of the families of ``beyond/calibrated-predictions``:
            ``fitted`` to the worlds of its final run, ``pilot`` to four other worlds of
            each family.

    Returns:
        The fitted model; repeated calls return the same object.

    Raises:
        FileNotFoundError: There is no fit with this name.
    """
    text = resources.files(__package__).joinpath(f"{name}.json").read_bytes()
    return msgspec.json.decode(text, type=Calibration)


def outlook(probability: float | None) -> str:
    """Return ``likely``, ``unlikely`` or ``open`` for a probability.

    Args:
        probability: Probability of a correct answer; ``None`` if it is not known.

    Returns:
        ``likely`` for probabilities of at least 2/3 (:data:`LIKELY`), ``unlikely`` for
        probabilities of at most 1/3 (:data:`UNLIKELY`), otherwise ``open``; an empty
        string for ``None``.

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
    """Return the probability of a correct answer for each row of features.

    Args:
        features: Table of :func:`~.features.query_features`.
        effects: The coefficient of each feature in the log odds, and the ``constant``.

    Returns:
        Probabilities ``[Q]`` (``Q`` rows).
    """
    matrix, names = columns(features)
    # A fit from before there were queries with several correct answers has no effects
    # of their features, which are 0 for all other queries.
    return sigmoid(
        matrix @ [effects.get(name, 0.0) for name in names] + effects["constant"]
    )


def above_chance(probabilities: pl.Series, chances: pl.Series) -> pl.Series:
    """Return each probability, or the chance of a correct guess if the chance is larger.

    Args:
        probabilities: One probability per query; null if it is not known.
        chances: Probability that a guess is correct, for each query; null if the query
            has no correct answer.

    Returns:
        The larger of the two numbers for each query. A null is ignored; if both numbers
        are null, the result is 0.
    """
    both = pl.DataFrame(
        {"probability": probabilities, "chance": chances.fill_null(0.0)}
    )
    return both.select(pl.max_horizontal(pl.all())).to_series()


def distance(one: Mapping[str, float], other: Effects, spread: Effects) -> float:
    """Return the root mean square difference of properties, in standard deviations over all worlds.

    Args:
        one: Properties of a world, keyed by name.
        other: Properties of another world, or means of a family; a missing property is
            treated as 0.
        spread: Standard deviation of each property, above 0. Only the properties in
            this dictionary are compared.

    Returns:
        The distance; 0 if all properties are equal.
    """
    gaps = [(one[name] - other.get(name, 0.0)) / spread[name] for name in spread]
    return float(np.sqrt(np.mean(np.square(gaps))))


def sigmoid(logits: Floats) -> Floats:
    """Return the probabilities that correspond to log odds.

    Args:
        logits: Log odds, in any shape.

    Returns:
        Probabilities from 0 to 1, in the same shape.
    """
    return np.asarray(0.5 * (1 + np.tanh(logits / 2)))
