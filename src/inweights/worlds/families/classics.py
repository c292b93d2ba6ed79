"""Well-known social networks from ``networkx``, as shapes of :class:`~inweights.worlds.Graph`.

:data:`CLASSICS` lists them by name, :func:`classic_edges` returns their edges.
"""

from inweights.worlds.readers.edge_lists import EdgeList, from_graph

#: Names, and the functions of ``networkx`` that make them: members of a karate club who met outside
#: it (Zachary 1977), marriages between Florentine families (Padgett 1986), women and the events
#: that they attended (Davis 1941, bipartite), and characters who share a chapter of Les Misérables
#: (Knuth 1993).
CLASSICS = {
    "karate-club": "karate_club_graph",
    "florentine-families": "florentine_families_graph",
    "davis-southern-women": "davis_southern_women_graph",
    "les-miserables": "les_miserables_graph",
}


def classic_edges(name: str) -> EdgeList:
    """Return the edges of one of :data:`CLASSICS`."""
    import networkx as nx

    return from_graph(getattr(nx, CLASSICS[name])())
