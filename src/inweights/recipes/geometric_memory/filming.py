"""Film five architectures while they learn the edges of graphs."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import polars as pl

import inweights as iw
from inweights.experiments import Judged, Measure, Plan, share
from inweights.recipes.geometric_memory import common as gm
from inweights.recipes.geometric_memory.variants import UNCHANGED
from inweights.theory.geometric_memory.layout import scene
from inweights.worlds.families.graphs.graph import Graph

#: From arbitrary to most geometric.
ORDER = (gm.FROZEN, gm.NN, gm.GPT, gm.SSM, gm.NODE2VEC)
_RANK = {name: place for place, name in enumerate(ORDER)}
_LABELS = ("graph", "architecture")


def filmed(
    graphs: Mapping[str, Graph],
    training: Callable[[str, str], gm.Training],
    descent: gm.Node2VecDescent,
    *,
    looks: int,
    draws: int,
    conditions: Sequence[str | None] = (None,),
) -> Plan:
    """Return a plan in which every architecture learns every graph, and the first seed is filmed.

    Args:
        graphs: The graphs, by name.
        training: Returns the training of an architecture on a graph, by their names.
        descent: Settings of Node2Vec.
        looks: Number of frames.
        draws: Number of random embeddings to which correlations are compared.
        conditions: Names of conditions (:data:`~.common.CONDITIONS`; ``None`` for
            none), of which the first one is filmed.
    """
    film = partial(Measure, name="film", probe=iw.probes.snapshot, first_seed=True)
    trials = []
    films = []
    for name, world in graphs.items():
        for architecture in ORDER:
            how = (
                descent if architecture == gm.NODE2VEC else training(architecture, name)
            )
            labels = {"graph": name, "architecture": architecture}
            trials += [
                gm.trial(how, world, one, UNCHANGED, **labels) for one in conditions
            ]
            every = max(1, how.steps // looks)
            # The trials of all conditions were just appended: the first of them is
            # filmed.
            first = trials[-len(conditions)].labels
            films.append(film(every=every, where=first))
    measures = [
        Measure(name="recall", probe=iw.probes.graph_recall),
        Measure(
            name="correlation",
            probe=iw.probes.hop_correlation,
            options={"draws": draws},
        ),
    ]
    return Plan(trials=trials, measures=[*measures, *films])


def pictures(
    tables: Mapping[str, pl.DataFrame], graphs: Mapping[str, Graph]
) -> dict[str, pl.DataFrame]:
    """Return the frames of the films, the graphs that they show, and what claims judge.

    Args:
        tables: Measured tables of :func:`filmed`, by name.
        graphs: The graphs, by name.
    """
    film = tables["film"]
    worlds = {
        name: graphs[name].build() for name in film["graph"].unique(maintain_order=True)
    }
    parts = film.partition_by(_LABELS, maintain_order=True, as_dict=True)
    films = pl.concat(
        iw.probes.render_frames(rows, worlds[str(name)]).select(
            pl.lit(name).alias("graph"),
            pl.lit(architecture).alias("architecture"),
            pl.lit(rows["seed"][0]).alias("seed"),
            pl.all(),
        )
        for (name, architecture), rows in parts.items()
    )
    drawn = [
        scene(world).select(pl.lit(name).alias("graph"), pl.all())
        for name, world in worlds.items()
    ]
    node2vec = pl.col("architecture") == gm.NODE2VEC
    return {
        # Of hundreds of frames only those of the pictures are kept.
        "film": film.join(films, on=[*_LABELS, "step"], how="semi"),
        "films": films,
        "graphs": pl.concat(drawn, how="diagonal_relaxed"),
        "correlation": tables["correlation"]
        .with_columns(size=pl.col("spearman").abs())
        .sort(pl.col("architecture").replace_strict(_RANK), maintain_order=True),
        "curves": films.select(
            "graph", "architecture", "seed", "step", "spearman"
        ).filter(pl.col("step") > 0),
        "stored": tables["recall"].with_columns(
            edges=pl.when(node2vec).then("recall_others").otherwise("recall")
        ),
    }


size = share("correlation", "size").over("graph")


def more_geometric(more: str, less: str) -> Judged:
    """Return the judgement that an architecture is more geometric than another everywhere.

    Args:
        more: Name of the architecture.
        less: Name of the other one.

    Returns:
        A judged score: the difference of their sizes of Spearman's ρ is at least 0 on
        every graph.
    """
    return size.at(architecture=more) - size.at(architecture=less) >= 0.0
