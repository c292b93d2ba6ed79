"""Methods of giving facts to a model: equal tokens, the same questions, one page."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

import inweights as iw
from inweights.actions.training import (
    Size,
    TrainingSettings,
    prepare,
    sizes,
    teaching,
    training_recipe,
)
from inweights.actions.training.pairs import pairs_of, say_pairs
from inweights.cli import main
from inweights.config.outside import Outside
from inweights.errors import ConfigError, DataError
from inweights.lm import LanguageModel, Question, encode
from inweights.support import extras
from inweights.support.statistics.intervals import interval, paired_interval

PEOPLE = {
    "Ann": "Rome",
    "Bob": "Oslo",
    "Cid": "Rome",
    "Dee": "Lima",
    "Eva": "Oslo",
    "Fay": "Lima",
}
COUNTRY = {"Rome": "Italy", "Oslo": "Norway", "Lima": "Peru"}
SHORT = (
    "tuning.method=full",
    "tuning.replay=0",
    "tuning.epochs=1",
    "tuning.batch_tokens=2048",
)


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = [f"{who},born in,{town}" for who, town in PEOPLE.items()]
    rows += [f"{town},country,{land}" for town, land in COUNTRY.items()]
    file = tmp_path_factory.mktemp("facts") / "facts.csv"
    file.write_text("\n".join(["subject,relation,object", *rows]), encoding="utf-8")
    return file


def settings(facts: Path, **changed: object) -> TrainingSettings:
    given = {
        "facts": Outside(name=str(facts)),
        "model": Outside(name="@tiny"),
        "hold_out": 0.34,
    }
    return TrainingSettings(**given | changed)  # type: ignore[arg-type]


def test_ways_have_as_many_tokens_and_state_nothing_that_is_held_out(
    facts: Path, lm: LanguageModel
) -> None:
    made = prepare(settings(facts), lm)
    assert set(made.trained) == {"facts", "entities", "mixture"}
    texts = {
        way: [e.prompt + e.completion for e in rows]
        for way, rows in made.trained.items()
    }
    tokens = {
        way: sum(len(lm.tokens(text)) for text in own) for way, own in texts.items()
    }
    longest = max(len(lm.tokens(text)) for own in texts.values() for text in own)
    assert max(tokens.values()) - min(tokens.values()) <= longest
    held = [q for q in made.questions if q.role == "composition" and not q.stated]
    stated = [q for q in made.questions if q.role == "composition" and q.stated]
    assert len(held) == 2
    assert len(stated) == 4
    for q in held:
        (who,) = (name for name in PEOPLE if name in q.prompt)
        sentences = [
            s for own in texts.values() for text in own for s in text.split(". ")
        ]
        assert not [s for s in sentences if who in s and q.answer in s]
    new = [q.prompt for q in made.questions if q.role == "recall"]
    assert len(new) == len(PEOPLE) + len(COUNTRY)
    assert not {*new} & {e.prompt for rows in made.trained.values() for e in rows}


@pytest.mark.slow
def test_sizes_are_of_what_is_trained(facts: Path, lm: LanguageModel) -> None:
    own = settings(facts, ways=("untrained", "facts"), tokens=600)
    untrained, plain = sizes(own, lm)
    assert untrained.tokens == untrained.training == 0
    assert untrained.asking > 0
    made = prepare(own, own.load())
    assert plain.rows == len(made.trained["facts"])
    assert plain.tokens == sum(
        len(r.ids) for r in encode(lm, made.trained["facts"], end=True)
    )
    assert plain.training > 0
    with pytest.raises(ConfigError, match="'budget' must be at least"):
        prepare(settings(facts, tokens=20), lm)


def test_what_retrieval_takes_is_measured_with_the_facts_before_the_questions(
    facts: Path, lm: LanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("bm25s", reason="pip install bm25s lifts this")
    read = 0.0

    def asking(_: LanguageModel, asked: Sequence[Question]) -> None:
        nonlocal read
        read += sum(len(q.prompt) for q in asked)

    monkeypatch.setattr("inweights.lm.ask", asking)
    monkeypatch.setattr("inweights.lm.say", asking)
    monkeypatch.setattr("time.perf_counter", lambda: read)
    own = settings(facts, ways=("untrained", "retrieval"), tokens=600)
    untrained, retrieval = sizes(own, lm)
    made = prepare(own, lm)
    for size, way in ((untrained, "untrained"), (retrieval, "retrieval")):
        asked = made.asked(way, own.retrieved)
        few = asked[:: len(asked) // 8]
        each = 2 * sum(len(q.prompt) for q in few) / len(few)
        plain = untrained.asking / (len(asked) + teaching.GENERAL)
        assert size.asking == pytest.approx(
            each * len(asked) + plain * teaching.GENERAL
        )
    assert retrieval.asking > 3 * untrained.asking


def test_the_second_fact_of_a_chain_is_retrieved_by_the_first() -> None:
    pytest.importorskip("bm25s", reason="pip install bm25s lifts this")
    from inweights.lm.exams.retrieval import with_retrieved

    told = [f"{who} was born in {town}." for who, town in PEOPLE.items()]
    told += [f"{town} belongs to {land}." for town, land in COUNTRY.items()]
    asked = Question(
        "0", "composition", "Dee comes from", ("Italy", "Peru"), 1, steps=("a", "b")
    )
    (found,) = with_retrieved([asked], told, most=4)
    *before, last = found.prompt.split("\n")
    assert {"Dee was born in Lima.", "Lima belongs to Peru."} < {*before}
    assert len(before) == 4
    assert last == asked.prompt
    assert not found.steps


@pytest.mark.slow
def test_progress_goes_on_within_a_way_by_the_times_that_were_measured(
    facts: Path, tmp_path: Path
) -> None:
    own = settings(facts, ways=("untrained", "facts"), questions=2, tokens=700)
    measured = [Size("untrained", 0, 0, 0, 0, 0, 2), Size("facts", 9, 90, 9, 1, 5, 2)]
    told: list[tuple[int, int]] = []
    iw.run(
        training_recipe("training/facts", own, measured),
        "cpu",
        seeds=1,
        overrides=[*SHORT, "tuning.batch_tokens=64"],
        runs=tmp_path,
        progress=lambda done, total, _: told.append((done, total)),
    )
    done = [part for part, _ in told]
    assert {total for _, total in told} == {10_000}
    assert done == sorted(done)
    assert {1000, 2000, 8000, 9000, 10_000} < {*done}, (
        "halves of the asking, and the training"
    )
    assert [part for part in done if 2000 < part < 8000], "updates"


def answers(hits: dict[str, list[list[int]]]) -> pl.DataFrame:
    """Return rows of answers by method, seed and question, and a row of another kind."""
    rows: list[tuple[str, int, str, str, float]] = []
    for way, seeds in hits.items():
        for seed, questions in enumerate(seeds):
            for number, hit in enumerate(questions):
                name = f"held out: {number}"
                rows.append((way, seed, "answered", name, float(hit)))
            rows.append((way, seed, "accuracy", "held out", 0.5))
    schema = ("way", "seed", "kind", "name", "value")
    return pl.DataFrame(rows, schema=schema, orient="row")


def test_two_ways_are_compared_on_the_same_questions() -> None:
    one, other = [0] * 8 + [1] * 4, [1] * 7 + [0] + [1] * 3 + [0]
    pairs = pairs_of(answers({"facts": [one], "mixture": [other]}))
    (row,) = pairs.rows(named=True)
    assert (row["way"], row["other"], row["kind"]) == ("facts", "mixture", "accuracy")
    assert (row["gained"], row["lost"], row["questions"]) == (7, 1, 12)
    assert row["p"] == pytest.approx(2 * (1 + 8) / 2**8)
    assert row["difference"] == pytest.approx(0.5)
    assert (row["low"], row["high"]) == pytest.approx(
        paired_interval(7, 1, 12)[1:], abs=1e-12
    )
    (said,) = say_pairs(pairs)
    assert "no two ways differ" in said
    assert say_pairs(pairs_of(answers({"facts": [one]}))) == []
    old = answers({"facts": [one]}).filter(kind="accuracy")
    assert pairs_of(old).is_empty(), "a run of an earlier version has no answers"


def test_with_several_seeds_a_question_has_a_share() -> None:
    pairs = pairs_of(
        answers({"untrained": [[0, 0, 1]], "facts": [[1, 0, 1], [1, 1, 0]]})
    )
    (row,) = pairs.rows(named=True)
    change = [1.0, 0.5, -0.5]
    mean, low, high = interval(change)
    assert (row["difference"], row["low"], row["high"]) == pytest.approx(
        (mean, low, high)
    )
    assert (row["gained"], row["lost"], row["p"]) == (2, 1, 1.0)


@pytest.mark.slow
def test_a_page_says_what_was_compared_and_what_came_out(
    facts: Path, tmp_path: Path
) -> None:
    own = settings(facts, ways=("untrained", "facts"), questions=2, tokens=700)
    done = iw.run(
        training_recipe("training/facts", own),
        "cpu",
        seeds=2,
        overrides=SHORT,
        runs=tmp_path,
    )
    rows = {
        (kind, name): values for kind, name, *values in done.tables["overview"].rows()
    }
    compared, known, *others, knowledge, cost = done.results
    assert compared.startswith("Compared: untrained, facts, with @tiny and 2 seeds")
    asked = done.tables["pairs"].filter(kind="accuracy")
    for name, share in (
        done.tables["overview"]
        .filter(kind="accuracy")
        .select("name", pl.col("facts") - pl.col("untrained"))
        .rows()
    ):
        found = asked.filter(name=name)["difference"].to_list()
        assert found == [pytest.approx(share)] or "held out, " in name
    number = dict(
        done.tables["measured"].filter(kind="accuracy").select("name", "n").rows()
    )
    values = [f"{value:.0%}" for value in rows["accuracy", "facts"]]
    least, most = sorted(
        zip(map(float, rows["accuracy", "facts"]), values, own.ways, strict=True)
    )
    said = f"from {least[1]} ('{least[2]}') to {most[1]} ('{most[2]}')"
    if len({*values}) == 1:
        said = f"{values[0]} (all)"
    assert known.startswith(
        f"Facts ({number['facts']} questions). Among candidates: {said}. In words: "
    )
    assert any(text.startswith("Held out (") for text in others)
    assert f"{rows['language', 'perplexity'][1]:.1f} ('facts')" in knowledge
    assert re.search(r"Tokens per question: \d+ \(all\)", cost)
    page = (done.folder.path / "page.html").read_text(encoding="utf-8")
    body = page.partition("<main")[2].partition("Numbers</h2>")[0]
    for text in (">What came out</h2>", 'href="#results"', "Facts ("):
        assert text in body
    assert "erdict" not in body


def test_cautions_name_what_was_not_learnt_and_what_was_lost(facts: Path) -> None:
    own = settings(facts)
    rows = [
        (way, kind, name, value)
        for way, known, perplexity in (
            ("untrained", 0.1, 20.0),
            ("retrieval", 0.5, 20.0),
            ("facts", 0.95, 21.0),
            ("entities", 0.6, 25.0),
            ("mixture", 1.0, 40.0),
        )
        for kind, name, value in (
            ("accuracy", "facts", known),
            ("language", "perplexity", perplexity),
        )
    ]
    table = pl.DataFrame(rows, schema=("way", "kind", "name", "value"), orient="row")
    recipe = training_recipe("training/facts", own)
    assert recipe.cautions
    first, second = recipe.cautions(own, {"measured": table})
    assert "'entities', only 60% of the facts" in first
    assert (
        "'mixture' damaged earlier knowledge: perplexity of plain text rose from 20.0"
        in second
    )


def test_what_cannot_be_is_refused_before_anything_is_trained(
    facts: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    command = [
        "compare-training",
        str(facts),
        "--model",
        "@tiny",
        "--runs",
        str(tmp_path / "runs"),
    ]
    for words, told in (
        (("--way", "plain"), "unknown way 'plain'"),
        (("--set", "retrieved=1"), "retrieved"),
        (("--set", "tuning.epoch=3"), "did you mean 'tuning.epochs'"),
        (("--seeds", "few"), "seeds must be a number"),
    ):
        assert main([*command, *words]) == 2
        assert told in capsys.readouterr().err
    monkeypatch.setitem(
        extras.EXTRAS, "retrieval", extras.Extra("no_such_module", "retrieval")
    )
    with pytest.raises(ConfigError, match="'retrieval' requires no_such_module"):
        training_recipe("training/facts", settings(facts)).plan(settings(facts))
    alone = settings(facts, ways=("facts",))
    assert len(training_recipe("training/facts", alone).plan(alone).computations) == 1
    with pytest.raises(DataError, match="there is no file"):
        prepare(settings(Path("none.csv")), settings(facts).load())
    assert not (tmp_path / "runs").exists()


@pytest.mark.slow
def test_smoke_one_command_makes_a_page_and_reads_it_back(
    facts: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("bm25s", reason="pip install bm25s lifts this")
    command = [
        "compare-training",
        str(facts),
        "--model",
        "@tiny",
        "--seeds",
        "1",
        "--json",
    ]
    command += ["--questions", "2", "--tokens", "700", "--runs", str(tmp_path)]
    command += [word for change in SHORT for word in ("--set", change)]
    assert main(command) == 0
    printed = capsys.readouterr()
    made = json.loads(printed.out)
    assert "measured of" not in printed.err, "no progress with --json"
    assert len(made["cautions"]) >= 3  # one epoch is not enough to learn anything
    values = {(row["kind"], row["name"]): row for row in made["measured"]}
    ways = ("untrained", "retrieval", "facts", "entities", "mixture")
    assert tuple(values["accuracy", "facts"])[2:] == ways
    read = [values["cost", "tokens"][way] for way in ways]
    assert read[:2] == [0, 0]
    assert max(read[2:]) < 1.1 * min(read[2:])
    assert values["cost", "question"]["retrieval"] > values["cost", "question"]["facts"]
    page = Path(made["page"]).read_text(encoding="utf-8")
    for text in (
        "Right answers in words",
        "Perplexity of plain text",
        "Minutes for one seed",
    ):
        assert text in page
    assert f"compare-training {facts} --model @tiny --seeds 1" in page
    assert "<details open><summary><code>overview" in page, (
        "the table of all ways is not folded"
    )
    assert main(command) == 0
    assert json.loads(capsys.readouterr().out) == made
    assert main(["show", "training/facts", "--runs", str(tmp_path)]) == 0
    assert main(["show", "training/other", "--runs", str(tmp_path)]) == 2
    assert "compare-training FACTS" in capsys.readouterr().err
