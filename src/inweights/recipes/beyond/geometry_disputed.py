"""Our experiment: does memorisation create a geometry? Two papers disagree; the head decides."""

from functools import partial
from itertools import product
from typing import Any

import polars as pl

import inweights as iw
from inweights.config.ranges import PositiveInt
from inweights.errors import check_names
from inweights.experiments import (
    Computation,
    Measure,
    Plan,
    Trial,
    cosine,
    number,
    share,
)
from inweights.recipes.beyond.disputed_graphs import (
    BIPARTITE,
    GRAPHS,
    graph_of,
    with_marks,
)
from inweights.recipes.beyond.disputed_models import (
    BARE,
    DEEP,
    GPT,
    MAMBA,
    MODELS,
    NN,
    TIED,
    UNTIED,
    USUAL,
    model_of,
    trained,
)
from inweights.recipes.shared.derived import mean_by_hops
from inweights.theory.geometric_memory.folding import grown_vectors
from inweights.theory.geometric_memory.graph import adjacency
from inweights.worlds.families.graphs.graph import Graph

RUN = ["graph", "model", "head", "training", "seed"]
PAIRS = ("all", "even", "odd")
#: Models that the figures show; the tables contain all models.
SHOWN = (GPT, NN)


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``geometry_disputed.toml``.

    Attributes:
        graphs: Names of graphs, keys of ``GRAPHS``; by default all.
        width: Width of every model.
        steps: Number of updates; runs at a third of ``rate`` have three times as many.
        rate: Peak learning rate, above 0, which decays to 0 along a cosine.
        draws: Number of random embeddings for each null distribution.

    Raises:
        ConfigError: A name in ``graphs`` is unknown, or a value has the wrong type.
    """

    graphs: tuple[str, ...] = tuple(GRAPHS)
    width: int = 32
    steps: int = 500
    rate: float = 0.01
    draws: PositiveInt = 100

    def __post_init__(self) -> None:
        check_names("graph", self.graphs, GRAPHS)


def plan(settings: Settings) -> Plan:
    """Plan training of every model and head on every graph, with variants on bipartite graphs.

    Args:
        settings: The recipe's settings, such as ``graphs``, ``width`` and ``steps``;
            :class:`Settings` describes each.

    Returns:
        - Labels of the trials: ``graph`` (keys of :data:`~.disputed_graphs.GRAPHS`),
          ``model`` (GPT; GPT, 3 layers; Mamba; TinyNN; GPT, no residual), ``head``
          (tied, untied) and ``training`` (usual, low rate, decay).
        - Measures: ``all``, ``even``, ``odd`` (:func:`inweights.probes.hop_correlation`
          over such distances), ``recall`` (:func:`inweights.probes.graph_recall`),
          ``named`` (:func:`inweights.probes.named_geometry`) and, only if ``training``
          is ``usual``, ``cosines`` (:func:`inweights.probes.cosines`) and ``course``
          (as ``even``, while the GPT is trained on bipartite graphs).
        - Computation: ``predicted`` (Spearman's ρ predicted from the graph's spectrum),
          with the labels ``graph`` and ``head``.

    Raises:
        ConfigError: A value is out of range for a model or its training.
    """
    trials = [
        _trial(settings, graph, name, head, USUAL)
        for graph, (name, head) in product(settings.graphs, MODELS)
    ]
    bipartite = [graph for graph in settings.graphs if graph in BIPARTITE]
    others = product(bipartite, (TIED, UNTIED), ("low rate", "decay"))
    trials += [
        _trial(settings, graph, GPT, head, training) for graph, head, training in others
    ]
    draws = {"draws": settings.draws}
    order = partial(Measure, probe=iw.probes.hop_correlation)
    every = max(1, settings.steps // 20)
    one = {"pairs": "even", "draws": 1}
    course = partial(order, name="course", options=one, every=every)
    return Plan(
        trials=trials,
        measures=[
            *(order(name=pairs, options={"pairs": pairs, **draws}) for pairs in PAIRS),
            Measure(name="recall", probe=iw.probes.graph_recall),
            Measure(name="named", probe=iw.probes.named_geometry, options=draws),
            Measure(name="cosines", probe=iw.probes.cosines, where={"training": USUAL}),
            *(
                course(where={"graph": graph, "model": GPT, "training": USUAL})
                for graph in bipartite
            ),
        ],
        computations=[
            Computation(
                name="predicted",
                labels={"graph": graph, "head": head},
                compute=_predicted,
                options={"world": graph_of(graph), "tied": head == TIED},
                effort=5,
            )
            for graph, head in product(settings.graphs, (TIED, UNTIED))
        ],
    )


def _trial(
    settings: Settings, graph: str, name: str, head: str, training: str
) -> Trial:
    return Trial(
        labels={"graph": graph, "model": name, "head": head, "training": training},
        world=graph_of(graph),
        model=model_of(name, settings.width, tied=head == TIED),
        learner=trained(settings.steps, settings.rate, training),
    )


def _predicted(world: Graph, tied: bool) -> pl.DataFrame:
    """Return the geometry that the spectrum alone predicts, for all, even and odd pairs."""
    built = world.build()
    vectors = grown_vectors(adjacency(built), tied=tied)
    model = iw.probes.Embedding(built.vocabulary.names, vectors).on(built)
    order: Any = iw.probes.hop_correlation
    return pl.concat(
        order(model, built, pairs=pairs, draws=1).select(
            "spearman", pairs=pl.lit(pairs)
        )
        for pairs in PAIRS
    )


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return the geometry of runs that recall every edge, by graph and head, and its predictions.

    Args:
        tables: The tables that result from :func:`plan`, by name: ``all``, ``even``,
            ``odd`` and ``course`` (:func:`inweights.probes.hop_correlation`; ``course``
            with ``step``), ``recall`` (:func:`inweights.probes.graph_recall`),
            ``named`` (:func:`inweights.probes.named_geometry`) and ``cosines``
            (:func:`inweights.probes.cosines`), all with ``graph, model, head, training,
            seed``; and ``predicted`` (``graph, head, seed, spearman, pairs``).

    Returns:
        - ``order``: a row per value of ``pairs`` (all, even or odd distances) and run
          that recalls every edge: Spearman's ρ between cosine similarity and distance
          in hops, and columns of :func:`~.disputed_graphs.with_marks`. Columns: all
          columns of ``all``, plus ``pairs, bipartite, named, star, beyond_chance``.
        - ``recall``, ``predicted`` and ``course``: the given tables, unchanged.
        - ``excluded``: a row per run; ``excluded`` is true if the run does not recall
          every edge. Columns: ``graph, model, head, training, seed, excluded``.
        - ``neighbours``: a row per run that recalls every edge: share of neighbours
          among nearest nodes (``value``), and this share minus chance (``beyond``).
          Columns: all columns of ``named``, plus ``beyond, bipartite, named, star``.
        - ``heads``: a row per model, head and seed: mean ρ over all graphs except the
          star (usual training), the same mean with a tied head (``tied``), and their
          ratio, ``share``. Columns: ``model, head, seed, spearman, tied, share``.
        - ``theory``: a row per seed: correlation of the GPT's predicted and measured ρ,
          over graphs, heads and pairs. Columns: ``seed, correlation``.
        - ``by_hops``: a row per run and distance, with the mean cosine. Columns:
          ``graph, model, head, training, seed, hops, cosine, bipartite, named, star``.
        - ``zigzag``: ``by_hops`` of GPT and TinyNN on bipartite graphs, with ``arm``
          (model, head). Columns: as in ``by_hops``, plus ``arm``.
        - ``shown``: as ``order``, for all GPT and TinyNN runs (usual training); ``arm``
          and ``panel`` label the figure. Columns: as in ``order``, plus ``arm, panel``.
    """
    stored = tables["recall"].filter(pl.col("recall") > 1 - 1e-9).select(RUN)
    order = pl.concat(tables[name].with_columns(pairs=pl.lit(name)) for name in PAIRS)
    every = with_marks(order).filter(training=USUAL)
    order = with_marks(order.join(stored, on=RUN, maintain_order="left"))
    usual = order.filter(training=USUAL)
    neighbours = tables["named"].filter(measure="neighbours")
    neighbours = neighbours.with_columns(beyond=pl.col("value") - pl.col("null_mean"))
    arm = pl.format("{}, {}", "model", "head")
    by_hops = with_marks(mean_by_hops(tables["cosines"], RUN[:-1]))
    return {
        "order": order,
        "recall": tables["recall"],
        "excluded": tables["recall"].select(*RUN, excluded=pl.col("recall") < 1 - 1e-9),
        "neighbours": with_marks(
            neighbours.join(stored, on=RUN, maintain_order="left")
        ),
        "heads": _heads(usual.filter(pairs="all")),
        "theory": _beside_theory(usual.filter(model=GPT), tables["predicted"]),
        "predicted": tables["predicted"],
        "course": tables["course"],
        "by_hops": by_hops,
        "zigzag": by_hops.filter(
            "bipartite", pl.col("model").is_in(SHOWN)
        ).with_columns(arm=arm),
        "shown": every.filter(
            pl.col("model").is_in(SHOWN), pl.col("spearman").is_not_nan()
        ).with_columns(arm=arm, panel=pl.format("{} pairs", "pairs")),
    }


