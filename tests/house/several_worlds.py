"""Make worlds whose queries have several right answers, generated and from real graphs.

``tests.house.several`` trains small models on these worlds. Real graphs are Nations,
Kinships and UMLS as shipped with the package ``pykeen`` (MIT licence; the argument is
its folder ``datasets``, with the data set Countries that it downloads), and graphs of
``networkx``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import networkx as nx
import numpy as np

from inweights.worlds import Knowledge, World
from inweights.worlds.knowledge.triples import bridges_of, world_of

Rows = list[tuple[str, str, str]]
#: Lowest and highest number of facts of a part of a real graph; small models learn so
#: many in seconds.
LEAST, MOST = 40, 130


def world(rows: Rows, identities: float, rng: np.random.Generator) -> World:
    """Return the world of some facts, with identities of a share of its bridges."""
    rows = list(dict.fromkeys(rows))
    entities = sorted({end for s, _, o in rows for end in (s, o)})
    relations = sorted({r for _, r, _ in rows})
    place, kind = (
        {n: i for i, n in enumerate(names)} for names in (entities, relations)
    )
    triples = np.array(
        [(place[s], kind[r], place[o]) for s, r, o in rows], dtype=np.int64
    )
    zeros = np.zeros(len(rows), dtype=np.int64)
    facts = Knowledge(tuple(entities), tuple(relations), triples, zeros, zeros)
    bridges = rng.permutation(bridges_of(facts))
    return world_of(
        facts, identity=bridges[: round(identities * len(bridges))].tolist()
    )


def dense(
    rng: np.random.Generator, *, entities: int, relations: int, values: int
) -> Rows:
    """Draw relations among the same entities, each with several values per entity."""
    weights = rng.dirichlet(np.full(entities, 2.0))
    rows = []
    for relation in range(relations):
        for one in range(entities):
            count = int(rng.integers(1, values + 1))
            others = rng.choice(entities, count, replace=False, p=weights)
            rows += [
                (f"e{one}", f"r{relation}", f"e{n}")
                for n in others.tolist()
                if n != one
            ]
    return rows


def typed(
    rng: np.random.Generator, *, levels: tuple[int, int, int], values: int
) -> Rows:
    """Draw relations from a first level of entities to a second and on to a third."""
    names = [
        [f"{letter}{i}" for i in range(n)]
        for letter, n in zip("abc", levels, strict=True)
    ]
    rows = []
    for level in (0, 1):
        ends = names[level + 1]
        weights = rng.dirichlet(np.full(len(ends), 2.0))
        for one in names[level]:
            for relation in range(2):
                count = int(rng.integers(1, values + 1))
                chosen = rng.choice(
                    len(ends), min(count, len(ends)), replace=False, p=weights
                )
                rows += [(one, f"{'rs'[level]}{relation}", ends[i]) for i in chosen]
    return rows


def descent(rng: np.random.Generator, *, children: int) -> Rows:
    """Draw families whose parents have several children, with facts in both directions."""
    rows, parents = [], [f"p{i}" for i in range(4)]
    for generation in range(2):
        following = []
        for parent in parents:
            for child in range(int(rng.integers(1, children + 1))):
                name = f"{parent}.{child}"
                rows += [(parent, "child", name), (name, "parent", parent)]
                following.append(name)
        parents = following[: 12 if generation == 0 else None]
    return rows


def linked(graph: nx.Graph, *, relation: str = "linked", both: bool = True) -> Rows:
    """Return the edges of a graph as facts in one direction or in both."""
    rows = [(str(a), relation, str(b)) for a, b in graph.edges if a != b]
    return rows + [(b, r, a) for a, r, b in rows] * both


def drawn_graph(rng: np.random.Generator) -> Rows:
    """Draw a small network that is random, clustered or has hubs."""
    nodes, seed = int(rng.integers(14, 26)), int(rng.integers(2**31))
    makers: list[Callable[[], nx.Graph]] = [
        lambda: nx.gnm_random_graph(nodes, 2 * nodes, seed=seed),
        lambda: nx.connected_watts_strogatz_graph(nodes, 4, 0.2, seed=seed),
        lambda: nx.barabasi_albert_graph(nodes, 2, seed=seed),
    ]
    return linked(makers[int(rng.integers(3))]())


def triples(folder: Path) -> Rows:
    """Return all facts of a data set of pykeen."""
    lines = (folder / "train.txt").read_text(encoding="utf-8").splitlines()
    return [(s, r, o) for s, r, o in (line.split("\t") for line in lines)]


def part_of(
    rows: Rows, rng: np.random.Generator, *, entities: int, relations: int
) -> Rows:
    """Draw ``LEAST`` to ``MOST`` facts of some relations among some entities."""
    count = int(rng.integers(LEAST, MOST + 1))
    for _ in range(200):
        ends = sorted({end for s, _, o in rows for end in (s, o)})
        kept = set(rng.choice(ends, min(entities, len(ends)), replace=False).tolist())
        inside = [row for row in rows if row[0] in kept and row[2] in kept]
        known = sorted({r for _, r, _ in inside})
        chosen = set(
            rng.choice(known, min(relations, len(known)), replace=False).tolist()
        )
        found = [row for row in inside if row[1] in chosen]
        if len(found) >= LEAST:
            order = (
                rng.permutation(len(found))[:count]
                if len(found) > count
                else range(len(found))
            )
            return [found[i] for i in sorted(order)]
    raise ValueError("no part of this graph has enough facts")


def built_in(rng: np.random.Generator) -> Rows:
    """Draw a graph of networkx with at most 23 nodes, with edges in one or both directions."""
    makers = (
        nx.florentine_families_graph,
        nx.les_miserables_graph,
        nx.karate_club_graph,
        nx.davis_southern_women_graph,
    )
    graph = makers[int(rng.integers(len(makers)))]()
    busiest = sorted(graph.nodes, key=lambda node: -graph.degree(node))
    kept = graph.subgraph(busiest[: int(rng.integers(14, 24))])
    one_way = linked(kept, both=False)
    chains = {s for s, _, _ in one_way} & {o for _, _, o in one_way}
    return one_way if chains and rng.integers(2) else linked(kept)


def families(folder: Path) -> dict[str, Callable[[np.random.Generator], Rows]]:
    """Return for every family a function that draws the facts of one world."""
    of = {
        name: triples(folder / name)
        for name in ("nations", "kinships", "umls", "countries")
    }
    return {
        "dense": partial(dense, entities=14, relations=3, values=3),
        "denser": partial(dense, entities=10, relations=3, values=5),
        "typed": partial(typed, levels=(14, 8, 10), values=3),
        "descent": partial(descent, children=4),
        "networks": drawn_graph,
        "real: networks": built_in,
        "real: nations": lambda rng: part_of(
            of["nations"], rng, entities=14, relations=4
        ),
        "real: kinships": lambda rng: part_of(
            of["kinships"], rng, entities=24, relations=8
        ),
        "real: countries": lambda rng: part_of(
            of["countries"], rng, entities=90, relations=2
        ),
        "real: umls": lambda rng: part_of(of["umls"], rng, entities=40, relations=8),
    }


def worlds(folder: Path, first: int, count: int) -> Iterator[tuple[str, int, World]]:
    """Yield worlds of every family, each with the family's name and the seed."""
    for name, make in families(folder).items():
        for seed in range(first, first + count):
            rng = np.random.default_rng([seed, len(name), *name.encode()])
            yield name, seed, world(make(rng), float(rng.choice([0.0, 0.5])), rng)
