"""A fine-tuning run that is killed at any stage resumes and reaches the same weights."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
import torch
from safetensors.torch import load_file
from tests.forks import Forks
from tests.lm.kill_stages import CONFIG
from tests.waiting import wait_until

from inweights.audit import augment, write_augmented
from inweights.cli import main
from inweights.errors import DataError
from inweights.lm import finetune_to, load_model
from inweights.lm.model import score
from inweights.worlds import read_knowledge

#: Blocks of generated texts, and updates, that remain after each kill.
LEFT = {
    "loading": (True, True),
    "texts": (False, True),
    "measuring": (False, True),
    "training": (False, True),
    "saving": (False, False),
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("facts") / "facts.csv"
    file.write_text(
        "subject,relation,object\nAnn,born_in,Rome\nBob,born_in,Oslo\n"
        "Rome,country,Italy\nOslo,country,Norway\n"
    )
    return write_augmented(augment(read_knowledge(file)), file.parent / "data")


@pytest.fixture(scope="module")
def whole(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the model of an uninterrupted fine-tuning run."""
    out = tmp_path_factory.mktemp("whole") / "model"
    finetune_to(out, "@tiny", data, CONFIG)
    return out


def begin(forks: Forks, out: Path, data: Path, stage: str) -> None:
    """Fine-tune in a separate process until it ends or waits to be killed."""
    mark = out.with_name("mark")
    process = forks.start("tests.lm.kill_stages:main", out, data, stage, mark)
    if stage == "training":  # it stops by itself and writes its state
        process.wait()
    else:
        wait_until(mark.exists, unless=process.end)
        process.kill()
        process.wait()


@pytest.mark.slow
@pytest.mark.parametrize("stage", LEFT)
def test_it_goes_on_where_it_was_killed(
    stage: str,
    data: Path,
    whole: Path,
    forks: Forks,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "model"
    begin(forks, out, data, stage)
    assert not out.exists()
    assert main(["evaluate", str(out), str(data)]) == 2
    assert "is not finished" in " ".join(capsys.readouterr().err.split())

    blocks: list[int] = []
    updates: list[int] = []
    write_on = score._continue

    def counted(*given: object) -> list[str]:
        blocks.append(1)
        return write_on(*given)  # type: ignore[arg-type]

    def progress(done: int, total: int, what: str) -> None:
        if what.startswith("stage"):
            updates.append(done)

    monkeypatch.setattr(score, "_continue", counted)
    done = finetune_to(out, "@tiny", data, CONFIG, progress=progress)
    assert (bool(blocks), bool(updates)) == LEFT[stage]
    if stage == "training":
        assert updates[0] == 3
    ours, theirs = (load_file(path / "model.safetensors") for path in (out, whole))
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)
    losses = pl.read_parquet(whole / "losses.parquet")
    assert done.losses.equals(losses)
    cards = [(path / "README.md").read_text(encoding="utf-8") for path in (out, whole)]
    assert cards[0] == cards[1], "as many tokens were read"
    assert [path.name for path in tmp_path.glob("model*")] == ["model"]
    assert not list(tmp_path.glob(".new-*"))


@pytest.mark.slow
def test_texts_go_on_within_a_part(
    data: Path, tmp_path: Path, whole: Path, forks: Forks
) -> None:
    """If a killed run stored only the first of two parts, the rest is generated identically."""
    out = tmp_path / "model"
    begin(forks, out, data, "texts")
    texts = tmp_path / "model.texts"
    content = json.loads(texts.read_text(encoding="utf-8"))
    assert list(content["parts"]) == ["prose", "questions/0"]
    del content["parts"]["questions/0"]
    texts.write_text(json.dumps(content), encoding="utf-8")
    done = finetune_to(out, "@tiny", data, CONFIG)
    assert done.losses.equals(pl.read_parquet(whole / "losses.parquet"))


@pytest.mark.slow
def test_texts_of_another_run_or_damaged_ones_are_not_used(
    data: Path, tmp_path: Path, whole: Path
) -> None:
    losses = pl.read_parquet(whole / "losses.parquet")
    for name, content in (("damaged", "{"), ("other", '{"key": "x", "parts": {}}')):
        out = tmp_path / name
        (tmp_path / f"{name}.texts").write_text(content, encoding="utf-8")
        assert finetune_to(out, "@tiny", data, CONFIG).losses.equals(losses)
        assert not (tmp_path / f"{name}.texts").exists()


def test_a_folder_that_nobody_began_is_another_message(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is neither a folder"):
        load_model(tmp_path / "none")
    (tmp_path / "begun.state").touch()
    with pytest.raises(DataError, match=r"fine-tuning of .*begun is not finished"):
        load_model(tmp_path / "begun")
