"""Figure 9 of Geometric Memory: zigzags along negative eigendirections, and self-edges."""

from functools import partial
from itertools import product

import polars as pl

import inweights as iw
from inweights.config.ranges import PositiveInt
from inweights.experiments import Measure, Plan, Score, cosine, number, share
from inweights.models.configs import Node2VecConfig
from inweights.recipes.geometric_memory import common as gm
from inweights.recipes.geometric_memory.derived import judged
from inweights.recipes.shared.derived import beside_chance
from inweights.worlds.families.graphs.graph import Graph

LABELS = ("graph", "model", "self_edges")
TIED = "Node2Vec"
UNTIED = "untied Node2Vec"
UNIT = "untied, unit normal"
CHANCE = "random vectors"


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``fig9.toml``. A value of the wrong type raises a
    ``ConfigError``; :func:`plan` checks most ranges.

    Attributes:
        graphs: Names of the tiny graphs to use, any of ``path-star``, ``grid``,
            ``cycle`` and ``irregular``.
        steps: Number of updates of Node2Vec.
        std: Initial scale of the untied Node2Vec, above 0; by default 0.02, the scale
            of TinyNN.
        most: Maximum number of updates of TinyNN. If ``None`` (the default) or 0, the
            paper's number is used.
        draws: Number of random embeddings from which each null distribution is
            estimated.
        conditions: Names of conditions in which TinyNN is trained, any of ``the code's,
            bf16``, ``the code's`` and ``ours``. Claims are judged under ``the code's,
            bf16``.
    """

    graphs: tuple[gm.Shape, ...] = gm.GRAPHS
    steps: int = 10_000
    std: float = 0.02
    most: int | None = None
    draws: PositiveInt = 200
    conditions: tuple[str, ...] = gm.OF_PRECISION


def plan(settings: Settings) -> Plan:
    """Plan training runs of every model on graphs with and without self-edges.

    Args:
        settings: The recipe's settings, such as ``graphs``, ``steps`` and ``std``;
            :class:`Settings` describes each.

    Returns:
        The plan. The label values listed below are those of the default settings.

        - Labels of the trials: ``graph`` (path-star, grid, cycle, irregular), ``model``
          (Node2Vec: tied; untied Node2Vec: from the small scale ``std``; untied, unit
          normal: from N(0, 1); TinyNN), ``self_edges`` (Boolean: whether every node has
          an edge to itself), and ``condition`` (the code's, bf16; the code's; ours).
        - Measures: ``recall`` (:func:`inweights.probes.graph_recall`), ``margin``
          (:func:`inweights.probes.edge_margin`; only for TinyNN), ``own_margin``
          (:func:`inweights.probes.geometric_margin` with ``draws=200``; only for
          TinyNN), ``zigzag``
          (:func:`~inweights.probes.geometry.reference_graph.without_self_edges` applied
          to :func:`inweights.probes.zigzag` with ``draws=200``), ``energy``
          (:func:`~inweights.probes.geometry.reference_graph.without_self_edges` applied
          to :func:`inweights.probes.spectral_energy` with ``draws=200``) and
          ``correlation``
          (:func:`~inweights.probes.geometry.reference_graph.without_self_edges` applied
          to :func:`inweights.probes.hop_correlation` with ``draws=200``).

        ``condition`` is ``the code's`` (the settings of the paper's code), ``the
        code's, bf16`` (the same in emulated bfloat16) or ``ours`` (our own, simpler
        vocabulary and initialisation).

    Raises:
        ConfigError: A condition is unknown, ``steps`` or ``most`` is negative, or
            ``std`` is not positive.
    """
    from inweights.probes.geometry.reference_graph import without_self_edges

    node2vec = partial(gm.Node2VecDescent, steps=settings.steps)
    small = Node2VecConfig(tied=False, init=iw.Init(std=settings.std))
    trials = []
    for shape, loops in product(settings.graphs, (False, True)):
        models: dict[str, gm.Training | gm.Node2VecDescent] = {
            TIED: node2vec(model=Node2VecConfig()),
            UNTIED: node2vec(model=small),
            UNIT: node2vec(model=Node2VecConfig(tied=False)),
            gm.NN: gm.training(gm.NN, shape, most=settings.most),
        }
        world = Graph(shape=shape, self_edges=loops)
        trials += [
            gm.trial(how, world, condition, graph=shape, model=model, self_edges=loops)
            for (model, how), condition in product(models.items(), settings.conditions)
        ]
    # Recall is that of all trained edges, including self-edges.
    draws = {"draws": settings.draws}
    seen = partial(Measure, probe=without_self_edges)
    of_nn = partial(Measure, where={"model": gm.NN})
    measures = [
        Measure(name="recall", probe=iw.probes.graph_recall),
        of_nn(name="margin", probe=iw.probes.edge_margin),
        of_nn(name="own_margin", probe=iw.probes.geometric_margin, options=draws),
        seen(name="zigzag", options={"inner": iw.probes.zigzag, **draws}),
        seen(name="energy", options={"inner": iw.probes.spectral_energy, **draws}),
        seen(name="correlation", options={"inner": iw.probes.hop_correlation, **draws}),
    ]
    return Plan(trials=trials, measures=measures)


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return the geometry of models trained with and without self-edges, and their margins.

    Args:
        tables: The tables that result from :func:`plan`, by name. A run is one trial
            with one seed. All tables have the columns ``graph, model, self_edges,
            condition, seed``. Accuracies and recall are fractions from 0 to 1.

            - ``recall``, from :func:`inweights.probes.graph_recall`, with the
              additional columns ``recall, worst, recall_others, accuracy, ceiling,
              loss, floor``.
            - ``margin``, from :func:`inweights.probes.edge_margin`, with the additional
              columns ``rivals, over, margin, worst, positive``.
            - ``own_margin``, from :func:`inweights.probes.geometric_margin`, with the
              additional columns ``over, margin, worst, positive, null_positive,
              null_worst, null_all, p``.
            - ``zigzag``, from
              :func:`~inweights.probes.geometry.reference_graph.without_self_edges`
              applied to :func:`inweights.probes.zigzag`, with the additional columns
              ``zigzag, bottom, null_mean, null_low, null_high, bottom_null``.
            - ``energy``, from
              :func:`~inweights.probes.geometry.reference_graph.without_self_edges`
              applied to :func:`inweights.probes.spectral_energy`, with the additional
              columns ``space, eigenvalue, size, energy, cumulative, degenerate,
              null_mean, null_low, null_high``.
            - ``correlation``, from
              :func:`~inweights.probes.geometry.reference_graph.without_self_edges`
              applied to :func:`inweights.probes.hop_correlation`, with the additional
              columns ``spearman, null_mean, null_low, null_high, p``.

            The labels are ``graph`` (path-star, grid, cycle, irregular), ``model``
            (Node2Vec: tied; untied Node2Vec: from the small scale ``std``; untied, unit
            normal: from N(0, 1); TinyNN), ``self_edges`` (Boolean: whether every node
            has an edge to itself), and ``condition`` (``the code's, bf16``: trained as
            in the paper's code, in emulated bfloat16; ``the code's``: in fp32;
            ``ours``: with a simpler vocabulary and initialisation).

    Returns:
        The measured tables, restricted to the condition ``the code's, bf16`` (the
        settings of the paper's code, in emulated bfloat16), without the column
        ``condition``, and:

        - ``zigzags``: a row per run: the share of the energy in the eigenspaces of
          negative eigenvalues (``zigzag``), with ``excess`` (``zigzag`` minus its mean
          for random vectors) and ``bottom_excess`` (the same for the last eigenspace);
          ``condition`` here is ``with self-edges`` or ``without``. Columns: all columns
          of ``zigzag``, plus ``excess, bottom_excess``.
        - ``beside_chance``: the rows of ``zigzags``, and rows whose ``model`` is
          ``random vectors``. Columns: as in ``zigzags``.
        - ``trained_spectra``: a row per eigenspace and run of TinyNN or untied
          Node2Vec, with ``number`` (of the eigenspace, from 1) and ``panel`` (model and
          graph); ``condition`` here is ``with self-edges`` or ``without``. Columns: all
          columns of ``energy``, plus ``number, panel``.
        - ``least``: a row per run of TinyNN in every condition, with the margin of each
          node's least likely neighbour over other nodes, and with ``loops`` (``with
          self-edges`` or ``without``). Columns: all columns of ``margin``, plus
          ``loops``.
        - ``cycle_margins``: the rows of ``margin`` on the cycle whose rivals are nodes,
          in every condition. Columns: all columns of ``margin``.
        - ``cycle_own``: a row per run of TinyNN on the cycle: the margin of the
          neighbour with the smallest logit, with the margins of random embeddings.
          Columns: ``graph, model, self_edges, seed, over, margin, worst, positive,
          null_positive, null_worst, null_all, p``.
        - ``stored``: a row per run of every model except the tied Node2Vec: recall of
          the edges. Columns: ``graph, model, self_edges, seed, recall, worst,
          recall_others, accuracy, ceiling, loss, floor``.
        - ``conditions``: a row per run in each condition: Spearman's ρ between cosine
          similarity and distance in hops. Columns: all columns of the measured
          ``correlation``.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    loops = pl.when(pl.col("self_edges")).then(pl.lit("with self-edges"))
    without = loops.otherwise(pl.lit("without"))
    condition = without.alias("condition")
    least = pl.col("over") == "min"
    every = tables["margin"].filter(pl.col("rivals") == "nodes")
    tables = judged(tables, gm.BF16)
    zigzags = tables["zigzag"].with_columns(
        condition,
        excess=pl.col("zigzag") - pl.col("null_mean"),
        bottom_excess=pl.col("bottom") - pl.col("bottom_null"),
    )
    drawn = beside_chance(zigzags, "zigzag", "null_mean", label="model", name=CHANCE)
    bottom = pl.when(pl.col("model") == CHANCE).then("bottom_null").otherwise("bottom")
    spectra = tables["energy"].with_columns(
        condition,
        number=pl.col("space") + 1,
        panel=pl.concat_str("model", "graph", separator=", "),
    )
    return tables | {
        "zigzags": zigzags,
        "beside_chance": drawn.with_columns(bottom=bottom),
        "trained_spectra": spectra.filter(pl.col("model").is_in([gm.NN, UNTIED])),
        "least": every.filter(least).with_columns(without.alias("loops")),
        "cycle_margins": every.filter(pl.col("graph") == "cycle"),
        "cycle_own": tables["own_margin"].filter(least, pl.col("graph") == "cycle"),
        "stored": tables["recall"].filter(pl.col("model") != TIED),
    }


energy = share("zigzags", "zigzag").over("graph")
alone = energy.at(self_edges=False)
bottom = share("zigzags", "bottom")
excess = cosine("zigzags", "excess", self_edges=True).over("graph")
bottom_alone = cosine("zigzags", "bottom_excess", self_edges=False).over("graph")
on_cycle = number("cycle_margins", "margin", condition=gm.BF16)


def looped(score: Score, model: str) -> Score:
    """Return the difference between a score with self-edges and the same score without them.

    Args:
        score: Score of a table with the labels ``model`` and ``self_edges``.
        model: Label of the model: ``Node2Vec``, ``untied Node2Vec``, ``untied, unit
            normal`` or ``TinyNN``.

    Returns:
        The score of the model with self-edges minus its score without self-edges.
    """
    return score.at(model=model, self_edges=True) - score.at(
        model=model, self_edges=False
    )


SCORES = {
    "untied-zigzags": bottom_alone.at(model=UNTIED) >= 0.05,
    "tiny-nn-zigzags": bottom_alone.at(model=gm.NN) >= 0.05,
    "tied-does-not": alone.at(model=TIED) <= 0.05,
    "self-edges-lessen-untied": looped(energy, UNTIED) <= -0.1,
    "self-edges-lessen-tiny-nn": looped(energy, gm.NN) <= -0.1,
    "self-edges-remove-untied": excess.at(model=UNTIED) <= -0.1,
    "self-edges-remove-tiny-nn": excess.at(model=gm.NN) <= -0.1,
    "less-dominant-untied": looped(bottom, UNTIED) <= -0.1,
    "less-dominant-tiny-nn": looped(bottom, gm.NN) <= -0.1,
    "unit-normal-does-not-move": bottom_alone.at(model=UNIT) <= 0.03,
    "edges-are-stored": share("stored", "recall").over(*LABELS) >= 0.99,
    "margin-positive": on_cycle.at(over="min", self_edges=False) >= 0.0,
    "margin-positive-max": on_cycle.at(over="max", self_edges=False) >= 0.0,
    "margin-beats-chance": share("cycle_own", "p", self_edges=False) <= 0.05,
    "margin-with-self-edges": on_cycle.at(over="min", self_edges=True) >= 0.0,
}
