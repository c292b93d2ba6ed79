"""The data of Feature Resemblance, §8.2, which we wrote ourselves, satisfies its conditions."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from inweights.errors import ConfigError, DataError
from inweights.worlds.knowledge.analogy_rows import (
    COLUMNS,
    AnalogyRow,
    read_analogies,
    shuffled,
)
from inweights.worlds.knowledge.words.wording import TABLE_6

ROWS = read_analogies()


def test_at_least_a_hundred_rows_over_the_six_relations() -> None:
    assert len(ROWS) >= 100
    assert set(Counter(row.relation for row in ROWS)) == set(TABLE_6)
    assert min(Counter(row.relation for row in ROWS).values()) >= 15


def test_no_thing_is_there_twice() -> None:
    """Otherwise another row would reveal its category; spelling variants count as equal."""
    subjects = [s.casefold() for row in ROWS for s in (row.subject_1, row.subject_2)]
    assert [s for s, count in Counter(subjects).items() if count > 1] == []
    # No entity has the name of a category or an aspect, which would reveal its category.
    others = {x.casefold() for row in ROWS for x in (row.aspect, row.category)}
    assert set(subjects) & others == set()


def test_both_of_a_pair_share_aspect_and_category_and_nothing_is_given_away() -> None:
    for row in ROWS:
        (one, other), told = row.similarity, row.attribution
        assert one[1] == other[1] == f" {row.aspect}."
        assert told[1] == row.question[1] == f" {row.category}."
        assert row.subject_1 in one[0]
        assert row.subject_1 not in told[0]
        assert row.category not in "".join(one + other)
    asked = {row.question[0] for row in ROWS}
    trained = {p for row in ROWS for p, _ in (*row.similarity, row.attribution)}
    assert not asked & trained


def test_no_name_gives_its_category_away() -> None:
    for row in ROWS:
        for subject in (row.subject_1, row.subject_2):
            assert not set(row.category.casefold().split()) & set(
                subject.casefold().split()
            )


def test_shuffled_categories() -> None:
    mixed = shuffled(ROWS, seed=1)
    assert mixed == shuffled(ROWS, seed=1) != shuffled(ROWS, seed=2)
    assert all(a.category != b.category for a, b in zip(ROWS, mixed, strict=True))
    assert [row[:4] for row in mixed] == [row[:4] for row in ROWS]
    with pytest.raises(DataError, match="more than half"):
        shuffled([ROWS[0], ROWS[1], ROWS[2]], seed=0)  # two fish


def test_limits() -> None:
    few = read_analogies(limit=12)
    assert set(Counter(row.relation for row in few).values()) == {2}
    assert len(read_analogies(limit=1000)) == len(ROWS)
    with pytest.raises(ConfigError, match="got -1"):
        read_analogies(limit=-1)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["a\tb"], "line 1: the header"),
        (["\t".join(COLUMNS)], "no rows"),
        (["\t".join(COLUMNS), "a\tb\tc"], "line 2: expected 5 cells"),
        (["\t".join(COLUMNS), "a\tb\tc\tLikes\td"], "line 2: unknown relation 'Likes'"),
        (
            ["\t".join(COLUMNS), "a\tb\tc\tPartOf\td", "x\ta\tc\tPartOf\td"],
            "line 3: 'a' already occurs",
        ),
    ],
)
def test_damaged_files(tmp_path: Path, lines: list[str], message: str) -> None:
    path = tmp_path / "own.tsv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(DataError, match=message):
        read_analogies(path)


def test_a_cell_longer_than_csv_reads(tmp_path: Path) -> None:
    path = tmp_path / "own.tsv"
    row = "\t".join(["x" * 140_000, "Cot", "Rest", "UsedFor", "Furniture"])
    path.write_text("\t".join(COLUMNS) + "\n" + row + "\n", encoding="utf-8")
    with pytest.raises(DataError, match="line 2: field larger than"):
        read_analogies(path)


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "own.tsv"
    row = AnalogyRow("Bed", "Cot", "Rest", "UsedFor", "Furniture")
    path.write_text("\t".join(COLUMNS) + "\n" + "\t".join(row) + "\n", encoding="utf-8")
    assert read_analogies(path) == (row,)
