"""Figure 1 of Geometric Memory: how every architecture stores four tiny graphs."""

import polars as pl

import inweights as iw
from inweights.config.ranges import PositiveInt
from inweights.experiments import Plan, cosine, share
from inweights.recipes.geometric_memory import common as gm
from inweights.recipes.geometric_memory import filming
from inweights.recipes.geometric_memory.derived import judged
from inweights.worlds.families.graphs.graph import Graph


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``fig1.toml``. A value of the wrong type raises a
    ``ConfigError``; :func:`plan` checks most ranges.

    Attributes:
        graphs: Names of the tiny graphs to use, any of ``path-star``, ``grid``,
            ``cycle`` and ``irregular``.
        descent: Settings of Node2Vec and its gradient descent.
        most: Maximum number of updates per training run. If ``None`` (the default) or
            0, the paper's number is used.
        looks: Approximate number of frames that are recorded during a training run, at
            least 1; 40 of them are stored.
        draws: Number of random embeddings from which each null distribution is
            estimated.
    """

    graphs: tuple[gm.Shape, ...] = gm.GRAPHS
    descent: gm.Node2VecDescent = gm.Node2VecDescent()
    most: int | None = None
    looks: int = 500
    draws: PositiveInt = 50


def _world(shape: gm.Shape) -> Graph:
    """Return a graph whose nodes are numbered in order, so that neighbours have similar numbers."""
    return Graph(shape=shape, shuffled=False)


def plan(settings: Settings) -> Plan:
    """Plan a training run of every architecture on every graph, with recordings for the first seed.

    Args:
        settings: The recipe's settings, such as ``graphs``, ``descent`` and ``most``;
            :class:`Settings` describes each.

    Returns:
        The plan. The label values listed below are those of the default settings.

        - Labels of the trials: ``graph`` (path-star, grid, cycle, irregular),
          ``architecture`` (associative: TinyNN with frozen embeddings; TinyNN; TinyGPT;
          TinySSM: a Mamba; Node2Vec), and ``condition`` (the code's, ours).
        - Measures: ``recall`` (:func:`inweights.probes.graph_recall`), ``correlation``
          (:func:`inweights.probes.hop_correlation` with ``draws=50``) and ``film``
          (:func:`inweights.probes.snapshot`; during training, only for the first seed
          and in the condition ``the code's``).

        ``condition`` is ``the code's`` (the settings of the paper's code), ``the
        code's, bf16`` (the same in emulated bfloat16) or ``ours`` (our own, simpler
        vocabulary and initialisation).

    Raises:
        ConfigError: ``looks`` is below 1, ``most`` is negative, or a value in
            ``descent`` is out of range.
    """
    return filming.filmed(
        {shape: _world(shape) for shape in settings.graphs},
        lambda architecture, shape: gm.training(
            architecture, shape, most=settings.most
        ),
        settings.descent,
        looks=settings.looks,
        draws=settings.draws,
        conditions=gm.CONDITIONS,
    )


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return the frames of the animations, the drawn graphs, and the tables used by claims.

    Args:
        tables: The tables that result from :func:`plan`, by name. All tables have the
            columns ``graph, architecture, condition, seed``. Accuracies and recall are
            fractions from 0 to 1.

            - ``recall``, from :func:`inweights.probes.graph_recall`, with the
              additional columns ``recall, worst, recall_others, accuracy, ceiling,
              loss, floor``.
            - ``correlation``, from :func:`inweights.probes.hop_correlation`, with the
              additional columns ``spearman, null_mean, null_low, null_high, p``.
            - ``film``, from :func:`inweights.probes.snapshot`, with the additional
              columns ``gram, recall, recall_others, step``.

            The labels are ``graph`` (path-star, grid, cycle, irregular),
            ``architecture`` (associative: TinyNN with frozen embeddings; TinyNN;
            TinyGPT; TinySSM: a Mamba; Node2Vec), and ``condition`` (``the code's``:
            trained as in the paper's code; ``ours``: with a simpler vocabulary and
            initialisation).

    Returns:
        The measured tables, restricted to the condition ``the code's`` (the settings of
        the paper's code), without the column ``condition``; ``conditions``, the table
        ``correlation`` in every condition; and the tables of
        :func:`~.filming.pictures`, of which ``correlation`` has the additional column
        ``size``, the absolute value of ρ.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    tables = judged(tables)
    return tables | filming.pictures(
        tables, {shape: _world(shape) for shape in gm.GRAPHS}
    )


correlation = cosine("correlation", "spearman").over("graph")

SCORES = {
    "associative-is-arbitrary": filming.size.at(architecture=gm.FROZEN) <= 0.2,
    "node2vec-is-the-graph": correlation.at(architecture=gm.NODE2VEC) <= -0.95,
    "all-store-the-edges": share("stored", "edges").over("graph", "architecture")
    >= 0.99,
}
for name in (gm.GPT, gm.SSM, gm.NN):
    short = name.lower()
    SCORES[f"{short}-beyond-{gm.FROZEN}"] = filming.more_geometric(name, gm.FROZEN)
    SCORES[f"node2vec-beyond-{short}"] = filming.more_geometric(gm.NODE2VEC, name)
