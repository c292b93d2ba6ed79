"""Lemma 18 of Feature Resemblance: products of the states of a deep linear network."""

import polars as pl

import inweights as iw
from inweights import experiments
from inweights.config.ranges import PositiveFloat, PositiveInt

CASES = {"lengths": "length", "products": "same", "others": "other"}


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``lemma_18.toml``. A value of the wrong type raises a
    ``ConfigError``; ranges are checked when the recipe is run.

    Attributes:
        widths: Widths of the network, all of whose layers are square.
        layers: Number of layers of the network.
        labels: Number of labels.
        per_label: Number of inputs of each label; all inputs are orthonormal.
        share: Learning rate of a layer times its number of steps, divided by the number
            of inputs (``ηT/N``).
    """

    widths: tuple[PositiveInt, ...] = (128, 384, 1024)
    layers: PositiveInt = 7
    labels: PositiveInt = 50
    per_label: PositiveInt = 2
    share: PositiveFloat = 0.05


def plan(settings: Settings) -> experiments.Plan:
    """Plan the computation of the states of a random network of each width, layer by layer.

    Numbers that are out of range are rejected when the computation runs, not here.

    Args:
        settings: The recipe's settings, such as ``widths``, ``layers`` and ``labels``;
            :class:`Settings` describes each.

    Returns:
        The plan, with the computation ``states``
        (:func:`~inweights.theory.feature_resemblance.depth.lemma_18`), for each seed,
        with the label ``width`` (128, 384, 1024). The label values listed below are
        those of the default settings.
    """
    from inweights.theory.feature_resemblance.depth import lemma_18

    sizes = {
        name: getattr(settings, name)
        for name in ("layers", "labels", "per_label", "share")
    }
    return experiments.Plan(
        computations=[
            experiments.Computation(
                name="states",
                labels={"width": width},
                compute=lemma_18,
                options={"width": width, **sizes},
                seeded=True,
                effort=20,
            )
            for width in settings.widths
        ]
    )


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return the distances of the networks from their infinite-width limit, by layer and width.

    Args:
        tables: The tables that result from :func:`plan`, by name: ``states``
            (:func:`~inweights.theory.feature_resemblance.depth.lemma_18`) with the
            columns ``width, seed, layer, length, same, other, cosine``.

    Returns:
        - ``widest``: a row per layer and seed of the widest network, with the distances
          of three quantities from their limits: the length of a state (``length``), the
          product of two states with the same label (``same``), and the product of two
          states with different labels (``other``). Columns: all columns of ``states``.
        - ``nearness``: a row per seed, with ``ratio``, the mean distance of the widest
          network (over layers and the three distances) divided by the mean distance of
          the narrowest. Columns: ``seed, ratio``.
        - ``shown``: a row per width, layer, seed and value of ``what`` (``length``,
          ``same label`` or ``other label``), with the distance as ``value``. Columns:
          ``width, layer, seed, what, value``.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    states = tables["states"]
    width = pl.col("width")
    keys = ["width", "layer", "seed"]
    mean = pl.mean_horizontal(*CASES.values())
    distances = states.group_by("width", "seed", maintain_order=True).agg(
        mean=mean.mean()
    )
    of = {
        name: pl.col("mean").sort_by("width").get(at)
        for name, at in (("wide", -1), ("thin", 0))
    }
    return {
        "widest": states.filter(width == width.max()),
        "nearness": distances.group_by("seed", maintain_order=True).agg(
            ratio=of["wide"] / of["thin"]
        ),
        "shown": states.unpivot(
            list(CASES.values()), index=keys, variable_name="what"
        ).with_columns(
            pl.col("what").replace(
                {"length": "length", "same": "same label", "other": "other label"}
            )
        ),
    }


SCORES = {
    f"lemma-18-{name}": experiments.number("widest", column).over("layer") <= 0.2
    for name, column in CASES.items()
} | {"nearer-when-wider": experiments.number("nearness", "ratio") <= 0.5}