def _heads(order: pl.DataFrame) -> pl.DataFrame:
    """Return each model's mean ρ over all graphs but the star, and its ratio to the tied head."""
    means = (
        order.filter(~pl.col("star"))
        .group_by("model", "head", "seed", maintain_order=True)
        .agg(pl.col("spearman").mean())
    )
    tied = means.filter(head=TIED).select("model", "seed", tied="spearman")
    return means.join(
        tied, on=["model", "seed"], how="left", maintain_order="left"
    ).with_columns(share=pl.col("spearman") / pl.col("tied"))


def _beside_theory(order: pl.DataFrame, predicted: pl.DataFrame) -> pl.DataFrame:
    """Return the correlation of predicted and measured ρ of a GPT, over graphs, heads and pairs."""
    said = predicted.select("graph", "head", "pairs", predicted="spearman")
    both = order.join(said, on=["graph", "head", "pairs"]).filter(
        ~pl.col("star"),
        pl.col("spearman").is_not_nan(),
        pl.col("predicted").is_not_nan(),
    )
    return both.group_by("seed", maintain_order=True).agg(
        correlation=pl.corr("spearman", "predicted")
    )


rho = cosine("order", "spearman", training=USUAL)
gpt = rho.at(pairs="all", model=GPT)
beyond = number("order", "beyond_chance", training=USUAL)
no_star = beyond.at(pairs="all", star=False)
folded = beyond.at(bipartite=True, pairs="even")
lost = beyond.at(bipartite=True, pairs="odd")
far = rho.at(pairs="all", named=True, model=GPT).over("graph")
near = number("neighbours", "beyond", training=USUAL, named=True, model=GPT).over(
    "graph"
)
hops = cosine("by_hops", "cosine", bipartite=True, model=GPT)
means = cosine("heads", "spearman")

