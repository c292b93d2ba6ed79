"""Comparison of two models by files of lm-eval, checked by plain counting."""

from __future__ import annotations

import json
from collections.abc import Iterator
from math import comb
from pathlib import Path

import pytest

from inweights.audit import augment, write_augmented
from inweights.cli import main
from inweights.errors import DataError
from inweights.lm import compare_answers, read_answers
from inweights.worlds import read_knowledge

TASKS = ["inweights_composition", "inweights_composition_told"]


def by_hand(gained: int, lost: int) -> float:
    """Return McNemar's exact p-value: twice the tail of a fair coin, at most 1."""
    tosses = gained + lost
    tail = sum(comb(tosses, k) for k in range(min(gained, lost) + 1)) / 2**tosses
    return min(1.0, 2 * tail)


def write_samples(folder: Path, task: str, hits: list[int], **more: object) -> None:
    """Write samples in the format of lm-eval 0.4.13."""
    folder.mkdir(exist_ok=True)
    rows = [
        {
            "doc_id": i,
            "doc_hash": f"h{i}",
            "acc": float(hit),
            "metrics": ["acc"],
            **more,
        }
        for i, hit in enumerate(hits)
    ]
    name = f"samples_{task}_2026-01-01T00-00-00.000000.jsonl"
    (folder / name).write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")


@pytest.fixture(scope="module")
def logged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Path]]:
    """Return two evaluations of random models, logged by lm-eval's own tracker."""
    lm_eval = pytest.importorskip("lm_eval", reason="pip install lm-eval lifts this")
    loggers = pytest.importorskip("lm_eval.loggers")
    tasks = pytest.importorskip("lm_eval.tasks")
    place = tmp_path_factory.mktemp("logged")
    made = augment(read_knowledge("@people"), strategies=["derive"], hold_out=0.5)
    with pytest.MonkeyPatch.context() as here:
        here.chdir(write_augmented(made, place / "out") / "lm_eval")
        folders = []
        for seed in (1, 2):
            done = lm_eval.simple_evaluate(
                model="dummy",
                tasks=TASKS,
                task_manager=tasks.TaskManager(
                    include_path=".", include_defaults=False
                ),
                bootstrap_iters=0,
                log_samples=True,
                random_seed=seed,
            )
            tracker = loggers.EvaluationTracker(
                output_path=str(place / f"model {seed}")
            )
            tracker.save_results_aggregated(results=done, samples=done["samples"])
            for task in TASKS:
                tracker.save_results_samples(task, done["samples"][task])
            folders.append(place / f"model {seed}")
        yield folders[0], folders[1]


def counted(folder: Path, task: str) -> dict[int, float]:
    (file,) = folder.rglob(f"samples_{task}_2*.jsonl")
    rows = map(json.loads, file.read_text(encoding="utf-8").splitlines())
    return {row["doc_id"]: row["acc"] for row in rows}


