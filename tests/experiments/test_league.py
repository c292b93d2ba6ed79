"""The league: a user's model is run, and replaying its entry gives bitwise equal scores."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from torch import Tensor, nn

import inweights as iw
from inweights.actions import replay
from inweights.actions.entries import submit
from inweights.errors import ConfigError, DataError, WriteError
from inweights.recipes.beyond.league import STANDING, cost

SHORT = {"steps": 1, "shares": [0.0, 0.75]}


class Reader(nn.Module):
    def __init__(self, vocabulary: int, width: int = 8) -> None:
        super().__init__()
        self.embed, self.head = (
            nn.Embedding(vocabulary, width),
            nn.Linear(width, vocabulary),
        )

    def forward(self, ids: Tensor) -> Tensor:
        return self.head(self.embed(ids).cumsum(1))


@pytest.fixture(scope="module")
def entries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("league")
    options: dict[str, Any] = {"scale": "smoke", "seeds": 2, "overrides": SHORT}
    iw.league(Reader, runs=root / "runs", into=root / "entries", **options)
    return root / "entries"


@pytest.mark.slow
def test_a_model_has_a_row_for_all_that_it_is_taught_and_asked(entries: Path) -> None:
    options: dict[str, Any] = {"scale": "smoke", "seeds": 2, "overrides": SHORT}
    table = iw.league(Reader, runs=entries.parent / "runs", **options)
    own = table.filter(own=True)
    assert own["model"].unique().to_list() == ["Reader"]
    assert own["seeds"].unique().to_list() == [2]
    asked = own.filter(identity=True, trained=0.75)["hops"].to_list()
    unseen = ["first_unseen", "second_unseen", "both_unseen"]
    assert sorted(asked) == sorted(["all", "facts", "composition", *unseen])
    bare = own.filter(identity=True, trained=0.0)
    assert sorted(bare["hops"]) == ["all", "both_unseen", "facts"]
    both = [bare.filter(hops=name)["accuracy"][0] for name in ("all", "both_unseen")]
    assert both[0] == both[1]


@pytest.mark.slow
def test_an_entry_gives_the_same_scores_again(entries: Path, tmp_path: Path) -> None:
    scores = replay(entries / "reader", runs=tmp_path)
    assert len(scores) == 2 * 2 * (3 + 6)
    assert scores["accuracy"].equals(scores["now"])


@pytest.mark.slow
def test_changed_scores_are_seen_and_a_folder_that_is_no_entry_is_refused(
    entries: Path, tmp_path: Path
) -> None:
    for name in ("config.json", "environment.json"):
        (tmp_path / name).write_bytes((entries / "reader" / name).read_bytes())
    with pytest.raises(DataError, match=r"it lacks scores\.csv"):
        replay(tmp_path)
    told = pl.read_csv(entries / "reader" / "scores.csv")
    told.with_columns(pl.col("accuracy") + 0.5).write_csv(tmp_path / "scores.csv")
    scores = replay(tmp_path, runs=entries.parent / "runs")
    assert not scores["accuracy"].equals(scores["now"])


def test_an_entry_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    keys = {"model": "m", "identity": True, "trained": 0.5, "hops": "all"}
    tables = {
        "league": pl.DataFrame([{**keys, "seed": 0, "accuracy": 1.0}]),
        "cost": pl.DataFrame([{"model": "m", "parameters": 1, "operations": 1}]),
    }
    folder = SimpleNamespace(config={"settings": {}})
    run: Any = SimpleNamespace(tables=tables, folder=folder, environment={})
    (tmp_path / "file").touch()
    with pytest.raises(WriteError, match="cannot write "):
        submit(run, tmp_path / "file")


def test_what_cannot_take_part_says_so() -> None:
    with pytest.raises(
        ConfigError, match="already has a model 'GPT'; choose another name"
    ):
        iw.league(Reader, name="GPT")
    with pytest.raises(
        ConfigError,
        match="a 'node2vec' cannot be entered in the league; give a factory",
    ):
        iw.league(iw.models.Node2VecConfig())
    with pytest.raises(ConfigError, match="unknown scale 'cup'; did you mean 'cpu'"):
        iw.league(scale="cup")
    with pytest.raises(
        ConfigError, match="unknown model of the league 'GTP'; did you mean 'GPT'"
    ):
        iw.run("beyond/league", "smoke", overrides={"models": ["GTP"]})


def test_cost_is_of_one_replica_and_one_question() -> None:
    one, two = (STANDING["LSTM"](8).build(vocabulary=9, seeds=n) for n in (1, 2))
    size = 9 * 8 + 9 * 9 + 2 * (16 * 32 + 32)
    products = 2 * 3 * (2 * 16 * 32 + 8 * 9)  # multiplications and additions
    for model in (one, two):
        row = cost(model, None).row(0, named=True)
        assert (row["parameters"], row["operations"]) == (size, products)