SCORES = {
    "perfect-memory": share("recall", "recall").over("graph", "model", "head") >= 0.99,
    "no-distances-untied": far.at(head=UNTIED) >= -0.3,
    "no-distances-tied": far.at(head=TIED) >= -0.3,
    "no-neighbourhoods-untied": near.at(head=UNTIED) <= 0.1,
    "no-neighbourhoods-tied": near.at(head=TIED) <= 0.1,
    "interchangeable-nodes": gpt.at(graph="chain").over("head")
    - gpt.at(graph="cycle of 16")
    <= -0.05,
    "gpt-tied-beyond-chance": no_star.at(model=GPT, head=TIED).over("graph") <= 0.0,
    "mamba-tied-beyond-chance": no_star.at(model=MAMBA, head=TIED).over("graph") <= 0.0,
    "gpt-untied-beyond-chance": no_star.at(model=GPT, head=UNTIED).over("graph") <= 0.0,
    "untied-halves": number("heads", "share", model=GPT, head=UNTIED).within(
        0.35, 0.65
    ),
    "untied-gpt-folds": folded.at(model=GPT, head=UNTIED).over("graph") <= 0.0,
    "untied-deep-gpt-folds": folded.at(model=DEEP, head=UNTIED).over("graph") <= 0.0,
    "untied-mamba-folds": folded.at(model=MAMBA, head=UNTIED).over("graph") <= 0.0,
    "untied-has-no-odd-order": lost.at(model=GPT, head=UNTIED).over("graph") >= 0.0,
    "untied-neighbours-differ": hops.at(head=UNTIED, hops=1).over("graph") <= 0.0,
    "untied-second-neighbours": hops.at(head=UNTIED, hops=2).over("graph") >= 0.15,
    "depth-adds-little": (
        means.at(model=DEEP).over("head") - means.at(model=GPT)
    ).within(-0.1, 0.1),
    "tinynn-folds-though-tied": lost.at(model=NN).over("graph") >= 0.0,
    "no-residual-loses": means.at(model=BARE, head=TIED)
    - means.at(model=GPT, head=TIED)
    >= 0.1,
    "other-trainings-fold": number(
        "order", "beyond_chance", pairs="even", model=GPT, head=UNTIED, bipartite=True
    ).over("graph", "training")
    <= 0.0,
    "a-star-decides-nothing": gpt.at(graph="star").over("head") >= 0.5,
    "the-spectrum-says-so": cosine("theory", "correlation") >= 0.8,
}
