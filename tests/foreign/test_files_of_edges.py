"""Graphs in files of other programs: all formats of ``networkx``, and other headers.

The edges are compared with those of the ``networkx`` graph.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

from inweights.cli import main
from inweights.errors import DataError
from inweights.worlds import Graph, read_edges
from inweights.worlds.readers.tables.first_row import UnclearHeaderError

FAMILIES = nx.florentine_families_graph()
NOVEL = nx.les_miserables_graph()


def edges(graph: Any) -> set[frozenset[str]]:
    return {frozenset((str(u), str(v))) for u, v in graph.edges()}


def read(path: Path, **how: Any) -> set[frozenset[str]]:
    return {frozenset(link) for link in read_edges(path, **how).links}


def table(path: Path, header: str, graph: Any = FAMILIES, more: str = "") -> Path:
    lines = [header, *(f"{u},{v}{more}" for u, v in graph.edges())]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("graph", [FAMILIES, NOVEL], ids=["families", "novel"])
@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("g.edgelist", nx.write_edgelist),
        ("g.txt", lambda g, f: nx.write_edgelist(g, f, data=False)),
        ("g.csv", lambda g, f: nx.write_edgelist(g, f, delimiter=",")),
        ("g.tsv", lambda g, f: nx.write_edgelist(g, f, delimiter="\t")),
        ("g.adjlist", nx.write_adjlist),
        ("g.multiadjlist", nx.write_multiline_adjlist),
        ("g.gml", nx.write_gml),
        ("g.gexf", nx.write_gexf),
        ("g.graphml", nx.write_graphml),
        ("g.net", nx.write_pajek),
        (
            "g.json",
            lambda g, f: f.write_text(json.dumps(nx.node_link_data(g, edges="links"))),
        ),
        ("h.json", lambda g, f: f.write_text(json.dumps(nx.adjacency_data(g)))),
        ("c.json", lambda g, f: f.write_text(json.dumps(nx.cytoscape_data(g)))),
    ],
)
def test_what_networkx_writes_is_read(
    tmp_path: Path, graph: Any, name: str, write: Callable[[Any, Path], Any]
) -> None:
    write(graph, tmp_path / name)
    assert read(tmp_path / name) == edges(graph)


def test_weights_are_no_nodes_and_that_is_said(tmp_path: Path) -> None:
    nx.write_weighted_edgelist(NOVEL, tmp_path / "g.tsv", delimiter="\t")
    found = read_edges(tmp_path / "g.tsv")
    assert {frozenset(link) for link in found.links} == edges(NOVEL)
    assert [
        "is a weight" in remark.text for remark in found.remarks if not remark.sure
    ] == [True]


@pytest.mark.parametrize(
    "header",
    [
        "node1,node2",
        "head,tail",
        "from_node,to_node",
        "x,y",
        "Source,Target",
        "id1,id2",
        "Quelle,Ziel",
        "FromNodeId,ToNodeId",
        "person_a,person_b",
    ],
)
def test_a_header_is_no_edge(tmp_path: Path, header: str) -> None:
    assert read(table(tmp_path / "g.csv", header)) == edges(FAMILIES)


def test_columns_beside_the_ends_are_not_read(tmp_path: Path) -> None:
    path = table(
        tmp_path / "g.csv", "Source,Target,Type,Id,Weight", more=",Undirected,1,2"
    )
    assert read(path) == edges(FAMILIES)


def test_a_header_of_unknown_words_is_refused_until_it_is_said(
    tmp_path: Path, capsys
) -> None:
    path = table(tmp_path / "g.csv", "casa,famiglia")
    with pytest.raises(
        UnclearHeaderError, match="'casa, famiglia' may be a header or an edge"
    ):
        read_edges(path)
    assert main(["atlas", str(path), "--scale", "smoke"]) == 2
    assert "--header yes or --header no" in capsys.readouterr().err
    assert read(path, header=True) == edges(FAMILIES)
    assert len(read(path, header=False)) == len(edges(FAMILIES)) + 1
    world = Graph(shape="file", file=str(path), header="yes").build()
    assert set(world.vocabulary.groups["node"]) == {
        str(n) for e in FAMILIES.edges() for n in e
    }


def test_an_edge_whose_nodes_occur_again_is_no_header(tmp_path: Path) -> None:
    path = tmp_path / "g.csv"
    path.write_text("u,v\nv,w\nw,u\n")
    assert len(read(path)) == 3


def test_columns_are_named_where_nothing_shows_them(tmp_path: Path) -> None:
    path = tmp_path / "g.csv"
    path.write_text("when,ann,whom\nMay,Ada,Bob\nJune,Bob,Cid\n")
    with pytest.raises(DataError, match="--columns"):
        read_edges(path, header=True)
    assert read(path, columns="ann,whom") == {
        frozenset(["Ada", "Bob"]),
        frozenset(["Bob", "Cid"]),
    }
    assert read(path, header=True, columns="2,3") == read(path, columns="ann,whom")


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        (
            "g.txt",
            "a b c\nb d\nc\n",
            "an adjacency list, .* rename the file to end in .adjlist",
        ),
        ("g.mtx", "%%MatrixMarket\n", "scipy.io.mmread"),
        ("g.dot", "graph { a -- b }", "read_dot"),
    ],
)
def test_what_is_not_read_names_what_reads_it(
    tmp_path: Path, name: str, text: str, says: str
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match=says):
        read_edges(tmp_path / name)


@pytest.mark.parametrize("graph", [nx.karate_club_graph, nx.les_miserables_graph])
def test_a_multiline_adjacency_list_is_known_by_its_form(
    graph: Any, tmp_path: Path
) -> None:
    """Its lines have two words, so counts and braces could be mistaken for labels of edges."""
    made = nx.relabel_nodes(graph(), str)
    for node, name in enumerate(list(made)):
        if " " in name:
            made = nx.relabel_nodes(made, {name: f"n{node}"})
    file = tmp_path / "graph.txt"
    nx.write_multiline_adjlist(made, str(file))
    with pytest.raises(DataError, match=r"rename the file to end in \.mladj"):
        read_edges(file)
    right = file.rename(tmp_path / "graph.mladj")
    assert len(read_edges(right).links) == made.number_of_edges()
    edges = tmp_path / "edges.txt"
    edges.write_text("a 1\nb 2\nc 1\n", encoding="utf-8")
    assert read_edges(edges).links == (("a", "1"), ("b", "2"), ("c", "1"))
