"""Questions without a stated answer, and counts of the models' replies to them."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from inweights.audit import augment, write_augmented
from inweights.cli import main
from inweights.errors import DataError
from inweights.lm import (
    Example,
    FineTune,
    abstention,
    abstention_shares,
    finetune,
    load_model,
    read_unanswerable,
)
from inweights.lm.exams.abstain import ANSWERED, UNANSWERED, answer_kind
from inweights.worlds import read_knowledge

NAMES = ["Vienna", "New York", "Bo"]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = augment(read_knowledge("@people"), strategies=["paraphrases"])
    return write_augmented(made, tmp_path_factory.mktemp("abstain") / "data")


def test_no_question_has_an_answer_that_a_fact_states(data: Path) -> None:
    """Compared with the lines of the file."""
    rows = map(json.loads, (data / "facts.jsonl").read_text("utf-8").splitlines())
    facts: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        facts.setdefault((row["subject"], row["relation"]), set()).add(row["object"])
    asked = read_unanswerable(data, most=40)
    kinds = [question.kind for question in asked]
    assert kinds == [UNANSWERED] * 40 + [ANSWERED] * 40
    for question in asked:
        pair = (question.subject, question.relation)
        assert (pair in facts) == (question.kind == ANSWERED)
        assert set(question.right) == facts.get(pair, set())
        assert question.prompt.count(question.subject) == 1
    assert len({question.prompt for question in asked[:40]}) == 40
    assert read_unanswerable(data, most=40) == asked
    assert read_unanswerable(data, most=40, seed=1) != asked


def test_in_chat_a_user_asks(data: Path) -> None:
    asked = read_unanswerable(data, chat=True, most=5)
    assert all(question.prompt.endswith("?") for question in asked)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (" unknown.", "says so"),
        (" not stated in the facts", "says so"),
        ("I don't know.", "says so"),
        ("I don’t know.", "says so"),
        ("There is no information on Vienna", "says so"),
        ("It cannot say", "says so"),
        (" Vienna, where it is not known", "says so"),
        (" vienna.", "names"),
        ("New York", "names"),
        (" Boston", "other"),
        (" the capital of Vienna", "names"),
        (" new_york", "names"),
        (" Newyorker", "other"),
        (" a well-known town", "other"),
        ("", "other"),
    ],
)
def test_what_an_answer_is(text: str, kind: str) -> None:
    assert answer_kind(text, NAMES) == kind


def test_the_subject_that_an_answer_repeats_is_none() -> None:
    repeated = "The town of Bo is"
    assert answer_kind(f"{repeated} Vienna", NAMES, "Bo") == "names"
    assert answer_kind(f"{repeated} a place", NAMES, "Bo") == "other"
    assert answer_kind(f"{repeated} a place", NAMES) == "names"


def test_a_model_that_was_taught_to_abstain_does_and_an_untrained_one_does_not(
    data: Path,
) -> None:
    asked = read_unanswerable(data, most=4)
    lm, untrained = load_model("@tiny"), load_model("@tiny")
    rows = []
    for question in asked:
        answer = question.right[0] if question.right else "unknown"
        rows.append(Example(question.prompt, f" {answer}."))
    config = FineTune(method="full", rate=1e-2, epochs=80, replay=0.0)
    finetune(lm, rows, config)
    answers = abstention({"before": untrained, "after": lm}, asked)
    shares = abstention_shares(answers)
    for row in shares.iter_rows(named=True):
        assert row["says_so"] + row["names"] + row["other"] == pytest.approx(1.0)
    after = shares.filter(model="after")
    assert after.filter(kind=UNANSWERED)["says_so"].item() == 1.0
    assert after.filter(kind=ANSWERED)["right"].item() == 1.0
    before = shares.filter(model="before")
    assert before.select(pl.max("says_so", "right")).row(0) == (0.0, 0.0)


def test_facts_without_such_a_question_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "facts.csv"
    rows = ["subject,relation,object", "Ann,knows,Bob", "Bob,knows,Ann"]
    file.write_text("\n".join(rows), encoding="utf-8")
    made = augment(read_knowledge(file), strategies=["paraphrases"])
    folder = write_augmented(made, tmp_path / "data")
    with pytest.raises(
        DataError, match="state each of their 1 relations for every name"
    ):
        read_unanswerable(folder)
    with pytest.raises(DataError, match="expected a folder that 'inweights augment'"):
        read_unanswerable(folder / "questions.jsonl")


@pytest.mark.slow
def test_the_command_prints_both_models(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["evaluate", "@tiny", str(data), "--before", "@tiny", "--abstain"]
    assert main(command) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "no answer in the facts before 50" in printed
    assert "an answer in the facts after 50" in printed
