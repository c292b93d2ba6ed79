"""Whole evaluations and the two commands, on a tiny random Llama."""

from __future__ import annotations

import errno
import json
import os
import signal
import socket
from pathlib import Path

import polars as pl
import pytest
import torch
from filelock import FileLock
from tests.forks import Forks
from tests.lm.four_facts import tune_three

from inweights.cli import main
from inweights.cli.console import language
from inweights.errors import ConfigError, DataError
from inweights.lm import (
    FineTune,
    Question,
    add_scores,
    ask,
    card_of,
    evaluation,
    finetune_to,
    forecast_of,
    load_model,
    read_exam,
    read_examples,
    score_epochs,
    summary,
)
from inweights.lm.model.unfinished import lock_of
from inweights.lm.tuning.epochs import epochs_of
from inweights.training import Observer
from inweights.worlds.readers.new_folder import new_folder

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


def full(_file: int) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_from_facts_to_an_evaluation(data, tmp_path, capsys, monkeypatch) -> None:
    shown = []
    done = finetune_to(
        tmp_path / "model", "@tiny", data, SHORT, show=lambda *what: shown.append(what)
    )
    mask, rows, tokens, steps, own = shown[0]
    assert own == 0
    assert "Ann was born in[ ][R][o][m][e][.]" in mask
    assert (steps, rows) == (done.losses.height, 4)
    assert tokens == done.tokens
    assert pl.read_parquet(tmp_path / "model" / "losses.parquet").equals(done.losses)
    assert not (tmp_path / "model.state").exists()
    rights = {
        p.suffix: p.stat().st_mode
        for p in (tmp_path / "model").iterdir()
        if p.is_file()
    }
    assert rights[".safetensors"] == rights[".json"]
    with pytest.raises(DataError, match="already exists"):
        finetune_to(tmp_path / "model", "@tiny", data, SHORT)

    asked = read_exam(data)
    foreseen, why = forecast_of(data, asked)
    assert foreseen is not None
    assert why == ""
    made = evaluation(
        load_model(tmp_path / "model"),
        asked,
        before=load_model("@tiny"),
        forecast=foreseen,
    )
    assert set(made) == {
        *(
            "answers",
            "summary",
            "groups",
            "gap",
            "layers",
            "paired",
            "sets",
            "general",
            "kept",
            "forecast",
        ),
    }
    # The prediction is for the same questions as the answers.
    assert made["forecast"]["questions"].sum() == sum(
        q.role == "composition" for q in asked
    )
    add_scores(tmp_path / "model", made)
    add_scores(tmp_path / "model", made)
    card = (tmp_path / "model" / "README.md").read_text(encoding="utf-8")
    assert card.count("## Scores") == 1
    yaml = pytest.importorskip("yaml", reason="pip install pyyaml lifts this")
    assert yaml.safe_load(card.split("---\n")[1])["base_model"] == "@tiny"
    assert "Strategies: none, the facts alone." in card
    with monkeypatch.context() as disk:
        disk.setattr(os, "fsync", full)
        with pytest.raises(
            DataError, match=r"README\.md: No space left.*card is unchanged"
        ):
            add_scores(tmp_path / "model", made)
        capsys.readouterr()
        assert (
            main(["evaluate", str(tmp_path / "model"), str(data), "--card", "--json"])
            == 2
        )
        assert '"summary"' in capsys.readouterr().out, "scores are lost with the card"
    assert (tmp_path / "model" / "README.md").read_text(encoding="utf-8") == card
    assert not list((tmp_path / "model").glob("*.partial"))
    with pytest.raises(DataError, match="has no model card"):
        card_of(tmp_path)
    assert "| composition | 2 |" in card
    assert made["answers"].filter(pl.col("when") == "before").height == 14
    language.mask(mask, rows, tokens, steps, own)
    language.finetuned(done, tmp_path / "model", json=False)
    language.evaluated(made, json=False)
    said = capsys.readouterr().out
    assert "by steps" in said
    words = " ".join(said.split())
    assert "for a network trained on these facts alone, not for this model" in words
    assert "perplexity of the texts" in said
    assert "Compositionality gap" in said
    language.evaluated(made, json=True)
    assert json.loads(capsys.readouterr().out)["paired"][0]["questions"] == 2
    language.finetuned(done, tmp_path / "model", json=True)
    assert json.loads(capsys.readouterr().out)["stages"][0]["updates"] == steps


