"""Draw the small sets of facts, graphs and studies that ``relations.py`` tests."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
from hypothesis import strategies as st

from inweights.worlds import read_knowledge
from inweights.worlds.knowledge.knowledge import Knowledge

Fact = tuple[str, str, str, int]
Facts = tuple[Fact, ...]
COLUMNS = ("subject", "relation", "object", "stage")
#: All names have one length, so that none is part of another; none looks like a number.
PLAIN = tuple(f"ent{i:02}" for i in range(40))
RELATIONS = tuple(f"rel{i:02}" for i in range(12))
#: Names that an audit treats specially, and names that are hard to write into a file.
ODD = (
    "São Paulo",
    "Sao Paulo",
    "sao_paulo",
    "1980",
    "1,200.50",
    "1981-02-03",
    "12 %",
    "n/a",
    "-",
    "Ann",
    "Annapolis",
    "U.S.",
    "US",
    'a "b", c',
    "a; b",
    "O'Neil",
    "日本",
    "Ž\u030c",
    "a=b",
    "{subject}",
    "<b>&amp;</b>",
    "back\\slash",
    "#5",
    "None of these",
    "x" * 60,
)
FORMATS = ("csv", "tsv", "jsonl", "parquet")


@st.composite
def fact_sets(
    draw: st.DrawFn,
    names: Sequence[str] = PLAIN[:20],
    relations: Sequence[str] = RELATIONS[:6],
    most: int = 14,
) -> Facts:
    """Draw facts of few entities, so that facts chain, repeat, reverse and contradict."""
    few = draw(st.lists(st.sampled_from(names), min_size=3, max_size=9, unique=True))
    kinds = draw(
        st.lists(st.sampled_from(relations), min_size=1, max_size=4, unique=True)
    )
    stages = st.integers(0, draw(st.sampled_from((0, 0, 2))))
    one = st.tuples(
        st.sampled_from(few), st.sampled_from(kinds), st.sampled_from(few), stages
    )
    rows = draw(st.lists(one, min_size=2, max_size=most))
    # A repeated fact has the stage of its first occurrence.
    return tuple((*r[:3], next(o[3] for o in rows if o[:3] == r[:3])) for r in rows)


@st.composite
def moved(draw: st.DrawFn, facts: st.SearchStrategy[Facts]) -> tuple[Facts, Facts]:
    """Draw facts, and the same facts in another order with some repeated."""
    rows = draw(facts)
    again = draw(st.lists(st.sampled_from(rows), max_size=3))
    return rows, tuple(draw(st.permutations([*rows, *again])))


@st.composite
def renamed(draw: st.DrawFn) -> tuple[Facts, Facts, dict[str, str]]:
    """Draw facts, the same facts renamed and in another order, and the map of names."""
    rows, others = draw(moved(fact_sets()))
    used = sorted({name for s, r, o, _ in rows for name in (s, o)})
    kinds = sorted({r for _, r, _, _ in rows})
    new = dict(zip(used, draw(st.permutations(PLAIN))[: len(used)], strict=True))
    new |= dict(zip(kinds, draw(st.permutations(RELATIONS))[: len(kinds)], strict=True))
    return rows, tuple((new[s], new[r], new[o], n) for s, r, o, n in others), new


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[tuple[str, str]], list[str], list[str]]:
    """Draw the edges of a graph with a path of two hops, its labels, and new labels."""
    count = draw(st.integers(4, 9))
    labels = [f"n{i}" for i in range(count)]
    ends = st.tuples(st.sampled_from(labels), st.sampled_from(labels))
    links = draw(st.lists(ends, min_size=1, max_size=2 * count, unique=True))
    # The ends of the path are not joined, so that some distance is above 1.
    path = [("n0", "n1"), ("n1", "n2")]
    links = [
        link for link in links if set(link) != {"n0", "n2"} and link not in path
    ] + path
    return draw(st.permutations(links)), labels, draw(st.permutations(labels))


def studies(*optimizers: str) -> st.SearchStrategy[dict[str, Any]]:
    """Draw the parts of a study, such as its world and model, as plain values."""
    two_hop = st.fixed_dictionaries(
        {"kind": st.just("two-hop"), "n": st.integers(2, 5)},
        optional={"identity": st.sampled_from([True, False, 0.5])},
    )
    reversal = st.fixed_dictionaries(
        {
            "kind": st.just("reversal"),
            "n": st.integers(3, 5),
            "told": st.integers(0, 2),
        },
        optional={"identity": st.sampled_from(["none", "both"])},
    )
    emb = st.fixed_dictionaries(
        {"kind": st.just("emb-mlp"), "width": st.sampled_from([4, 8])},
        optional={"init": st.fixed_dictionaries({"std": st.sampled_from([0.01, 0.5])})},
    )
    gpt = st.fixed_dictionaries(
        {
            "kind": st.just("gpt"),
            "width": st.just(8),
            "heads": st.just(2),
            "layers": st.integers(1, 2),
            "context": st.just(8),
        }
    )
    optimizer = st.fixed_dictionaries(
        {"kind": st.sampled_from(optimizers), "rate": st.sampled_from([1e-3, 0.1])},
        optional={"weight_decay": st.sampled_from([0.0, 0.1])},
    )
    phase = st.fixed_dictionaries(
        {"steps": st.integers(1, 4), "optimizer": optimizer},
        optional={"batch": st.integers(1, 3)},
    )
    over = st.sampled_from(
        [
            {},
            {"world.n": [3, 4]},
            {"learner.phases.0.optimizer.rate": [0.01, 0.1]},
            {"world.n, model.width": [[3, 4], [4, 8]]},
            {"model.width": [4, 8], "world.n": [3]},
        ]
    )
    return st.fixed_dictionaries(
        {
            "world": st.one_of(two_hop, reversal),
            "model": st.one_of(emb, gpt),
            "learner": st.fixed_dictionaries(
                {"phases": st.lists(phase, min_size=1, max_size=2)}
            ),
            "over": over,
            "seeds": st.one_of(st.integers(1, 2), st.just([3, 7])),
            "measures": st.sampled_from(
                [["accuracy"], ["margins"], ["accuracy", "margins"]]
            ),
        }
    )


def read(here: Path, rows: Facts, kind: str = "csv") -> Knowledge:
    """Write facts to a file and return what is read from it."""
    return read_knowledge(write(here / f"facts.{kind}", rows))


def write(path: Path, rows: Facts) -> Path:
    """Write facts in the format of the file's extension, and return its path."""
    records = [dict(zip(COLUMNS, row, strict=True)) for row in rows]
    if path.suffix == ".parquet":
        pl.DataFrame(records).write_parquet(path)
    elif path.suffix == ".jsonl":
        path.write_bytes(b"\n".join(map(msgspec.json.encode, records)))
    else:
        with path.open("w", encoding="utf-8", newline="") as file:
            table = csv.writer(file, delimiter="\t" if path.suffix == ".tsv" else ",")
            table.writerows([COLUMNS, *rows])
    return path


def toml(values: Mapping[str, Any]) -> str:
    """Return plain values as TOML, with nested tables inline."""
    return "".join(
        f"{json.dumps(key)} = {_toml(value)}\n" for key, value in values.items()
    )


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{json.dumps(k)} = {_toml(v)}' for k, v in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value)
