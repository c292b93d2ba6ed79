"""Our experiment: do models store social networks as geometries, like small regular graphs?

Figure 1 of *Geometric Memory* shows four tiny graphs, three of which are regular. Here
the same five architectures memorise social networks, which have hubs, triangles and
dead ends, or your own graph (``inweights atlas FILE``).
"""

from functools import partial

import numpy as np
import polars as pl

import inweights as iw
from inweights.config.ranges import PositiveInt
from inweights.errors import ConfigError, check_names
from inweights.experiments import Computation, Measure, Plan, cosine, number, share
from inweights.recipes.geometric_memory import common as gm
from inweights.recipes.geometric_memory import filming
from inweights.theory.geometric_memory.graph import edge_ends
from inweights.theory.geometric_memory.spectral import EXACT
from inweights.worlds.families.graphs.graph import Graph
from inweights.worlds.families.graphs.shapes import CLASSICS
from inweights.worlds.world import Ids

#: Maximum number of nodes of a graph. Of a graph with more than 250 nodes, the page
#: shows only some.
MOST = 10_000


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``real_graphs.toml``.

    Attributes:
        graphs: Names of well-known social networks; by default all networks in the
            library.
        own: Configs of your own graphs, keyed by the name shown in figures; none by
            default.
        width: Width of the trained architectures, at least 1. Associative storage needs
            a width of about the number of nodes.
        steps: Number of updates of each trained architecture.
        rate: Learning rate of the trained architectures, above 0.
        frozen_rate: Learning rate of associative storage, above 0.
        descent: Settings of Node2Vec and its gradient descent.
        looks: Approximate number of recordings during a training run, at least 1. About
            40 of them are stored as frames of the animation.
        draws: Number of random embeddings from which each null distribution is
            estimated.

    Raises:
        ConfigError: No graph is given, a network is unknown, two graphs have the same
            name, or a value has the wrong type.
    """

    graphs: tuple[str, ...] = tuple(CLASSICS)
    own: dict[str, Graph] = {}
    width: int = 128
    steps: int = 500
    rate: float = 0.01
    frozen_rate: float = 0.2
    descent: gm.Node2VecDescent = gm.Node2VecDescent()
    looks: int = 200
    draws: PositiveInt = 200

    def __post_init__(self) -> None:
        check_names("graph", self.graphs, tuple(CLASSICS))
        if not self.graphs and not self.own:
            raise ConfigError(
                "no graph is given; add a name to 'graphs', or a graph of your own to 'own'"
            )
        if twice := set(self.graphs) & set(self.own):
            raise ConfigError(
                f"both 'graphs' and 'own' contain the name {', '.join(sorted(twice))}; give "
                "your own graph a different name"
            )

    def training(self, architecture: str, *, pooled: bool = False) -> gm.Training:
        """Return the training settings of an architecture, which are the same on every graph.

        Args:
            architecture: ``TinyGPT``, ``TinySSM``, ``TinyNN`` or ``associative``
                (TinyNN with frozen embeddings). The name is not checked.
            pooled: Whether the edges that leave a node are combined in one sequence,
                which saves time and memory in large graphs. The loss is the same up to
                rounding. By default false.

        Returns:
            The settings, with the condition ``ours`` (our own, not one from the paper's
            code).
        """
        rate = self.frozen_rate if architecture == gm.FROZEN else self.rate
        return gm.Training(
            architecture=architecture,
            rate=rate,
            steps=self.steps,
            width=self.width,
            pooled=pooled,
        )


def plan(settings: Settings) -> Plan:
    """Plan a recorded training run of every architecture on every graph.

    Args:
        settings: The recipe's settings, such as ``graphs``, ``own`` and ``width``;
            :class:`Settings` describes each.

    Returns:
        The plan. The label values listed below are those of the default settings.

        - Labels of the trials: ``graph`` (karate-club, florentine-families,
          davis-southern-women, les-miserables, and the names of the graphs in ``own``)
          and ``architecture`` (``associative``: a TinyNN with frozen embeddings;
          ``TinyNN``; ``TinyGPT``; ``TinySSM``: a Mamba; or ``Node2Vec``).
        - Measures: ``recall`` (:func:`inweights.probes.graph_recall`), ``correlation``
          (:func:`inweights.probes.hop_correlation`), ``far`` (the same over pairs that
          are not neighbours; not for Node2Vec) and ``film``
          (:func:`inweights.probes.snapshot`; during training, only for the first seed).
        - Computation: ``links``, with the label ``graph``: a row per edge with the
          names of its ends.

    Raises:
        ConfigError: A graph has more than 10,000 nodes, or all its connected nodes are
            neighbours; ``looks`` is below 1; or a value is out of range for a model or
            its training.
        DataError: A file of a graph cannot be read.
    """
    known = {name: Graph(shape=name).written_out() for name in settings.graphs}  # type: ignore[arg-type]
    graphs = known | {name: graph.written_out() for name, graph in settings.own.items()}
    large = {
        name for name, graph in graphs.items() if _check_graph(name, graph) > EXACT
    }

    def training(architecture: str, name: str) -> gm.Training:
        return settings.training(architecture, pooled=name in large)

    made = filming.filmed(
        graphs,
        training,
        settings.descent,
        looks=settings.looks,
        draws=settings.draws,
    )
    options = {"least": 2, "draws": settings.draws}
    look = partial(
        Measure, name="far", probe=iw.probes.hop_correlation, options=options
    )
    far = [
        look(where={"architecture": name})
        for name in (gm.FROZEN, gm.NN, gm.GPT, gm.SSM)
    ]
    listing = partial(Computation, name="links", compute=_listed, effort=1)
    listed = [
        listing(labels={"graph": name}, options={"world": graph})
        for name, graph in graphs.items()
    ]
    return Plan(
        trials=made.trials, measures=[*made.measures, *far], computations=listed
    )


def _check_graph(name: str, graph: Graph) -> int:
    """Return a graph's number of nodes, after checking that it can be shown."""
    world = graph.build()
    count = len(world.vocabulary["node"])
    if count > MOST:
        raise ConfigError(
            f"graph '{name}' has {count:,} nodes; at most {MOST:,} nodes can be recorded "
            "and shown. Use a part of it, or train on it without recording, as shown in "
            "docs/navigation.md"
        )
    if not _has_far_nodes(*edge_ends(world)):
        raise ConfigError(
            f"in graph '{name}', any two nodes that are connected by a path are neighbours, so "
            "no geometry can be measured"
        )
    return count


