"""Invented worlds, diets, whole evaluations and the two commands, on a tiny random Llama."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import polars as pl
import pytest

from inweights.console import language
from inweights.errors import ConfigError, DataError
from inweights.lm import (
    FineTune,
    Question,
    encode,
    evaluation,
    finetune_to,
    load_model,
    read_exam,
)
from inweights.lm.experiment import (
    TrainingMix,
    asked_of,
    facts_of,
    fill_budget,
    run_mix,
    statements,
    trained_bridges,
)
from inweights.lm.invented import CITIES, Invented
from inweights.lm.tables import accuracies, against, by_layer, rises

WORLD = Invented(people=4, towns=2, countries=2)
SHORT = FineTune(method="full", rate=1e-2, epochs=1, batch_tokens=512)


def test_an_invented_world_is_balanced_and_drawn_by_its_seed() -> None:
    world = Invented(people=24, towns=12, countries=6)
    one, again, other = (world.build(seed).frame() for seed in (0, 0, 1))
    assert one.equals(again)
    assert not one.equals(other)
    born = one.filter(pl.col("relation") == "born_in")["object"].value_counts()["count"]
    assert born.to_list() == [2] * 12
    lies = one.filter(pl.col("relation") == "country")["object"].value_counts()["count"]
    assert lies.to_list() == [2] * 6
    people = set(one.filter(pl.col("relation") == "born_in")["subject"])
    assert not people & set(other["subject"])


def test_known_cities_are_in_their_countries_and_not_told() -> None:
    world = Invented(people=4, towns=2, countries=2, second="known")
    facts = world.build(0).frame().filter(pl.col("relation") == "country")
    assert all(CITIES[row["subject"]] == row["object"] for row in facts.iter_rows(named=True))
    with pytest.raises(ConfigError, match="cities are known"):
        Invented(people=40, towns=20, countries=6, second="known")
    table = run_mix(model="@tiny", world=world, mix=TrainingMix(), tuning=SHORT, tokens=300, seed=0)
    assert table.filter(pl.col("role") == "second_hop")["hit_before"].null_count() == 0


def test_diets_cost_the_same_and_ask_the_same() -> None:
    lm = load_model("@tiny")
    facts, words = facts_of(WORLD, 3)
    asked = asked_of(facts, words)
    for mix in (
        TrainingMix(),
        TrainingMix(identity=True),
        TrainingMix(reverse=True),
        TrainingMix(paraphrase=3),
    ):
        told = statements(facts, words, mix, asked, 3)
        rows = fill_budget(lm, told, 1500, 3)
        tokens = sum(len(row.ids) for row in encode(lm, rows))
        assert 1500 - 40 < tokens <= 1500
        assert set(rows) == set(told)
        # No question is ever told.
        assert not {e.prompt for e in told} & {q.prompt for q in asked if q.role == "composition"}
    with pytest.raises(ConfigError, match="raise 'tokens'"):
        fill_budget(lm, told, 100, 3)


def test_composed_questions_are_told_through_their_bridges_alone() -> None:
    facts, words = facts_of(WORLD, 0)
    asked = asked_of(facts, words)
    mix = TrainingMix(composed=0.5)
    inside = trained_bridges(asked, mix, 0)
    assert len(inside) == 1
    told = {e.prompt for e in statements(facts, words, mix, asked, 0)}
    for question in asked:
        if question.role == "composition":
            assert (question.prompt in told) == (question.bridge in inside)
    table = run_mix(model="@tiny", world=WORLD, mix=mix, tuning=SHORT, tokens=500, seed=0)
    where = table.filter(pl.col("role") == "composition", pl.col("kind") == "question")
    assert sorted(where["distribution"]) == ["in", "in", "out", "out"]


def test_second_hops_are_told_without_the_first() -> None:
    facts, words = facts_of(None, 0)
    asked = asked_of(facts, words)
    told = {e.prompt for e in statements(facts, words, TrainingMix(hops="second"), asked, 0)}
    assert told.isdisjoint(q.prompt for q in asked if q.role == "first_hop")
    assert told == {q.prompt for q in asked if q.role == "second_hop"}


def test_an_experiment_is_a_function_of_its_seed() -> None:
    run = {"model": "@tiny", "world": WORLD, "mix": TrainingMix(), "tuning": SHORT, "tokens": 300}
    one, again, other = (run_mix(**run, seed=seed) for seed in (0, 0, 1))
    assert one.equals(again, null_equal=True)
    assert not one.equals(other, null_equal=True)
    assert {"question", "thought", "layer", "training"} == set(one["kind"])
    still = run_mix(**run, seed=0, train=False)
    asked = still.filter(pl.col("kind") == "question")
    assert asked["probability_before"].equals(asked["probability_after"])


def made_up(hits: dict[str, list[bool]]) -> pl.DataFrame:
    """Compositions of two conditions: before .1 and wrong .01, after ten times of both."""
    rows = [
        {
            "condition": name, "seed": 0, "id": str(i), "kind": "question", "role": "composition",
            "distribution": "out", "set": "all", "hit_before": False, "hit_after": hit,
            "chance": 0.5, "reciprocal_after": 1.0, "probability_before": 0.01, "share_before": 0.5,
            "others_before": 0.5, "probability_after": 0.1, "share_after": 0.5,
            "others_after": 0.5,
        }
        for name, found in hits.items()
        for i, hit in enumerate(found)
    ]  # fmt: skip
    return pl.DataFrame(rows)


def test_what_rises_alike_is_no_rise() -> None:
    table = rises(made_up({"control": [True, False]}), ("condition",))
    assert table["decades"][0] == pytest.approx(1.0)
    assert table["decades_others"][0] == pytest.approx(1.0)
    assert table["own"][0] == pytest.approx(0.0)


def test_conditions_are_compared_question_by_question() -> None:
    found = made_up({"control": [False] * 6, "identity": [True] * 6})
    row = against(found, "condition", "control").row(0, named=True)
    assert (row["gained"], row["lost"], row["p"]) == (6, 0, pytest.approx(2 / 64))
    table = accuracies(found, ("condition",))
    assert dict(zip(table["condition"], table["excess"], strict=True)) == {
        "control": -0.5, "identity": 0.5
    }  # fmt: skip


def test_layers_have_both_times() -> None:
    table = run_mix(
        model="@tiny", world=WORLD, mix=TrainingMix(), tuning=SHORT, tokens=300, seed=0
    ).with_columns(condition=pl.lit("control"), seed=pl.lit(0))
    layers = by_layer(table, ("condition",))
    assert layers.group_by("when").len()["len"].to_list() == [3, 3]


# The two commands


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    from inweights.audit import augment, write_augmented
    from inweights.worlds import read_knowledge

    file = tmp_path_factory.mktemp("facts") / "facts.csv"
    file.write_text(
        "subject,relation,object\nAnn,born_in,Rome\nBob,born_in,Oslo\n"
        "Rome,country,Italy\nOslo,country,Norway\n"
    )
    return write_augmented(augment(read_knowledge(file)), file.parent / "data")


def test_from_facts_to_an_evaluation(data, tmp_path, capsys) -> None:
    shown = []
    done = finetune_to(
        tmp_path / "model", "@tiny", data, SHORT, show=lambda *what: shown.append(what)
    )
    (mask, rows, tokens, steps) = shown[0]
    assert "The born in of Ann is[ ][R][o][m][e][.]" in mask
    assert (steps, rows) == (done.losses.height, 6)
    assert tokens == done.tokens
    assert pl.read_parquet(tmp_path / "model" / "losses.parquet").equals(done.losses)
    assert not (tmp_path / "model.state").exists()
    with pytest.raises(DataError, match="exists already"):
        finetune_to(tmp_path / "model", "@tiny", data, SHORT)

    made = evaluation(load_model(tmp_path / "model"), read_exam(data), before=load_model("@tiny"))
    assert set(made) == {"answers", "summary", "gap", "layers", "paired", "sets"}
    assert made["answers"].filter(pl.col("when") == "before").height == 14
    language.mask(mask, rows, tokens, steps)
    language.finetuned(done, tmp_path / "model", json=False)
    language.evaluated(made, json=False)
    said = capsys.readouterr().out
    assert "by steps" in said
    assert "Compositionality gap" in said
    language.evaluated(made, json=True)
    assert json.loads(capsys.readouterr().out)["paired"][0]["questions"] == 2
    language.finetuned(done, tmp_path / "model", json=True)
    assert json.loads(capsys.readouterr().out)["stages"][0]["updates"] == steps


def test_an_interrupted_command_goes_on(data, tmp_path) -> None:
    config = FineTune(method="full", rate=1e-2, epochs=4, batch_tokens=64)

    def halt(done: int, total: int, what: str) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        finetune_to(tmp_path / "model", "@tiny", data, config, progress=halt)
    assert not (tmp_path / "model").exists()
    finetune_to(tmp_path / "model", "@tiny", data, config)
    assert (tmp_path / "model" / "model.safetensors").exists()


def test_gaps_that_are_no_number_are_null_in_json(capsys) -> None:
    steps = ("Ann was born in", "The land of {bridge} is")
    names = ("Italy", "Peru")
    asked = [
        Question("0", "composition", "Ann is from", names, 0, chain="0", steps=steps),
        Question("0.1", "first_hop", steps[0], ("Rome", "Lima"), 0, chain="0"),
        Question("0.2", "second_hop", "The land of Rome is", names, 0, chain="0"),
    ]
    lm = load_model("@tiny")
    for parameter in lm.model.parameters():
        parameter.data.zero_()
    language.evaluated(evaluation(lm, asked), json=True)
    assert json.loads(capsys.readouterr().out)["gap"]["gap"] is None


_TWO = """
import sys
from inweights.lm import Example, FineTune, finetune_to
facts = [Example("Rome is in", " Italy."), Example("Oslo is in", " Norway."),
         Example("Lima is in", " Peru.")]
config = FineTune(method="full", rate=1e-2, epochs=4, batch_tokens=40)
finetune_to(sys.argv[1], "@tiny", facts, config)
"""


@pytest.mark.slow
def test_two_processes_train_what_one_does(tmp_path) -> None:
    pytest.importorskip("accelerate", reason="several processes need it: pip install accelerate")
    script = tmp_path / "two.py"
    script.write_text(_TWO)
    launch = ["-m", "accelerate.commands.launch", "--cpu", "--num_processes", "2"]
    launch += ["--num_machines", "1", "--mixed_precision", "no", "--dynamo_backend", "no"]
    for name, start in (("one", []), ("two", launch)):
        done = subprocess.run(
            [sys.executable, *start, str(script), str(tmp_path / name)],
            capture_output=True,
            text=True,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
        )
        assert done.returncode == 0, done.stderr[-2000:]
    one, two = (pl.read_parquet(tmp_path / n / "losses.parquet") for n in ("one", "two"))
    # The same sums, added in another order.
    assert two["loss"].to_list() == pytest.approx(one["loss"].to_list(), rel=1e-3)
