"""Corrections, audits and training texts of some invented companies, stored as text.

``INWEIGHTS_WRITE=1 pytest tests/audit/test_golden_audit.py`` rewrites the file; review
the changes.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from benchmarks.cleaning import planted

from inweights.audit import audit, augment, findings, headline, mend, outlook
from inweights.audit.correction.near import near_spellings
from inweights.audit.strategies import STRATEGIES
from inweights.worlds import Knowledge, read_knowledge

GOLDEN = Path(__file__).with_name("golden")
#: Facts with a shared value, a stated chain, an identity, a cycle, dates, and a second
#: stage.
FEW = [
    ("Ann", "works in", "Kite Team", 0),
    ("Bob", "works in", "Kite Team", 0),
    ("Cid", "works in", "Wren Team", 0),
    ("Kite Team", "based in", "Malmö", 0),
    ("Wren Team", "based in", "Cork", 0),
    ("Malmö", "country", "Sweden", 0),
    ("Cork", "country", "Ireland", 0),
    ("Cork", "same as", "Cork", 0),
    ("Cid", "lives in", "Cork", 0),
    ("Ann", "reports to", "Bob", 0),
    ("Bob", "manages", "Ann", 0),
    ("Ann", "born on", "1971-05-11", 1),
    ("Bob", "speaks", "Swedish", 1),
    ("Bob", "speaks", "Irish", 1),
    ("Ireland", "capital", "Cork City", 1),
]
REPLAYED = ["Ann met Bob in Malmö.", "Cork is a town.", "Nobody is named here."]
OPTIONS: dict[str, dict[str, Any]] = {
    "all": {"strategies": [*STRATEGIES], "replay": REPLAYED, "wordings": 2},
    "held-out": {
        "strategies": ["derive", "steps"],
        "hold_out": 0.5,
        "seed": 2,
        "hops": 3,
    },
    "short": {
        "strategies": ["paraphrases", "qa"],
        "budget": 150,
        "floor": 0.3,
        "wordings": 2,
    },
    "stages": {
        "strategies": ["identities", "passages"],
        "curriculum": "sa",
        "wordings": 1,
    },
}


def _read(folder: Path, *rows: tuple[object, ...]) -> Knowledge:
    path = folder / "facts.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    return read_knowledge(path)


def _rows(title: str, table: pl.DataFrame) -> Iterator[str]:
    yield f"{title}: {', '.join(table.columns)}"
    for row in table.iter_rows():
        cells = (
            f"{cell:.6g}" if isinstance(cell, float) else str(cell) for cell in row
        )
        yield "  " + " | ".join(cells)


def mended(folder: Path) -> Iterator[str]:
    """Return the corrections of eight companies with planted errors, and of names."""
    for seed in range(8):
        knowledge = _read(folder, *planted(np.random.default_rng(seed))[0])
        made = mend(knowledge, near=True)
        yield f"company {seed}: {len(knowledge)} facts, {made.facts.height} left"
        for near in near_spellings(knowledge.entities, knowledge.triples):
            one, other = (knowledge.entities[i] for i in (near.name, near.other))
            yield f"  {one} or {other}: {near.why}; {near.agree}, sure: {near.sure}"
        for title in ("apart", "changes", "missing"):
            yield from _rows(title, getattr(made, title))


def audited(folder: Path) -> Iterator[str]:
    """Return every table, finding and text of an audit without a prediction."""
    knowledge = _read(folder, ("subject", "relation", "object", "stage"), *FEW)
    made = audit(knowledge)
    for title in (
        "relations",
        "compositions",
        "bridges",
        "transfers",
        "leaks",
        "name_overlap",
    ):
        table = getattr(made, title)
        yield from _rows(title, table.sort(table.columns))
    yield from _rows("samples", made.samples)
    yield str(made.entity_positions)
    # These texts contain numbers of a solver.
    yield from (finding.title for finding in findings(made))
    yield from (f"{finding}" for finding in findings(audit(knowledge, forecast=False)))
    yield headline(made)
    yield from _rows("outlook", outlook(made))


def augmented(folder: Path) -> Iterator[str]:
    """Return the texts of every strategy, the control's length, and all questions."""
    knowledge = _read(folder, ("subject", "relation", "object", "stage"), *FEW)
    for name, options in OPTIONS.items():
        made = augment(knowledge, **options)
        yield f"{name}: {made.words}, {made.dropped} dropped, {made.often} times, {made.counts}"
        yield from _rows("train", made.train.drop("prompt", "completion"))
        yield from _rows("questions", made.questions)


@pytest.mark.parametrize(
    "part", [mended, audited, augmented], ids=lambda part: part.__name__
)
def test_the_text_is_as_stored(tmp_path: Path, part) -> None:
    said, path = [*part(tmp_path)], GOLDEN / f"{part.__name__}.txt"
    if os.environ.get("INWEIGHTS_WRITE"):
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(f"{line}\n" for line in said), encoding="utf-8")
    stored = path.read_text(encoding="utf-8").splitlines()
    moved = [
        f"{a!r}\n  is now {b!r}" for a, b in zip(stored, said, strict=False) if a != b
    ]
    assert len(said) == len(stored), moved[:3]
    assert not moved, "\n".join(moved[:8])
