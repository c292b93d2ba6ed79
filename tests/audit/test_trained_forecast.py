"""A prediction by short training runs: its counts, and the command's output."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import binomtest
from tests.console.calls import call

from inweights.audit.prediction import by_training as trained_forecast
from inweights.audit.prediction.by_training import predict_by_training, trained_queries
from inweights.errors import ConfigError, DataError, RunError
from inweights.models.configs import EmbMLPConfig, Init
from inweights.training.curriculum import Curriculum, Optimizer, Phase
from inweights.worlds import RandomFacts, Statements, TwoHop, World, read_knowledge
from inweights.worlds.knowledge.triples import world_of

DESCENT = Phase(steps=300, optimizer=Optimizer(kind="sgd", rate=1.0))
BRIEF = {
    "small": (EmbMLPConfig(width=16, init=Init(std=0.1)), Curriculum(phases=(DESCENT,)))
}


def family(folder: Path) -> World:
    """Return a world in which half of a town has a stated value, and a person two languages."""
    path = folder / "facts.csv"
    rows = [
        "ann,born,rome",
        "bob,born,rome",
        "cat,born,oslo",
        "dan,born,oslo",
        "ann,speaks,latin",
        "cat,speaks,norse",
        "cat,speaks,sami",
    ]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return world_of(read_knowledge(path), kinds=("implication", "unstated"))


def test_shares_have_the_interval_of_so_many_replicas(tmp_path: Path) -> None:
    found = predict_by_training(family(tmp_path), BRIEF, replicas=6)
    assert found.memorised == {"small": 1.0}  # both languages are right
    assert found.queries.height == 2
    for share, lower, upper in found.queries.select(
        "share", "lower", "upper"
    ).iter_rows():
        exact = binomtest(round(share * 6), 6).proportion_ci()
        assert (lower, upper) == pytest.approx((exact.low, exact.high))
    bob = found.queries.row(0, named=True)
    assert (bob["predicted"], bob["share"]) == ("latin", 1.0)  # no fact states it
    assert found.kinds.select("model", "role", "queries").rows() == [
        ("small", "unstated", 2)
    ]


def test_the_models_are_those_of_figure_2_with_shorter_training() -> None:
    steps = {
        name: [phase.steps for phase in learner.phases]
        for name, (_, learner) in trained_forecast.replicas_for(100).items()
    }
    assert steps == {"Emb-MLP": [6000], "GPT": [280]}


def test_replicas_are_as_many_and_the_same_again() -> None:
    world = TwoHop(n=4, identity=0.5).build(1)
    one, again = (
        predict_by_training(world, BRIEF, replicas=3, seed=5) for _ in range(2)
    )
    assert one.queries.equals(again.queries)
    assert one.replicas == 3
    asked = trained_queries(RandomFacts(asked=3), replicas=1, share=0.002)
    assert asked["model"].unique(maintain_order=True).to_list() == ["Emb-MLP", "GPT"]
    assert asked.select("prompt", "answer").null_count().sum_horizontal().item() == 0


def test_a_replica_that_diverges_is_trained_more_slowly(tmp_path: Path) -> None:
    """Otherwise its answers would be based on NaN."""
    fast = Phase(steps=300, optimizer=Optimizer(kind="sgd", rate=1e6))
    models = {"fast": (BRIEF["small"][0], Curriculum(phases=(fast,)))}
    with pytest.raises(RunError, match="diverges even with 1/16"):
        predict_by_training(family(tmp_path), models, replicas=3)
    slower = Phase(steps=300, optimizer=Optimizer(kind="sgd", rate=6.0))
    models = {"slower": (BRIEF["small"][0], Curriculum(phases=(slower,)))}
    assert (
        predict_by_training(family(tmp_path), models, replicas=3).memorised["slower"]
        == 1.0
    )


def test_what_cannot_be_trained() -> None:
    world = TwoHop(n=3).build()
    with pytest.raises(ConfigError, match="replicas must be"):
        predict_by_training(world, BRIEF, replicas=0)
    nothing = World("none", world.vocabulary, Statements.build({}), world.queries)
    with pytest.raises(DataError, match="no facts"):
        predict_by_training(nothing, BRIEF)
    long = Statements.build({"path": (np.array([[0]]), np.array([[1, 2]]))})
    with pytest.raises(DataError, match="several tokens"):
        predict_by_training(World("long", world.vocabulary, long, world.queries), BRIEF)


def test_models_are_chosen_for_at_least_one_fact() -> None:
    with pytest.raises(ConfigError, match="facts must be at least 1, got 0"):
        trained_forecast.replicas_for(0)


def test_the_command_prints_both_and_writes_the_page(
    capsys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trained_forecast, "replicas_for", lambda facts: BRIEF)
    path, page = tmp_path / "<b>facts.csv", tmp_path / "new" / "forecast.html"
    rows = "ann,born,rome\nbob,born,rome\nann,speaks,latin\ncat,born,oslo\nrome,in,<i>italy\n"
    path.write_text(rows, encoding="utf-8")
    words = [
        str(path),
        "--by",
        "training",
        "--replicas",
        "2",
        "--intervals",
        "--page",
        str(page),
    ]
    code, out, _ = call(capsys, "predict", *words)
    assert code == 0
    assert "Short training runs of 2 replicas" in out
    text = page.read_text(encoding="utf-8")
    assert page.as_uri() in out.replace("\n", "")
    assert "<i>italy" not in text
    assert "<b>facts" not in text
    first = text.index("(bob speaks) → latin")
    assert first < text.index(">Fails<") < text.index("Every question")
    code, out, _ = call(capsys, "predict", *words, "--json")
    told = json.loads(out)
    assert told["training"]["replicas"] == 2
    (bob,) = (q for q in told["queries"] if q["prompt"] == "bob speaks")
    assert bob["lower"] <= bob["margin"] <= bob["upper"]
    assert (bob["verdict"], bob["small"], bob["small upper"]) == ("asserted", 1.0, 1.0)
    assert {row["role"] for row in told["training"]["kinds"]} == {
        "composition",
        "unstated",
    }
    for row in told["queries"]:  # unstated queries have no right answer
        assert (row["answer"] is None) == (row["role"] == "unstated")
    frame = pl.DataFrame(told["queries"])
    assert frame["verdict"][0] == "asserted"