@pytest.mark.slow
def test_what_lm_eval_logged_is_compared_question_by_question(
    logged: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", *map(str, logged), "--json"]) == 0
    rows = {row["role"]: row for row in json.loads(capsys.readouterr().out)}
    assert set(rows) == {*TASKS, "all"}
    whole = [0, 0, 0]
    for task in TASKS:
        one, other = (counted(folder, task) for folder in logged)
        gained = sum(other[i] > one[i] for i in one)
        lost = sum(other[i] < one[i] for i in one)
        row = rows[task]
        assert (row["gained"], row["lost"], row["questions"]) == (
            gained,
            lost,
            len(one),
        )
        assert row["p"] == pytest.approx(by_hand(gained, lost))
        assert row["difference"] == pytest.approx((gained - lost) / len(one))
        assert row["low"] <= row["difference"] <= row["high"]
        whole = [a + b for a, b in zip(whole, (gained, lost, len(one)), strict=True)]
    assert whole[0] > 0 < whole[1], "two random models differ both ways"
    assert [rows["all"][name] for name in ("gained", "lost", "questions")] == whole
    assert main(["compare", *map(str, logged)]) == 0
    assert "McNemar" in capsys.readouterr().out


def test_numbers_of_a_known_table(tmp_path: Path) -> None:
    """Approval of a prime minister in two surveys: Agresti, Categorical Data Analysis, 10.1."""
    pairs = [(1, 1)] * 794 + [(1, 0)] * 150 + [(0, 1)] * 86 + [(0, 0)] * 570
    for side, name in enumerate(("one", "other")):
        write_samples(tmp_path / name, "task", [pair[side] for pair in pairs])
    table = compare_answers(
        read_answers(tmp_path / "one"), read_answers(tmp_path / "other")
    )
    (row,) = table.rows(named=True)
    assert row["p"] == pytest.approx(by_hand(86, 150))
    assert row["p"] < 1e-4
    assert row["difference"] == pytest.approx(-0.04)
    # Agresti's Wald interval of the difference, -.059 to -.021 (10.1.1).
    assert (row["low"], row["high"]) == pytest.approx((-0.0587, -0.0213), abs=1e-3)


def test_a_metric_that_is_a_number_and_two_filters(tmp_path: Path) -> None:
    write_samples(tmp_path / "a", "task", [0, 1, 1], f1=0.5, metrics=["acc", "f1"])
    assert read_answers(tmp_path / "a", metric="f1")["hit"].to_list() == [0.5] * 3
    with pytest.raises(
        DataError, match="a question has no metric 'bleu'; its metrics are acc, f1"
    ):
        read_answers(tmp_path / "a", metric="bleu")
    write_samples(tmp_path / "t", "task", [0, 1], bleu=[3, 1], metrics=["acc", "bleu"])
    with pytest.raises(DataError, match=r"'bleu' .* must be a number, got \[3, 1\]"):
        read_answers(tmp_path / "t", metric="bleu")
    (file,) = (tmp_path / "a").iterdir()
    row = {"doc_id": 0, "doc_hash": "h", "exact_match": 1.0, "metrics": ["exact_match"]}
    rows = [
        row | {"filter": "strict"},
        row | {"filter": "flexible", "exact_match": 0.0},
    ]
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    found = read_answers(file)
    assert found["role"].to_list() == ["task, strict", "task, flexible"]
    assert found["hit"].to_list() == [True, False]


def test_other_questions_and_other_files_are_refused(tmp_path: Path) -> None:
    write_samples(tmp_path / "a", "task", [0, 1, 1])
    write_samples(tmp_path / "b", "task", [0, 1])
    with pytest.raises(
        DataError, match=r"1 of the 3 questions of the first model, such as 'task 2'"
    ):
        compare_answers(read_answers(tmp_path / "a"), read_answers(tmp_path / "b"))
    write_samples(tmp_path / "c", "task", [0, 1, 1], doc_hash="changed")
    with pytest.raises(DataError, match="3 of the 3 questions of the first model"):
        compare_answers(read_answers(tmp_path / "a"), read_answers(tmp_path / "c"))
    (tmp_path / "none").mkdir()
    with pytest.raises(DataError, match="expected samples_"):
        read_answers(tmp_path / "none")
    with pytest.raises(DataError, match=r"none\.jsonl"):
        read_answers(tmp_path / "none.jsonl")
    other = tmp_path / "other.json"
    other.write_text('{"folder": "x"}', encoding="utf-8")
    with pytest.raises(DataError, match="expected the output of 'inweights evaluate"):
        read_answers(other)
    other.write_text("no json", encoding="utf-8")
    with pytest.raises(DataError, match="is not JSON"):
        read_answers(other)


def test_what_evaluate_printed_is_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    facts = tmp_path / "questions.jsonl"
    asked = [
        {
            "role": "reversal",
            "prompt": f"{who} is in",
            "answer": "Rome",
            "candidates": c,
        }
        for who, c in (("Ann", ["Rome", "Oslo"]), ("Bob", ["Lima", "Rome"]))
    ]
    facts.write_text("\n".join(map(json.dumps, asked)), encoding="utf-8")
    files = []
    for name in ("one", "other"):
        assert main(["evaluate", "@tiny", str(facts), "--words", "--json"]) == 0
        files.append(tmp_path / f"{name}.json")
        files[-1].write_text(capsys.readouterr().out, encoding="utf-8")
    assert main(["compare", *map(str, files), "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["questions"], row["difference"], row["p"]) == (2, 0.0, 1.0)
