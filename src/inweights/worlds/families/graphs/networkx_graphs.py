"""Create the config of a graph from a networkx graph in memory: :func:`from_networkx`."""

from typing import Any

from inweights.errors import check_names
from inweights.worlds.families.graphs.graph import Graph
from inweights.worlds.readers.graphs.edge_lists import from_graph


def from_networkx(graph: Any, **settings: Any) -> Graph:
    """Return the config of a ``networkx`` graph; its edges become part of the settings.

    Args:
        graph: Graph of any class of networkx. Labels are converted to text, parallel
            edges are merged, and weights are ignored. Edges of a directed graph are
            facts in their own direction, and edges of an undirected graph are facts in
            both directions.
        settings: Other settings of :class:`~inweights.worlds.Graph`, such as
            ``self_edges=True``, or ``edges="both"`` for both directions of a directed
            graph.

    Returns:
        The config, with the shape ``edges``; its method ``build`` builds the world.

    Raises:
        DataError: ``graph`` is not a networkx graph, has no edge, or has two labels
            that are equal as text.
        ConfigError: A setting is unknown, its value is invalid, or it has no effect on
            graphs of the shape ``edges``.

    Example:
        >>> import networkx
        >>> club = from_networkx(networkx.karate_club_graph()).build()
        >>> len(club.vocabulary), len(club.facts)
        (34, 156)
    """
    known = set(Graph.__struct_fields__) - {"shape", "links", "lone"}
    check_names("setting of a graph", settings, known)
    edges = from_graph(graph)
    links = list(map(list, edges.links))
    if graph.is_directed():
        settings.setdefault("edges", "forward")
    return Graph(shape="edges", links=links, lone=edges.lone, **settings)
