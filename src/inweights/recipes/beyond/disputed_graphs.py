"""Define the graphs of :mod:`~.geometry_disputed`, and the properties that the dispute is about."""

import polars as pl

from inweights.worlds.families.graphs.graph import Graph
from inweights.worlds.families.graphs.networkx_graphs import from_networkx

#: Config of each graph; for a random regular graph, its degree.
GRAPHS: dict[str, Graph | int] = {
    "chain": Graph(shape="path-star", arms=1, nodes=16),
    "cycle of 16": Graph(shape="cycle", n=16),
    "cycle of 15": Graph(shape="cycle", n=15),
    "grid": Graph(shape="grid"),
    "tree": Graph(
        shape="tree-star",
        arms=2,
        branches=2,
        nodes=4,
    ),
    "regular, degree 3": 3,
    "regular, degree 4": 4,
    "star": Graph(shape="path-star", arms=15, nodes=2),
    "Florentine families": Graph(shape="florentine-families"),
    "karate club": Graph(shape="karate-club"),
}
#: Bipartite graphs, which have no cycle of odd length. The star is also bipartite, but
#: it is left out, because all of its leaves have the same distance from each other.
BIPARTITE = ("chain", "cycle of 16", "grid", "tree")
#: Graphs that are named in the abstract of the paper that finds no geometry.
NAMED = (
    "chain",
    "cycle of 16",
    "cycle of 15",
    "regular, degree 3",
    "regular, degree 4",
    "star",
)


def graph_of(name: str) -> Graph:
    """Return the config of a graph, given its name.

    Args:
        name: A key of :data:`GRAPHS`, such as ``chain`` or ``karate club``. The random
            regular graphs are drawn with a fixed seed, so that they are always the
            same.

    Returns:
        The config of the graph.

    Raises:
        KeyError: There is no graph of this name.
    """
    graph = GRAPHS[name]
    if isinstance(graph, Graph):
        return graph
    import networkx as nx

    return from_networkx(nx.random_regular_graph(graph, 16, seed=0))


def with_marks(table: pl.DataFrame) -> pl.DataFrame:
    """Return a table with additional columns about the kind of each row's graph.

    Args:
        table: Table with the column ``graph``, which contains keys of :data:`GRAPHS`.

    Returns:
        The rows with three additional Boolean columns: ``bipartite`` (chain, even
        cycle, grid or tree), ``named`` (whether the graph is named in the abstract of
        the paper that finds no geometry) and ``star`` (whether it is a star). If the
        table has ``spearman`` and ``null_low``, there is also ``beyond_chance``,
        ``spearman`` minus ``null_low``.
    """
    marked = table.with_columns(
        bipartite=pl.col("graph").is_in(BIPARTITE),
        named=pl.col("graph").is_in(NAMED),
        star=pl.col("graph") == "star",
    )
    if "null_low" in table.columns and "spearman" in table.columns:
        return marked.with_columns(
            beyond_chance=pl.col("spearman") - pl.col("null_low")
        )
    return marked
