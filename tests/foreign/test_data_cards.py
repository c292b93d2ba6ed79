"""Data sets with cards can be read by the libraries of data-set hubs."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import inweights as iw
from inweights.actions import cards
from inweights.actions.zoo.data_sets import write_data_sets
from inweights.cli import main
from inweights.worlds import load_world, save_world

WORLD = iw.TwoHop(n=4).build(seed=0)


def read_by_mlcroissant(folder: Path, *names: str) -> list[list[dict[str, Any]]]:
    """Return the records of the record sets, after a validation without warnings."""
    mlcroissant = pytest.importorskip(
        "mlcroissant", reason="pip install mlcroissant lifts this"
    )
    data = mlcroissant.Dataset(jsonld=str(folder / "croissant.json"))
    assert not data.metadata.ctx.issues.errors
    left = {
        text
        for text in data.metadata.ctx.issues.warnings
        if "datePublished" not in text
    }
    assert not left
    return [list(data.records(name)) for name in names]


def read_by_hugging_face(folder: Path) -> dict[str, Any]:
    """Return the card's metadata, validated by the hub's library without a network."""
    hub = pytest.importorskip(
        "huggingface_hub", reason="pip install '.[hf]' lifts this"
    )
    about: dict[str, Any] = hub.DatasetCard.load(folder / "README.md").data.to_dict()
    assert about["license"] == "apache-2.0"
    return about


def test_hashes_and_columns_are_those_of_the_files(tmp_path: Path) -> None:
    folder = save_world(WORLD, tmp_path / "world", card=True)
    metadata = json.loads((folder / "croissant.json").read_text())
    card = (folder / "README.md").read_text()
    files = {one["@id"]: one for one in metadata["distribution"]}
    assert set(files) == {"facts.parquet", "queries.parquet", "world.json"}
    for name, about in files.items():
        content = (folder / name).read_bytes()
        assert about["sha256"] == hashlib.sha256(content).hexdigest()
        assert about["contentSize"] == f"{len(content)} B"
        assert about["sha256"] in card
    fields = {one["name"]: one for one in metadata["recordSet"][0]["field"]}
    assert set(fields) == set(pl.read_parquet_schema(folder / "facts.parquet"))
    assert fields["prompt"]["dataType"] == "sc:Integer"
    assert fields["prompt"]["repeated"] is True
    assert fields["out_of_distribution"]["dataType"] == "sc:Boolean"
    assert load_world(folder).facts[0] == WORLD.facts[0]


def test_a_card_needs_a_folder(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["world", "two-hop", "--card"]) == 2
    assert "--card requires --out FOLDER" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of these libraries
def test_a_world_is_found_by_others(tmp_path: Path) -> None:
    folder = tmp_path / "world"
    assert (
        main(["world", "two-hop", "--set", "n=4", "--out", str(folder), "--card"]) == 0
    )
    (records,) = read_by_mlcroissant(folder, "default/facts")
    texts = [one["default/facts/prompt_text"].decode() for one in records]
    assert texts == [WORLD.vocabulary.text(fact.prompt) for fact in WORLD.facts]
    (config,) = read_by_hugging_face(folder)["configs"]
    assert [one["split"] for one in config["data_files"]] == ["facts", "queries"]
    facts = pl.read_parquet(folder / "facts.parquet").to_dicts()
    datasets = pytest.importorskip("datasets", reason="pip install '.[hf]' lifts this")
    loaded = datasets.load_dataset(str(folder), cache_dir=str(tmp_path / "cache"))
    assert loaded["facts"].to_list() == facts


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of these libraries
@pytest.mark.parametrize("card", [False, True])
def test_a_world_without_queries_loads_too(card: bool, tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets", reason="pip install '.[hf]' lifts this")
    ring = iw.worlds.Graph(shape="cycle", n=6).build(seed=0)
    folder = save_world(ring, tmp_path / "ring", card=card)
    loaded = datasets.load_dataset(str(folder), cache_dir=str(tmp_path / "cache"))
    assert {name: split.num_rows for name, split in loaded.items()} == {"facts": 12}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of these libraries
def test_what_the_project_has_is_found_by_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("INWEIGHTS_RESULTS")
    folders = {one.name: one for one in write_data_sets(tmp_path / "cards")}
    assert list(folders) == ["scores", "ledger", "worlds", "models"]
    (models,) = read_by_mlcroissant(folders["models"], "models/train")
    (verdicts,) = read_by_mlcroissant(folders["ledger"], "verdicts/train")
    (scores,) = read_by_mlcroissant(folders["scores"], "demo/train")
    (graph,) = read_by_mlcroissant(folders["worlds"], "cycle--node2vec/facts")
    assert len(models) == len(cards())
    assert len(verdicts) == len(iw.board().claims)
    assert {one["demo/train/claim"].decode() for one in scores} >= {
        "demo/two-hop/with-identity"
    }
    assert len(graph) == len(iw.load("cycle/node2vec").world.facts)
    for name, folder in folders.items():
        about = read_by_hugging_face(folder)
        assert len(about["configs"]) >= 1
        card = (folder / "README.md").read_text()
        for file in folder.rglob("*.parquet"):
            for column in pl.read_parquet_schema(file):
                assert f"| `{column}` |" in card, (name, column)