def _has_far_nodes(count: int, u: Ids, v: Ids) -> bool:
    """Return whether two nodes exist that are connected by a path but not by an edge."""
    from scipy import sparse
    from scipy.sparse.csgraph import connected_components

    apart = u != v
    starts = np.r_[u[apart], v[apart]]
    ends = np.r_[v[apart], u[apart]]
    ones = np.ones(len(starts))
    graph = sparse.csr_array((ones, (starts, ends)), shape=(count, count))
    _, part = connected_components(graph, directed=False)
    # A node with fewer neighbours than its component has other nodes is connected to
    # one of them by a path, but not by an edge.
    return bool((np.diff(graph.indptr) < np.bincount(part)[part] - 1).any())


def _listed(world: Graph) -> pl.DataFrame:
    """Return the edges as a table that defines the graph; isolated nodes have no end."""
    pairs = [
        *((u, v) for u, v in world.links),
        *((label, None) for label in world.lone),
    ]
    return pl.DataFrame(
        pairs, schema={"from": pl.String, "to": pl.String}, orient="row"
    )


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return the frames of the animations, and the tables on which claims are judged.

    Args:
        tables: The tables that result from :func:`plan`, by name, all with the columns
            ``graph`` and ``seed``: ``recall`` (``architecture`` and the columns of
            :func:`~inweights.probes.graph_recall`), ``correlation`` and ``far``
            (``architecture`` and the columns of
            :func:`~inweights.probes.hop_correlation`; ``far`` excludes pairs of
            neighbours), ``film`` (``architecture``, ``step`` and the columns of
            :func:`~inweights.probes.snapshot`) and ``links`` (``from, to``, the names
            of the two ends of an edge; ``to`` is null for a node without edges). The
            labels are ``graph`` (karate-club, florentine-families,
            davis-southern-women, les-miserables, and the names of the graphs in
            ``own``) and ``architecture`` (``associative``: a TinyNN with frozen
            embeddings; ``TinyNN``; ``TinyGPT``; ``TinySSM``: a Mamba; or ``Node2Vec``).
            Accuracies and recall are fractions from 0 to 1.

    Returns:
        The tables of :func:`~inweights.recipes.geometric_memory.filming.pictures`:
        ``films`` (one row per frame of an animation: positions of the nodes, recall,
        correlation), ``film``, ``graphs``, ``curves``, and the two tables ``stored``
        and ``correlation``, which have additional columns. ``stored`` has one row per
        graph, architecture and seed: the columns of ``recall``, ``edges`` (the share of
        stored edges, on which claims are judged) and ``trained`` (whether the
        architecture is trained by gradient descent, which holds for all except
        Node2Vec). ``correlation`` has one row per graph, architecture and seed: the
        columns of the measured table, ``size`` (absolute value of Spearman's ρ) and
        ``beyond_chance`` (``null_low``, the lower end of the null distribution, minus
        ρ; positive if ρ lies below this distribution).

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    graphs = {}
    for (name,), rows in tables["links"].partition_by("graph", as_dict=True).items():
        joined = rows.drop_nulls("to").select("from", "to").rows()
        lone = rows.filter(pl.col("to").is_null())["from"].to_list()
        graphs[str(name)] = Graph(
            shape="edges", links=[list(link) for link in joined], lone=lone
        )
    made = filming.pictures(tables, graphs)
    chance = pl.col("null_low") - pl.col("spearman")
    return made | {
        "stored": made["stored"].with_columns(
            trained=pl.col("architecture") != gm.NODE2VEC
        ),
        "correlation": made["correlation"].with_columns(beyond_chance=chance),
    }


stored = share("stored", "edges")
correlation = cosine("correlation", "spearman").over("graph")
beyond_chance = number("correlation", "beyond_chance").over("graph")

SCORES = {
    "all-store-the-edges": stored.at(trained=True).over("graph", "architecture")
    >= 0.99,
    "associative-is-arbitrary": filming.size.at(architecture=gm.FROZEN) <= 0.2,
    "node2vec-is-the-graph": correlation.at(architecture=gm.NODE2VEC) <= -0.75,
    "transformers-know-far-pairs": cosine("far", "spearman", architecture=gm.GPT).over(
        "graph"
    )
    <= 0.0,
    "node2vec-stores-edges": stored.at(architecture=gm.NODE2VEC).over("graph") >= 0.95,
}
for name in (gm.NN, gm.GPT, gm.SSM):
    more = f"node2vec-beyond-{name.lower()}"
    SCORES[f"{name.lower()}-beyond-chance"] = beyond_chance.at(architecture=name) >= 0.0
    SCORES[more] = filming.more_geometric(gm.NODE2VEC, name)