def test_in_chat_a_user_asks(data) -> None:
    told = [
        (example.prompt, example.completion)
        for example in read_examples(data, chat=True)
    ]
    assert told[0] == ("What is the birthplace of Ann?", " Rome.")
    chain = next(q for q in read_exam(data, chat=True) if q.role == "composition")
    assert chain.prompt == "What is the country of the birthplace of Ann?"
    assert chain.steps == (
        "What is the birthplace of Ann?",
        "What is the country of {bridge}?",
    )
    plain = next(q for q in read_exam(data) if q.role == "composition")
    assert (plain.prompt, plain.id) == (
        "The country of the birthplace of Ann is",
        chain.id,
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_an_interrupted_command_goes_on(number, data, tmp_path, signals) -> None:
    config = FineTune(method="full", rate=1e-2, epochs=4, batch_tokens=64)
    done = []

    def halt(step: int, total: int, what: str) -> None:
        done.append(step)
        if len(done) == 3:
            os.kill(os.getpid(), number)

    before = signal.getsignal(number)
    with pytest.raises(KeyboardInterrupt):
        finetune_to(tmp_path / "model", "@tiny", data, config, progress=halt)
    assert signal.getsignal(number) is before
    assert (tmp_path / "model.state").exists()
    assert not (tmp_path / "model").exists()
    finetune_to(tmp_path / "model", "@tiny", data, config, progress=halt)
    assert done == [1, 2, 3, *range(4, done[-1] + 1)]
    assert (tmp_path / "model" / "model.safetensors").exists()


@pytest.mark.filterwarnings("ignore:.*is_gradient_checkpointing:FutureWarning")
def test_adapters_are_kept_for_peft_and_the_whole_for_transformers(
    data, tmp_path
) -> None:
    from peft import PeftModel
    from transformers import AutoModelForCausalLM, AutoTokenizer

    finetune_to(tmp_path / "model", "@tiny", data, FineTune(epochs=1, rate=1e-2))
    merged, base = load_model(tmp_path / "model"), load_model("@tiny")
    adapted = PeftModel.from_pretrained(base.model, tmp_path / "model" / "adapter")
    ids = torch.tensor([merged.tokens("Ann was born in", start=True)])
    with torch.no_grad():
        one, other = merged.model(ids).logits, adapted(ids).logits
    torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)
    plain = AutoModelForCausalLM.from_pretrained(tmp_path / "model").eval()
    words = AutoTokenizer.from_pretrained(tmp_path / "model")
    assert words.decode(ids[0]).endswith("Ann was born in")
    with torch.no_grad():
        torch.testing.assert_close(plain(ids).logits, one)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["lora", "full"])
def test_epochs_are_scored_until_the_training_ends(
    method, data, tmp_path, capsys
) -> None:
    out, asked = tmp_path / "model", read_exam(data)
    config = FineTune(method=method, rate=1e-2, epochs=2, batch_tokens=512)
    finetune_to(out, "@tiny", data, config, seed=1, keep_epochs=True)
    last = epochs_of(out) / "2-of-2"
    last.rename(tmp_path / "later")
    with FileLock(lock_of(out)):  # it is still working
        rows = score_epochs(out, asked, every=0.01)
        scores = [next(rows), next(rows)]
        (tmp_path / "later").rename(last)
        scores.append(next(rows))
    assert list(rows) == []
    assert [(row["epoch"], row["epochs"]) for row in scores] == [(0, 2), (1, 2), (2, 2)]
    for row, lm in (
        (scores[0], load_model("@tiny", seed=1)),
        (scores[2], load_model(out)),
    ):
        assert row["accuracy"] == dict(
            summary(ask(lm, asked)).select("role", "accuracy").rows()
        )
    language.epoch(scores[2], json=True)
    assert json.loads(capsys.readouterr().out) == scores[2]
    language.epoch(scores[2], json=False)
    assert capsys.readouterr().out.startswith("  2 of 2  two hops ")
    with pytest.raises(DataError, match="--keep-epochs"):
        next(score_epochs(tmp_path / "none", asked))
    if method == "lora":
        half = next(score_epochs(out, asked, dtype="bfloat16"))
        assert half["perplexity"] != scores[0]["perplexity"]
        words = [
            "evaluate",
            str(out),
            str(data),
            "--watch",
            "--no-words",
            "--chat",
        ]
        assert main(words) == 2
        assert "--chat and --words cannot be combined with --watch" in " ".join(
            capsys.readouterr().err.split()
        )
    (weights,) = last.glob("*.safetensors")
    weights.write_bytes(b"{")
    with pytest.raises(
        DataError, match=r"adapters .*2-of-2|model .*2-of-2|2-of-2 holds"
    ):
        list(score_epochs(out, asked))
    (epochs_of(out) / "about.json").write_text('{"base": ')
    with pytest.raises(DataError, match=r"about\.json is damaged"):
        next(score_epochs(out, asked))


