"""Figures 23 and 24 of Geometric Memory: heat-maps of cosines, and cosines by hops."""

import polars as pl

import inweights as iw
from inweights.experiments import Measure, Plan, number
from inweights.recipes.geometric_memory import common as gm
from inweights.recipes.geometric_memory.derived import far_correlation, judged
from inweights.recipes.shared.derived import mean_by_hops

LABELS = ("graph", "architecture")
#: The steps at which the code's notebook draws TinyNN, before it has stored all edges.
DRAWN: dict[gm.Shape, int] = {
    "path-star": 100,
    "grid": 200,
    "cycle": 200,
    "irregular": 40,
}
AS_DRAWN = f"{gm.NN}, as the notebook draws it"


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``fig23_24.toml``. A value of the wrong type raises a
    ``ConfigError``; :func:`plan` checks most ranges.

    Attributes:
        graphs: Names of the tiny graphs to use, any of ``path-star``, ``grid``,
            ``cycle`` and ``irregular``.
        descent: Settings of Node2Vec and its gradient descent.
        most: Maximum number of updates per training run. If ``None`` (the default) or
            0, the paper's number is used.
    """

    graphs: tuple[gm.Shape, ...] = gm.GRAPHS
    descent: gm.Node2VecDescent = gm.Node2VecDescent()
    most: int | None = None


def plan(settings: Settings) -> Plan:
    """Plan training runs on graphs whose nodes are numbered in order.

    With this numbering, neighbours are adjacent in heat-maps of the cosines. Each seed
    has its own initialisation.

    Args:
        settings: The recipe's settings, such as ``graphs``, ``descent`` and ``most``;
            :class:`Settings` describes each.

    Returns:
        The plan. The label values listed below are those of the default settings.

        - Labels of the trials: ``graph`` (path-star, grid, cycle, irregular),
          ``architecture`` (Node2Vec; TinyGPT; TinyNN; associative: TinyNN with frozen
          embeddings), and ``condition`` (the code's, ours).
        - Measures: ``cosines`` (:func:`inweights.probes.cosines`) and ``early``, the
          same probe applied during training, only for TinyNN in the condition ``the
          code's``.

        ``condition`` is ``the code's`` (the settings of the paper's code), ``the
        code's, bf16`` (the same in emulated bfloat16) or ``ours`` (our own, simpler
        vocabulary and initialisation).

    Raises:
        ConfigError: ``most`` is negative, or a value in ``descent`` is out of range.
    """
    architectures = (gm.NODE2VEC, gm.GPT, gm.NN, gm.FROZEN)
    trials = gm.trials(
        settings.graphs, architectures, settings.most, settings.descent, shuffled=False
    )
    on_the_way = [
        Measure(
            name="early",
            probe=iw.probes.cosines,
            every=DRAWN[graph],
            where={"graph": graph, "architecture": gm.NN, "condition": gm.CODE},
        )
        for graph in settings.graphs
    ]
    return Plan(trials=trials, measures=[iw.probes.cosines, *on_the_way])


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return cosine matrices for the first seed, and correlations with hops for every seed.

    Args:
        tables: The tables that result from :func:`plan`, by name. A run is one trial
            with one seed. Both tables have the columns ``graph, architecture,
            condition, seed, source, target, hops, cosine``.

            - ``cosines``, from :func:`inweights.probes.cosines`.
            - ``early``, from :func:`inweights.probes.cosines`, with the additional
              column ``step``.

            The labels are ``graph`` (path-star, grid, cycle, irregular),
            ``architecture`` (Node2Vec; TinyGPT; TinyNN; associative: TinyNN with frozen
            embeddings), and ``condition`` (``the code's``: trained as in the paper's
            code; ``ours``: with a simpler vocabulary and initialisation).

    Returns:
        - ``conditions``: a row per run in each condition
          (:func:`~.derived.far_correlation`), with the columns of ``far``; the column
          ``all`` is renamed ``spearman``. Columns: ``graph, architecture, condition,
          seed, spearman, far, near, drop``.
        - ``far``: a row per run in the condition ``the code's`` (the settings of the
          paper's code): ``all`` and ``far``, Spearman's ρ between cosine similarity and
          distance in hops over all pairs and over pairs of nodes two or more hops
          apart; ``near``, the mean cosine at one hop minus the mean cosine at two hops;
          and ``drop``, the mean cosine at two hops minus the mean cosine at more hops.
          Columns: ``graph, architecture, seed, all, far, near, drop``.
        - ``early``: the same columns for TinyNN at the step that the code's notebook
          plots (:data:`DRAWN`, or the last step if that is earlier). Columns: as in
          ``far``.
        - ``by_hops``: a row per run and distance (``hops``), with the mean cosine.
          Columns: ``graph, architecture, seed, hops, cosine``.
        - ``matrix_GRAPH``, one table for each graph: a row per architecture and pair of
          nodes, with the cosine in the run of the first seed. Columns: ``graph,
          architecture, seed, source, target, hops, cosine``.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    all_pairs = far_correlation(tables["cosines"], (*LABELS, "condition"))
    table = judged(tables)["cosines"]
    early = judged(tables)["early"]
    drawn = pl.col("graph").replace_strict(DRAWN, return_dtype=pl.Int64)
    early = early.filter(
        pl.col("step") == pl.min_horizontal(drawn, pl.col("step").max())
    )
    early = early.with_columns(architecture=pl.lit(AS_DRAWN)).select(table.columns)
    first = pl.concat([table, early]).filter(pl.col("seed") == pl.col("seed").min())
    matrices = {
        f"matrix_{graph}": first.filter(pl.col("graph") == graph) for graph in gm.GRAPHS
    }
    return {
        "conditions": all_pairs.rename({"all": "spearman"}),
        "far": far_correlation(table, LABELS),
        "early": far_correlation(early, LABELS),
        "by_hops": mean_by_hops(table, LABELS),
        **matrices,
    }


drop = number("far", "drop").over("graph")
near = number("far", "near").over("graph")

SCORES = {
    "node2vec-shows-hops": drop.at(architecture=gm.NODE2VEC) >= 0.2,
    "tinygpt-shows-hops": drop.at(architecture=gm.GPT) >= 0.2,
    "tinynn-shows-hops": drop.at(architecture=gm.NN) >= 0.2,
    "frozen-shows-none": drop.at(architecture=gm.FROZEN).within(-0.1, 0.1),
    "node2vec-falls-from-the-first": near.at(architecture=gm.NODE2VEC) >= 0.0,
    "tinygpt-falls-from-the-first": near.at(architecture=gm.GPT) >= 0.0,
    "tiny-nn-zigzags": near.at(architecture=gm.NN) <= 0.0,
    "tiny-nn-zigzags-as-drawn": number("early", "near", graph="cycle") <= 0.0,
}
