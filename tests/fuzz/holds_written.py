"""Check relations of written files and of graphs; see ``relations.py`` and ``holds.py``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
from hypothesis import strategies as st
from tests.fuzz.drawn import RELATIONS, Facts, read
from tests.fuzz.holds import accepted, counts, same

from inweights.audit import augment, write_augmented
from inweights.audit.strategies import STRATEGIES
from inweights.probes import hop_correlation, named_geometry
from inweights.probes.geometry.embedding import Embedding
from inweights.report.pages.export import write_export
from inweights.theory.geometric_memory.graph import adjacency, hop_distances
from inweights.theory.geometric_memory.layout import roots_of
from inweights.worlds import (
    Graph,
    Triples,
    Wording,
    load_world,
    read_knowledge,
    save_world,
)

#: Texts name relations literally, so that the facts of a text can be parsed from it.
WORDS = Wording(phrases={name: name for name in RELATIONS})
_NAMES = re.compile(r"\b(?:ent|rel)\d\d\b")


def augmentations() -> st.SearchStrategy[dict[str, Any]]:
    """Draw options of ``augment``."""
    names = [name for name in STRATEGIES if name != "replay"]
    return st.fixed_dictionaries(
        {
            "strategies": st.lists(st.sampled_from([*names, "auto"]), unique=True),
            "wordings": st.integers(1, 5),
            "hops": st.integers(2, 4),
            "most": st.sampled_from([1, 5, 10_000]),
            "hold_out": st.sampled_from([0.0, 0.5, 1.0]),
            "budget": st.sampled_from([0, 0, 400]),
            "curriculum": st.sampled_from(["joint", "sa"]),
            "seed": st.integers(0, 3),
        }
    )


def augment_true(here: Path, case: tuple[Facts, dict[str, Any]]) -> None:
    """Check that rows follow from the facts of the file, and that these facts are written."""
    rows, options = case
    facts = read(here, rows)
    made = augment(facts, wording=WORDS, **options)
    known = {row[:3] for row in rows}
    line = {tuple(facts.names(i)): int(at) for i, at in enumerate(facts.lines)}
    for table in (made.train, made.control):
        for row in table.iter_rows(named=True):
            said = _said(row["role"], row["text"])
            assert said, row
            for subject, chain, thing in said:
                assert thing in _reached(known, subject, chain), row
            if row["fact"] >= 0:
                ((subject, (relation,), thing),) = said
                assert line[subject, relation, thing] == row["line"], row
    with accepted():
        number = len(list(here.glob("out*")))
        folder = write_augmented(made, here / f"out{number}")
        again = read_knowledge(folder / "facts.parquet")
        assert [again.names(i) for i in range(len(again))] == [
            *dict.fromkeys(r[:3] for r in rows)
        ]
        stageless = tuple((*row[:3], 0) for row in rows)
        same(counts(again), counts(read(here, stageless)))
        assert not [one for one in again.remarks if one.kind == "duplicate"]


def _said(role: str, text: str) -> list[tuple[str, tuple[str, ...], str]]:
    """Return the statements of a text as subject, chain of relations and object."""
    # The heading of an entity's text makes no statement.
    text = re.sub(r"^(About [^:]+|How [^:]+ are related): ", "", text)
    parts = [
        _NAMES.findall(part) for part in re.split(r"\.(?: |$)|Step by step:", text)
    ]
    found: list[tuple[str, tuple[str, ...], str]] = []
    for names in filter(None, parts):
        ends = [name for name in names if name.startswith("ent")]
        chain = tuple(name for name in names if name.startswith("rel"))
        if role == "identity":
            assert len(set(ends)) == 1, text
            found.append((ends[0], (), ends[0]))
        elif role == "reverse":
            found.append((ends[1], chain, ends[0]))
        # This is the question, whose answer is in the last part.
        elif role == "steps" and len(ends) == 1:
            found.append((ends[0], chain[::-1], ""))
        else:
            assert len(ends) == 2, text
            found.append((ends[0], chain, ends[1]))
    if role == "steps":
        (subject, chain, _), *told, (thing, _, _) = found
        found = [(subject, chain, thing), *told]
    return found


def _reached(
    known: set[tuple[str, str, str]], subject: str, chain: tuple[str, ...]
) -> set[str]:
    there = {subject}
    for relation in chain:
        there = {o for s, r, o in known if s in there and r == relation}
    return there


def facts_written(here: Path, case: tuple[Facts, str, str]) -> None:
    """Check that facts are the same in every format, and that a saved world is read back."""
    rows, one, other = case
    first = read(here, rows, one)
    with accepted():
        second = read(here, rows, other)
        assert first.frame().drop("line").equals(second.frame().drop("line"))
        assert counts(first) == counts(second)
        world = Triples(path=str(here / f"facts.{one}"), questions="all").build()
        number = len(list(here.glob("world*")))
        stored = load_world(save_world(world, here / f"world{number}"))
        for part in ("facts", "queries"):
            mine, yours = getattr(world, part), getattr(stored, part)
            assert mine.role_names == yours.role_names
            for field in ("prompts", "prompt_ends", "answers", "answer_ends", "roles"):
                assert np.array_equal(getattr(mine, field), getattr(yours, field)), (
                    field
                )
        assert world.vocabulary.names == stored.vocabulary.names


def tables() -> st.SearchStrategy[dict[str, pl.DataFrame]]:
    """Draw tables of a run with any numbers, nulls, NaN, and names that CSV quotes."""
    # Texts that a spreadsheet would run as a formula are left out, as they are exported with
    # a mark before them.
    text = st.text(
        st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=8
    )
    name = text.filter(
        lambda one: not one.startswith(("=", "+", "-", "@")) and one.strip() == one
    )
    row = st.tuples(
        name | st.sampled_from(['a "b", c', "a\nb", "NA", "null", "0", "true"]),
        st.floats(allow_nan=True) | st.none(),
        st.integers(-(2**62), 2**62),
        st.booleans(),
    )
    schema = {"name": pl.String, "x": pl.Float64, "n": pl.Int64, "is": pl.Boolean}
    table = st.lists(row, min_size=1, max_size=6).map(
        lambda rows: pl.DataFrame(rows, schema=schema, orient="row")
    )
    return st.dictionaries(st.sampled_from(["accuracy", "losses"]), table, min_size=1)


def tables_exported(here: Path, case: dict[str, pl.DataFrame]) -> None:
    """Check that exported tables are read back from CSV with the same bits and nulls."""
    write_export(SimpleNamespace(tables=case, claims=()), here, csv=True)  # type: ignore[arg-type]
    with accepted():
        for name, table in case.items():
            read_back = pl.read_csv(
                here / f"{name}.csv", schema=table.schema, empty_string_is_null=False
            )
            assert read_back.equals(table, null_equal=True), (read_back, table)


def graph_moved(
    here: Path, case: tuple[list[tuple[str, str]], list[str], list[str]]
) -> None:
    """Check that renaming nodes changes no distance, root or geometry of an embedding."""
    links, labels, others = case
    new = dict(zip(labels, others, strict=True))
    rng = np.random.default_rng(len(links))
    vectors = rng.normal(size=(len(labels), 3))

    def shown(
        pairs: list[tuple[str, str]], names: list[str], back: Mapping[str, str]
    ) -> Any:
        file = here / "edges.csv"
        file.write_text("source,target\n" + "".join(f"{u},{v}\n" for u, v in pairs))
        world = Graph(shape="file", file=str(file)).written_out().build()
        there = world.vocabulary.groups["node"]
        hops = hop_distances(adjacency(world))
        far = {
            (back[u], back[v]): hops[i, j]
            for i, u in enumerate(there)
            for j, v in enumerate(there)
        }
        model = Embedding(tuple(names), vectors).on(world)
        named = named_geometry(model, world, draws=1).select("measure", "value")
        values: dict[str, Any] = dict(named.iter_rows())
        values["hops"] = hop_correlation(model, world, draws=1)["spearman"].item()
        # Of several central nodes the first is the root, so that roots are compared by
        # their distances to other nodes.
        roots = sorted(tuple(sorted(hops[i].tolist())) for i in roots_of(hops))
        return far, roots, values

    itself = {name: name for name in labels}
    expected = shown(links, labels, itself)
    with accepted():
        moved = [(new[u], new[v]) for u, v in reversed(links)]
        found = shown(moved, others, {name: old for old, name in new.items()})
        assert found[:2] == expected[:2]
        # Cosines differ by a few eps, and ranks do not differ. Eigenspaces of a graph of
        # nine nodes have gaps over 1e-8 (see ``eigenspaces``), so that sums of squares
        # differ by at most 1e-16 / 1e-8.
        for name, value in expected[2].items():
            assert np.isclose(
                found[2][name], value, rtol=0, atol=1e-8, equal_nan=True
            ), name