def test_observers_are_told_of_every_update(data, tmp_path) -> None:
    told: list[object] = []

    class Seen(Observer):
        def started(self, settings):
            told.append(settings["name"])

        def step(self, seen):
            told.append(
                (seen.step, round(seen.losses.item(), 4), seen.total > 0, *seen.numbers)
            )

        def finished(self, tables):
            told.append(list(tables))

    done = finetune_to(tmp_path / "model", "@tiny", data, SHORT, observers=[Seen()])
    losses = done.losses.select("step", "loss").rows()
    steps = [(step, round(loss, 4), True, "rate") for step, loss in losses]
    assert told == ["model", *steps, ["losses"]]


def test_an_observer_has_an_interval(data, tmp_path) -> None:
    with pytest.raises(ConfigError, match="every must be at least 1, got 0"):
        finetune_to(
            tmp_path / "model", "@tiny", data, SHORT, observers=[Observer(every=0)]
        )
    assert not (tmp_path / "model").exists()


def test_two_at_once_on_one_folder(data, tmp_path) -> None:
    config = FineTune(method="full", rate=1e-2, epochs=1, batch_tokens=64)
    others = []

    def again(done: int, total: int, what: str) -> None:
        with pytest.raises(DataError, match="another process is writing"):
            finetune_to(tmp_path / "model", "@tiny", data, config)
        others.append(done)

    finetune_to(tmp_path / "model", "@tiny", data, config, progress=again)
    assert others
    assert [path.name for path in tmp_path.iterdir() if "model" in path.name] == [
        "model"
    ]


def test_killed_when_all_was_written(data, tmp_path) -> None:
    config = FineTune(method="full", rate=1e-2, epochs=1, batch_tokens=64)
    finetune_to(tmp_path / "model", "@tiny", data, config)
    assert (tmp_path / "model" / "losses.parquet").exists()
    (tmp_path / "model.state").touch()
    with pytest.raises(DataError, match="already exists"):
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


@pytest.mark.slow
def test_two_processes_train_what_one_does(
    tmp_path: Path, forks: Forks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both have the environment of ``accelerate launch --cpu --num_processes 2``."""
    pytest.importorskip(
        "accelerate", reason="several processes need it: pip install accelerate"
    )
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    told = {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": port,
        "ACCELERATE_USE_CPU": "true",
    }
    both = []
    for rank in range(2):
        for name, value in (
            told | {"WORLD_SIZE": 2, "RANK": rank, "LOCAL_RANK": rank}
        ).items():
            monkeypatch.setenv(name, str(value))
        both.append(forks.start("tests.lm.kill_stages:tune_three", tmp_path / "two"))
    monkeypatch.undo()
    tune_three(tmp_path / "one")
    codes = [process.wait() for process in both]
    assert codes == [0, 0], both[0].output + both[1].output
    one, two = (
        pl.read_parquet(tmp_path / n / "losses.parquet") for n in ("one", "two")
    )
    # The same sums, added in another order.
    assert two["loss"].to_list() == pytest.approx(one["loss"].to_list(), rel=1e-3)
