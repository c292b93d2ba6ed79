"""Whole evaluations and the two commands, on a tiny random Llama."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import polars as pl
import pytest
from filelock import FileLock

from inweights.console import language
from inweights.errors import DataError
from inweights.lm import FineTune, Question, evaluation, finetune_to, load_model, read_exam
from inweights.worlds.new_folder import new_folder

SHORT = FineTune(method="full", rate=1e-2, epochs=1, batch_tokens=512)


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


def test_two_at_once_on_one_folder(data, tmp_path) -> None:
    config = FineTune(method="full", rate=1e-2, epochs=1, batch_tokens=64)
    others = []

    def again(done: int, total: int, what: str) -> None:
        with pytest.raises(DataError, match="another process is at work"):
            finetune_to(tmp_path / "model", "@tiny", data, config)
        others.append(done)

    finetune_to(tmp_path / "model", "@tiny", data, config, progress=again)
    assert others
    assert [path.name for path in tmp_path.iterdir() if "model" in path.name] == ["model"]


def test_killed_when_all_was_written(data, tmp_path) -> None:
    config = FineTune(method="full", rate=1e-2, epochs=1, batch_tokens=64)
    finetune_to(tmp_path / "model", "@tiny", data, config)
    assert (tmp_path / "model" / "losses.parquet").exists()
    (tmp_path / "model.state").touch()
    with pytest.raises(DataError, match="exists already"):
        finetune_to(tmp_path / "model", "@tiny", data, config)
    assert not list(tmp_path.glob("model.*"))


def test_what_a_killed_process_left_half_written_is_cleared(tmp_path) -> None:
    left, alive = (tmp_path / f".new-{name}" for name in ("left", "alive"))
    for home in (left, alive):
        (home / "whole").mkdir(parents=True)
        (home / "lock").touch()
    with FileLock(alive / "lock"), new_folder(tmp_path / "model") as work:
        (work / "a.txt").touch()
    assert not left.exists()
    assert alive.exists()
    assert [path.name for path in (tmp_path / "model").iterdir()] == ["a.txt"]


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
