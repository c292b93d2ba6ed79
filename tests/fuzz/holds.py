"""Check that inputs with the same meaning give the same results; see ``relations.py``.

Each check takes a folder and a drawn case. An error of the library on the first of two
inputs counts as a refusal; on the second input, after the first was accepted, it counts
as a difference.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import polars as pl
from tests.fuzz.drawn import Facts, read

from inweights.audit import audit, findings, forecast, headline
from inweights.errors import InweightsError
from inweights.theory import Prediction
from inweights.worlds import Triples
from inweights.worlds.knowledge.knowledge import Knowledge
from inweights.worlds.knowledge.triples import world_of
from inweights.worlds.world import World

#: Margins of at most this size are ties, as predictions are only this accurate
#: (docs/predict.md).
TIE = 0.02
#: Relative error of a mean of a few hundred shares, each sum rounding by at most one eps.
MEAN = 1e-12


@contextmanager
def accepted() -> Iterator[None]:
    """Turn a refusal into a difference, as an equivalent input was accepted before."""
    try:
        yield
    except InweightsError as error:
        raise AssertionError(
            f"refused, where the same was accepted: {error}"
        ) from error


def same(found: Any, expected: Any) -> None:
    """Check that plain values are equal, and floating-point numbers equal up to rounding."""
    if isinstance(expected, dict):
        assert found.keys() == expected.keys(), found.keys() ^ expected.keys()
        for key, value in expected.items():
            same(found[key], value)
    elif isinstance(expected, list | tuple):
        assert len(found) == len(expected), (found, expected)
        for one, other in zip(found, expected, strict=True):
            same(one, other)
    elif isinstance(expected, float) and isinstance(found, float):
        both = math.isnan(found) and math.isnan(expected)
        assert both or math.isclose(found, expected, rel_tol=MEAN), (found, expected)
    else:
        assert found == expected, (found, expected)


def counts(facts: Knowledge, new: dict[str, str] | None = None) -> dict[str, Any]:
    """Return everything that an audit counts, with names replaced as ``new`` maps them."""
    made = audit(facts, forecast=False)

    def name(text: str) -> str:
        return new.get(text, text) if new else text

    def by(table: pl.DataFrame, *keys: str) -> dict[tuple[str, ...], Any]:
        rest = [column for column in table.columns if column not in keys]
        return {
            tuple(name(row[key]) for key in keys): tuple(row[key] for key in rest)
            for row in table.iter_rows(named=True)
        }

    kinds = Counter(one.kind for one in facts.remarks if one.kind != "duplicate")
    titles = Counter(
        one.title for one in findings(made) if "stated again" not in one.title
    )
    leaks = made.leaks.select(
        "subject", "first", "bridge", "second", "answer", "stated_as"
    )
    return {
        # Among equally common answers, the first by name is given as the most common.
        "relations": by(made.relations.drop("most_common"), "relation"),
        "compositions": by(made.compositions, "first", "second"),
        "bridges": by(made.bridges, "entity"),
        "transfers": by(made.transfers, "shared", "attribute"),
        "leaks": Counter(tuple(map(name, row)) for row in leaks.iter_rows()),
        "overlap": by(made.name_overlap, "relation"),
        "positions": made.entity_positions,
        "headline": headline(made),
        "remarks": kinds,
        "titles": titles,
    }


def audit_moved(here: Path, case: tuple[Facts, Facts]) -> None:
    rows, others = case
    expected = counts(read(here, rows))
    with accepted():
        facts = read(here, others)
        same(counts(facts), expected)
    repeated = sum(one.kind == "duplicate" for one in facts.remarks)
    assert repeated == len(others) - len({row[:3] for row in rows})


def audit_renamed(here: Path, case: tuple[Facts, Facts, dict[str, str]]) -> None:
    rows, others, new = case
    expected = counts(read(here, rows), new)
    with accepted():
        same(counts(read(here, others)), expected)


Queries = dict[tuple[str, str, str], dict[str, Any]]


def answers(made: Prediction, new: dict[str, str] | None = None) -> Queries:
    """Return the prediction of each query by role, prompt and, if it is unique, answer."""
    found = {}

    def name(text: str) -> str:
        return " ".join(new.get(word, word) for word in text.split()) if new else text

    for row in made.queries.iter_rows(named=True):
        # Which of several right answers is shown depends on the order of the file.
        one = row["right_answers"] == 1
        told = name(row["answer"]) if one else ""
        found[row["role"], name(row["prompt"]), told] = row
    return found


def agree(
    one: Prediction, other: Prediction, new: dict[str, str] | None = None
) -> list[Any]:
    """Compare two predictions; return the queries whose margins differ by more than a tie."""
    mine, yours = answers(one, new), answers(other)
    assert mine.keys() == yours.keys(), mine.keys() ^ yours.keys()
    far = []
    for key, row in mine.items():
        a, b = row["margin"], yours[key]["margin"]
        if a != b and not abs(a - b) <= TIE:
            far.append((key, row["query"], yours[key]["query"]))
        # Verdicts may only differ if the margins are on both sides of the edge of a tie.
        elif row["verdict"] != yours[key]["verdict"]:
            assert min(abs(abs(m) - TIE) for m in (a, b)) <= abs(a - b), (
                key,
                row,
                yours[key],
            )
    return far


def predict_renamed(here: Path, case: tuple[Facts, Facts, dict[str, str]]) -> None:
    """Check that renaming and reordering facts changes no margin by more than a tie.

    Two solutions that differ by more have to be two optima of one program, so that the
    intervals over all optima overlap. Solutions of the soft program have to agree once
    they are solved with a smaller gap.
    """
    rows, others, new = case
    one = forecast(read(here, rows), advise=False)
    with accepted():
        other = forecast(read(here, others), advise=False)
        far = agree(one, other, new)
        if far and one.why:
            one, other = (
                forecast(read(here, part), advise=False, gap=1e-6)
                for part in (rows, others)
            )
            assert not agree(one, other, new), far
        elif far:
            mine = one.with_intervals(queries=[m for _, m, _ in far]).queries
            yours = other.with_intervals(queries=[y for _, _, y in far]).queries
            for key, m, y in far:
                a, b = (
                    mine.filter(query=m).row(0, named=True),
                    yours.filter(query=y).row(0, named=True),
                )
                assert (
                    max(a["lower"], b["lower"]) <= min(a["upper"], b["upper"]) + 1e-9
                ), (
                    key,
                    a,
                    b,
                )


def predict_beside(here: Path, case: tuple[Facts, Facts]) -> None:
    """Check that unrelated facts change no count and no query of the other facts.

    They do not change a prediction either if each component is predicted by itself; in
    one program, all answers compete.
    """
    rows, others = map(_joined, case)
    facts, kinds = read(here, rows), Triples(questions="all").kinds
    expected, mine = counts(facts), world_of(facts, kinds=kinds)
    alone = forecast(facts, advise=False)
    with accepted():
        both = read(here, (*others, *rows))
        found = counts(both)
        for table in ("relations", "compositions", "bridges", "transfers", "overlap"):
            for key, value in expected[table].items():
                same(found[table][key], value)
        whole, old = (
            world_of(both, kinds=kinds),
            {name for row in rows for name in row[:3]},
        )
        elsewhere = {one for one in _asked(whole) if old >= set(one[1].split())}
        assert elsewhere == _asked(mine)
        most = max(len(mine.facts), len(whole.facts) - len(mine.facts))
        module = "inweights.theory.prediction.parts_in_time"
        with patch(f"{module}.MAX_FACTS", most), patch(f"{module}.LEAST_FACTS", most):
            parted = forecast(both, advise=False)
        assert len(parted.parts) == 2
        ours = [old >= set(prompt.split()) for prompt in parted.queries["prompt"]]
        part = SimpleNamespace(
            queries=parted.queries.filter(pl.Series(ours, dtype=pl.Boolean))
        )
        assert not agree(alone, part)  # type: ignore[arg-type]


def _asked(world: World) -> set[tuple[str, str, str]]:
    queries, text = world.queries, world.vocabulary.text
    roles = [queries.role_names[role] for role in queries.roles]
    return {
        (
            role,
            text(queries.prompt(i)),
            "" if role == "unstated" else text(queries.answer(i)),
        )
        for i, role in enumerate(roles)
    }


def _joined(rows: Facts) -> Facts:
    """Return the facts in the connected component of the first fact."""
    there = {rows[0][0]}
    for _ in rows:
        there |= {name for s, _, o, _ in rows if there & {s, o} for name in (s, o)}
    return tuple(row for row in rows if row[0] in there)
