"""Record five architectures, step by step, while they memorise the edges of graphs."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import polars as pl

import inweights as iw
from inweights.config import check_size
from inweights.experiments import Judged, Measure, Plan, share
from inweights.recipes.geometric_memory import common as gm
from inweights.recipes.geometric_memory.variants import UNCHANGED
from inweights.theory.geometric_memory.layout import scene
from inweights.worlds.families.graphs.graph import Graph

#: Architectures from the least to the most geometric.
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
    """Plan a training run of every architecture on every graph, with recordings for the first seed.

    Args:
        graphs: Configs of the graphs, keyed by name.
        training: Function that returns the training settings for the name of an
            architecture and the name of a graph. It is not called for Node2Vec. Its
            exceptions propagate.
        descent: Settings of Node2Vec and its gradient descent.
        looks: Approximate number of frames that are recorded during a training run, at
            even intervals; at least 1.
        draws: Number of random embeddings from which the null distribution of the
            correlation is estimated.
        conditions: Names of the conditions in which models are trained (``the code's``,
            ``the code's, bf16`` or ``ours``, see :func:`~.common.trials`). By default,
            each model is trained once, without a condition, and its trial has no label
            ``condition``. Only runs in the first condition are recorded.

    Returns:
        The plan.

        - Labels of the trials: ``graph``, ``architecture`` (associative, TinyNN,
          TinyGPT, TinySSM, Node2Vec) and, if ``conditions`` is given, ``condition``.
        - Measures: ``recall`` (:func:`inweights.probes.graph_recall`), ``correlation``
          (:func:`inweights.probes.hop_correlation`) and ``film``
          (:func:`inweights.probes.snapshot`; during training, only for the first seed
          and the first condition).

    Raises:
        ConfigError: ``looks`` is below 1, a condition is unknown, or a value is out of
            range for a graph, a model or its training.
    """
    check_size("looks", looks)
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
            # The trials of all conditions were just appended; only the first of them is
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
    """Return the frames of animations, the drawn graphs, and the tables used by claims.

    Args:
        tables: The tables ``film``, ``recall`` and ``correlation`` that a plan of
            :func:`filmed` measures, with the rows of one condition.
        graphs: Configs of the graphs, keyed by the value of the label ``graph``.

    Returns:
        - ``films``: one row per graph, architecture and frame of its animation:
          ``graph``, ``architecture``, ``seed`` and the columns of
          :func:`inweights.probes.render_frames`.
        - ``film``: the rows of the recordings from which these frames were drawn.
        - ``graphs``: one row per graph: ``graph`` and the columns of
          :func:`~inweights.theory.geometric_memory.layout.scene`.
        - ``curves``: Spearman's ρ between cosine similarity and distance in hops in
          each frame, except at step 0 (``graph, architecture, seed, step, spearman``).
        - ``correlation``: the measured table, with the additional column ``size``, the
          absolute value of ρ.
        - ``stored``: the measured table ``recall``, with the additional column
          ``edges``, the recall by which claims are judged. For Node2Vec it ignores a
          node's own logit.

    Raises:
        KeyError: A table is missing, or a graph of ``film`` is not among ``graphs``.
        DataError: A graph has no edge between two different nodes, or ``film`` contains
            a step twice or a number of nodes that differs from the graph's.
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
        # Of hundreds of frames, only those in the pictures are stored.
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
    """Return the score and target of the claim that one architecture has the clearer geometry.

    Args:
        more: Name of the architecture that is expected to have the clearer geometry.
        less: Name of the architecture with which it is compared.

    Returns:
        The score, which is the absolute value of Spearman's ρ for ``more`` minus its
        absolute value for ``less`` on each graph, with the target of at least 0.
    """
    return size.at(architecture=more) - size.at(architecture=less) >= 0.0
