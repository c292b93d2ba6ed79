"""Training data from facts: what is in it, what is held out, and that it stays the same."""

from __future__ import annotations

import filecmp
import json
from pathlib import Path

import polars as pl
import pytest

from inweights.audit import augment, write_augmented
from inweights.errors import ConfigError, DataError
from inweights.worlds import Wording, read_knowledge

PEOPLE = read_knowledge("@people")


def test_statements_identities_and_questions() -> None:
    made = augment(PEOPLE)
    facts = made.train.filter(pl.col("role") == "fact")
    assert facts["fact"].to_list() == list(range(90))
    assert facts["line"].to_list() == list(range(2, 92))
    identity = made.train.filter(pl.col("role") == "identity")
    assert set(identity["text"]) >= {"Salzburg is Salzburg.", "Austria is Austria."}
    assert identity.height == 55
    asked = made.questions.filter(pl.col("role") == "composition")
    assert asked.height == 70
    for row in made.questions.iter_rows(named=True):
        assert row["answer"] in row["candidates"]
        assert len(set(row["candidates"])) == len(row["candidates"]) > 1


def test_questions_are_held_out() -> None:
    made = augment(PEOPLE, reverse=True, paraphrase=3)
    trained = set(made.train["prompt"])
    assert not trained & set(made.questions["prompt"])
    assert "reversal" not in set(made.questions["role"])  # reversals are trained here
    assert (made.train["role"] == "reverse").sum() == 2 * 90


def test_control_has_no_identities_and_as_many_words() -> None:
    made = augment(PEOPLE, paraphrase=2)
    assert set(made.control["role"]) == {"fact"}
    assert made.words["train"] - 3 <= made.words["control"] <= made.words["train"]
    assert set(made.control["text"]) <= set(made.train["text"])
    bare = augment(PEOPLE, identity=False)
    assert bare.control["text"].to_list() == bare.train["text"].to_list()


def test_similarity_comes_first() -> None:
    made = augment(PEOPLE, curriculum="sa")
    assert made.train["stage"].is_sorted()
    first = set(made.train.filter(pl.col("stage") == 0)["role"])
    assert first == {"fact", "identity"}
    late = made.train.filter(pl.col("stage") == 1)
    assert "Mozart" in " ".join(late["text"])  # nobody else was born where he was


def test_same_bytes_twice(tmp_path: Path) -> None:
    for name in ("one", "other"):
        write_augmented(augment(PEOPLE, paraphrase=2, reverse=True, seed=3), tmp_path / name)
    same = filecmp.dircmp(tmp_path / "one", tmp_path / "other")
    assert not same.left_only
    files = [p.relative_to(tmp_path / "one") for p in (tmp_path / "one").rglob("*") if p.is_file()]
    assert len(files) >= 8
    for file in files:
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "other" / file).read_bytes()


def test_loads_as_a_hugging_face_dataset(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets", reason="pip install 'inweights[hf]' lifts this")
    folder = write_augmented(augment(PEOPLE), tmp_path / "out")
    cache = str(tmp_path / "cache")
    for name, rows in (("train", 145), ("questions", 123)):
        loaded = datasets.load_dataset(str(folder), name, cache_dir=cache)["train"]
        assert len(loaded) == rows
    train = datasets.load_dataset(str(folder), "train", cache_dir=cache)["train"]
    assert train[0]["messages"][1] == {"role": "assistant", "content": "Salzburg."}
    assert train[0]["prompt"] + train[0]["completion"] == train[0]["text"]


def test_tasks_can_be_read(tmp_path: Path) -> None:
    folder = write_augmented(augment(PEOPLE), tmp_path / "out") / "lm_eval"
    text = (folder / "composition.yaml").read_text()
    assert 'doc_to_text: "{{prompt}}"' in text
    assert "test: questions_composition.jsonl" in text
    lines = (folder / "questions_composition.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    assert {row["role"] for row in rows} == {"composition"}


def test_a_folder_is_never_overwritten(tmp_path: Path) -> None:
    made = augment(PEOPLE)
    write_augmented(made, tmp_path / "out")
    with pytest.raises(DataError, match="exists already"):
        write_augmented(made, tmp_path / "out")


def test_own_words(tmp_path: Path) -> None:
    path = tmp_path / "words.toml"
    path.write_text(
        '[statements]\nborn_in = ["{subject} was born in {object}."]\n'
        '[phrases]\nborn_in = "birthplace"\n'
    )
    made = augment(PEOPLE, wording=Wording.read(path), paraphrase=2)
    assert made.train["text"][:2].to_list() == [
        "Mozart was born in Salzburg.", "The birthplace of Mozart is Salzburg.",
    ]  # fmt: skip
    assert made.questions["prompt"][0] == "The country of the birthplace of Mozart is"
    assert made.plain == ("country", "currency")


@pytest.mark.parametrize(
    "template", ["{object} is where {subject} was born.", "{subject} was born.", "{object}"]
)
def test_templates_end_with_the_object(template: str) -> None:
    with pytest.raises(ConfigError, match="end with"):
        Wording(statements={"born_in": (template,)})


def test_options_that_cannot_be() -> None:
    with pytest.raises(ConfigError, match="joint, sa"):
        augment(PEOPLE, curriculum="as")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="from 1 to 20"):
        augment(PEOPLE, paraphrase=0)
