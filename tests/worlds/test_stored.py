"""The parts and the stored form of worlds: statements, vocabularies, folders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from inweights.errors import DataError
from inweights.worlds import (
    Statements,
    TwoHop,
    Vocabulary,
    World,
    load_world,
    save_world,
)


def test_statements_by_shape_and_role() -> None:
    parts = {
        "edge": ([[1], [2]], [[3], [4]]),
        "path": ([[5, 6]], [[7, 8]]),
        "none": ([], []),
    }
    statements = Statements.build(parts)
    assert statements.role_names == ("edge", "path")
    shapes = [(i.tolist(), p.tolist(), a.tolist()) for i, p, a in statements.by_shape()]
    assert shapes == [([0, 1], [[1], [2]], [[3], [4]]), ([2], [[5, 6]], [[7, 8]])]
    assert statements.prompt(2).tolist() == [5, 6]
    with pytest.raises(DataError, match="did you mean 'path'"):
        statements.with_role("paths")
    with pytest.raises(DataError, match="must have 2 entries"):
        Statements.build({"edge": ([[1], [2]], [[3], [4]])}, np.zeros(3, dtype=bool))
    with pytest.raises(DataError, match="matrices"):
        Statements.build({"edge": ([[1], [2]], [[3]])})
    with pytest.raises(DataError, match="rows that differ in length"):
        Statements.build({"edge": ([[1], [2, 3]], [[3], [4]])})
    with pytest.raises(DataError, match="matrix of integers, got float64"):
        Statements.build({"edge": ([[1.5]], [[3]])})
    with pytest.raises(DataError, match="statements must have one shape, got 2 shapes"):
        statements.matrix(np.arange(3))


def test_a_million_statements_are_cheap() -> None:
    pairs = np.arange(2_000_000).reshape(-1, 2)
    statements = Statements.build({"edge": (pairs[:, :1], pairs[:, 1:])})
    ((indices, prompts, answers),) = statements.by_shape()
    assert len(statements) == len(indices) == 1_000_000
    assert prompts[-1, 0] + 1 == answers[-1, 0] == 1_999_999


def test_a_world_without_facts_has_a_card(tmp_path: Path) -> None:
    empty = Statements.build({})
    world = World("w", Vocabulary({"x": ["a"]}), empty, empty)
    card = save_world(world, tmp_path / "w", card=True) / "README.md"
    assert "such as `none`" in card.read_text(encoding="utf-8")


def test_tokens_outside_the_vocabulary_are_refused() -> None:
    facts = Statements.build({"edge": ([[0]], [[5]])})
    with pytest.raises(DataError, match="must be from 0 to 1"):
        World(
            name="w",
            vocabulary=Vocabulary({"x": ["a", "b"]}),
            facts=facts,
            queries=facts,
        )
    with pytest.raises(DataError, match="'a' occurs twice"):
        Vocabulary({"x": ["a"], "y": ["a"]})


def test_stored_worlds_are_whole_or_refused(tmp_path) -> None:
    world = TwoHop(n=3).build()
    folder = save_world(world, tmp_path / "deep" / "w")
    # The files do not have the private mode of a temporary folder.
    assert folder.stat().st_mode & 0o777 == 0o755
    assert [p.name for p in folder.parent.iterdir()] == ["w"]
    with pytest.raises(DataError, match="already exists"):
        save_world(world, folder)
    text = (folder / "world.json").read_text()
    (folder / "world.json").write_text(text.replace('"format": 1', '"format": 9'))
    with pytest.raises(DataError, match="has format 9; this version reads format 1"):
        load_world(folder)
    (folder / "world.json").write_text(text.replace('"first_hop"', '"first"'))
    with pytest.raises(DataError, match="is damaged"):
        load_world(folder)
    (folder / "world.json").write_text(
        text.replace('"name": "two-hop"', '"name": true')
    )
    with pytest.raises(DataError, match="is damaged: Expected `str`, got `bool`"):
        load_world(folder)
    (folder / "world.json").write_text(text[: len(text) // 2])
    with pytest.raises(DataError, match="is damaged"):
        load_world(folder)
    (folder / "world.json").write_text(text)
    assert load_world(folder).facts.equals(world.facts)
    (folder / "facts.parquet").write_bytes(b"PAR1")
    with pytest.raises(DataError, match="cannot be read as Parquet"):
        load_world(folder)
    (folder / "world.json").unlink()
    with pytest.raises(DataError, match=r"world\.json is missing"):
        load_world(folder)


def test_a_failed_save_leaves_nothing(tmp_path, monkeypatch) -> None:
    def full(*args: object, **kwargs: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(
        "inweights.worlds.families.storage.pl.DataFrame.write_parquet", full
    )
    with pytest.raises(DataError, match="No space"):
        save_world(TwoHop(n=3).build(), tmp_path / "w")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_loads_as_a_hugging_face_dataset(tmp_path) -> None:
    datasets = pytest.importorskip("datasets", reason="needs inweights[hf]")
    world = TwoHop(n=3, complexity=2).build()
    loaded = datasets.load_dataset(
        str(save_world(world, tmp_path / "w")), cache_dir=str(tmp_path / "cache")
    )
    assert loaded["facts"].num_rows == len(world.facts)
    assert loaded["queries"][0]["prompt"] == world.queries.prompt(0).tolist()
    assert loaded["queries"][0]["answer_text"] == "c1"


def test_answers_without_prompts_are_no_role() -> None:
    with pytest.raises(DataError, match="role 'edge': prompts"):
        Statements.build({"edge": ([], [[1]])})
    assert not len(Statements.build({"edge": ([], [])}))
