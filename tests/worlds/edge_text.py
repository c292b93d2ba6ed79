"""Write graphs in the plain text format, so that reading them can be tested."""

from __future__ import annotations

from pathlib import Path

from inweights.worlds import EdgeList, World


def world_edges(world: World) -> EdgeList:
    """Return the edges of a graph's world: its ``edge`` facts, loops and path queries."""
    names, facts, queries = world.vocabulary.names, world.facts, world.queries
    places = [
        i
        for i in range(len(facts))
        if facts.role_names[facts.roles[i]] != "reverse_edge"
    ]
    links = [(names[facts.prompt(i)[0]], names[facts.answer(i)[0]]) for i in places]
    answers = [queries.answer(i) for i in range(len(queries))]
    paths = [tuple(map(names.__getitem__, answer)) for answer in answers]
    return EdgeList.collect(links, world.vocabulary.groups["node"], paths)


def write_edges(source: World | EdgeList, file: Path) -> Path:
    """Write a file that ``read_edges`` reads; labels may not contain ``=`` or a comma."""
    edges = source if isinstance(source, EdgeList) else world_edges(source)
    linked = {label for link in edges.links for label in link}
    lines = [f"{u}={v}" for u, v in edges.links]
    lines += [f"{label}=" for label in edges.nodes if label not in linked]
    lines += [f"{path[-1]}={','.join(path)}" for path in edges.paths]
    file.write_text("\n".join([*lines, ""]), encoding="utf-8")
    return file
