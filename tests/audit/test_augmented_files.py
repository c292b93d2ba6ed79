"""Training data written to files: reproducible bytes, read by the intended tools."""

from __future__ import annotations

import filecmp
import json
from pathlib import Path

import pytest

from inweights.audit import augment, write_augmented
from inweights.audit.strategies import STRATEGIES
from inweights.errors import DataError
from inweights.worlds import read_knowledge

PEOPLE = read_knowledge("@people")


def test_same_bytes_twice(tmp_path: Path) -> None:
    for name in ("one", "other"):
        write_augmented(
            augment(PEOPLE, strategies=[*STRATEGIES][:-1], seed=3), tmp_path / name
        )
    same = filecmp.dircmp(tmp_path / "one", tmp_path / "other")
    assert not same.left_only
    files = [
        p.relative_to(tmp_path / "one")
        for p in (tmp_path / "one").rglob("*")
        if p.is_file()
    ]
    assert len(files) >= 8
    for file in files:
        assert (tmp_path / "one" / file).read_bytes() == (
            tmp_path / "other" / file
        ).read_bytes()


def test_loads_as_a_hugging_face_dataset(tmp_path: Path) -> None:
    datasets = pytest.importorskip(
        "datasets", reason="pip install 'inweights[hf]' lifts this"
    )
    made = augment(PEOPLE, strategies=["identities"], wordings=1)
    folder = write_augmented(made, tmp_path / "out")
    cache = str(tmp_path / "cache")
    for name, rows in (
        ("train", 145),
        ("control_text", made.control.height),
        ("questions", 123),
    ):
        loaded = datasets.load_dataset(str(folder), name, cache_dir=cache)["train"]
        assert len(loaded) == rows
    train, text, chat = (
        datasets.load_dataset(str(folder), name, cache_dir=cache, split="train")
        for name in ("train", "train_text", "train_chat")
    )
    assert chat[0]["messages"][1] == {"role": "assistant", "content": "Salzburg."}
    assert train[0]["prompt"] + train[0]["completion"] == text[0]["text"]
    # Trainers would misread a row that matches several formats.
    assert not {"text", "messages"} & set(train.column_names)
    assert not {"prompt", "completion"} & {*text.column_names, *chat.column_names}


def test_tasks_name_columns_that_are_there(tmp_path: Path) -> None:
    """lm-eval reads a column if a setting is the name of a column."""
    yaml = pytest.importorskip("yaml", reason="pip install pyyaml lifts this")
    folder = write_augmented(augment(PEOPLE), tmp_path / "out") / "lm_eval"
    tasks = sorted(folder.glob("*.yaml"))
    assert [t.stem for t in tasks] == ["composition", "reversal"]
    for path in tasks:
        task = yaml.safe_load(path.read_text(encoding="utf-8"))
        assert (task["dataset_path"], task["output_type"]) == (
            "json",
            "multiple_choice",
        )
        data = folder / task["dataset_kwargs"]["data_files"][task["test_split"]]
        rows = [
            json.loads(line) for line in data.read_text(encoding="utf-8").splitlines()
        ]
        assert {row["role"] for row in rows} == {path.stem}
        for row in rows:
            assert row[task["doc_to_text"]] == row["prompt"]
            assert (
                row[task["doc_to_choice"]][row[task["doc_to_target"]]] == row["answer"]
            )


def test_a_folder_is_never_overwritten(tmp_path: Path) -> None:
    made = augment(PEOPLE)
    write_augmented(made, tmp_path / "out")
    with pytest.raises(DataError, match="already exists"):
        write_augmented(made, tmp_path / "out")
