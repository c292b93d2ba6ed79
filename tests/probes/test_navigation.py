"""Navigation on embeddings with known results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from inweights.errors import DataError
from inweights.models import GPT, GPTConfig, Model, Packed
from inweights.probes.paths.navigation import navigation, ridge_map, stepwise
from inweights.training import answer_columns, answer_logits, answer_ranks
from inweights.training.scoring import answers as scoring
from inweights.worlds import PathStar, Statements, Vocabulary, World

ARMS, NODES, WIDTH = 40, 5, 16


def star(seed: int, share: float = 0.75) -> World:
    rng = np.random.default_rng(seed)
    count = ARMS * (NODES - 1) + 1
    own = 1 + np.arange(count - 1).reshape(ARMS, -1)
    lines = rng.permutation(count)[
        np.concatenate([np.zeros((ARMS, 1), int), own], axis=1)
    ]
    cut = round(share * ARMS)
    told = Statements.build({"path": (lines[:cut, -1:], lines[:cut])})
    asked = Statements.build({"path": (lines[cut:, -1:], lines[cut:])})
    return World(
        "star", Vocabulary({"node": [f"n{i}" for i in range(count)]}), told, asked
    )


def placed(worlds: list[World], kind: str) -> GPT:
    """Return a model whose embeddings arrange the arms as ``kind`` states."""
    size = len(worlds[0].vocabulary)
    model = GPTConfig(width=WIDTH).build(vocabulary=size, seeds=range(len(worlds)))
    for r, world in enumerate(worlds):
        rng = np.random.default_rng(r)
        table = rng.normal(size=(size, WIDTH))
        turn = np.linalg.qr(rng.normal(size=(WIDTH, WIDTH)))[0]
        lines = np.concatenate(
            [
                world.facts.matrix(np.arange(30))[1],
                world.queries.matrix(np.arange(10))[1],
            ]
        )
        if kind != "random":
            for depth in range(1, NODES):
                step = (
                    np.eye(WIDTH)
                    if kind == "near"
                    else np.linalg.matrix_power(turn, depth)
                )
                table[lines[:, depth]] = table[lines[:, 1]] @ step
        with torch.no_grad():
            model.tokens.weight[r].copy_(torch.from_numpy(table))
    return model


def test_arms_in_clusters_turned_arms_and_no_geometry() -> None:
    worlds = [star(0), star(1)]
    near, turned, random = (
        navigation(placed(worlds, k), worlds) for k in ("near", "turned", "random")
    )
    assert near["nearest"].min() == 1.0
    assert near["ridge"].min() == 1.0
    # One map for all arms leads to the node, although distances do not.
    assert turned["nearest"].to_numpy().max() < 0.5
    assert turned["ridge"].min() == 1.0
    assert turned["explained"].to_numpy().min() > 0.95
    assert random["ridge"].to_numpy().max() < 0.3
    assert random["explained"].to_numpy().max() < 0.3
    assert near["depth"].to_list() == [1, 2, 3] * 2
    assert near["hops"].to_list() == [3, 2, 1] * 2
    assert near["chance"][0] == 1 / ARMS


def test_replicas_read_their_own_world() -> None:
    worlds = [star(0), star(1)]
    model = placed(worlds, "near")
    crossed = navigation(model, worlds[::-1])
    assert crossed["nearest"].to_numpy().max() < 0.5


def test_a_large_penalty_explains_nothing() -> None:
    x = np.random.default_rng(0).normal(size=(30, 4))
    assert np.abs(ridge_map(x, x, 1e9)).max() < 1e-6


def test_what_is_refused() -> None:
    model = placed([star(0)], "random")
    bare = star(0, share=1.0)
    with pytest.raises(DataError, match="role"):
        navigation(model, bare)
    with pytest.raises(DataError, match="'ridge' must be above 0"):
        navigation(model, star(0), ridge=0.0)
    with pytest.raises(DataError, match="at least one pair"):
        ridge_map(np.zeros((0, 3)), np.zeros((0, 3)))


def answering(world: World, table: np.ndarray) -> Any:
    """Return a model whose blocks have no effect, so only the last token decides."""
    size = len(world.vocabulary)
    config = OneStep(table)
    return config.build(vocabulary=size)


class OneStep:
    """A model with the logits ``table[last token]``."""

    def __init__(self, table: np.ndarray) -> None:
        self.table = torch.from_numpy(table).float()

    def build(self, vocabulary: int) -> Model:
        table = self.table

        class Chain(Model):
            layer_names = ("logits",)

            def states(self, batch: Packed) -> dict[str, torch.Tensor]:
                return {"logits": table[batch.tokens].unsqueeze(0)}

            def unembed(self, state: torch.Tensor) -> torch.Tensor:
                return state

        return Chain(1, vocabulary)


def test_the_root_is_told_apart_among_both_directions() -> None:
    """Only the root has ten answers; inner nodes have two, one for each direction."""
    world = PathStar(arms=10, nodes=4).build(0)
    table = np.zeros((len(world.vocabulary),) * 2)
    pairs = world.facts.matrix(world.facts.with_role("edge"))
    root = np.bincount(pairs[0][:, 0]).argmax()
    inner = pairs[0][:, 0] != root
    table[pairs[0][inner, 0], pairs[1][inner, 0]] = table[root] = 1.0
    table[root, pairs[1][~inner, 0]] = 0.0  # every other node is an answer of the root
    found = stepwise(
        answering(world, table), world, roles=["edge", "reverse_edge"], apart=True
    )
    assert found.select("role", "hub").rows() == [
        ("edge", False),
        ("edge", True),
        ("reverse_edge", False),
    ]
    assert found["recall"].to_list() == [1.0, 0.0, 1.0]
    assert found.filter(hub=True)["statements"].item() == 10 == (~inner).sum()


def test_every_place_of_an_answer_is_judged_given_those_before() -> None:
    """For a model of the edges away from the root, all but the first two tokens are right."""
    world = star(0)
    size = len(world.vocabulary)
    lines = world.queries.matrix(np.arange(10))[1]
    table = np.zeros((size, size))
    table[lines[:, :-1].ravel(), lines[:, 1:].ravel()] = 1.0
    table[lines[0, 0]] = 0.0
    table[lines[0, 0], lines[3, 1]] = 2.0  # the root leads to one arm
    table[lines[:, -1], lines[0, 0]] = 1.0  # and a leaf to the root
    found = stepwise(answering(world, table), world).filter(part="queries")
    assert found["place"].to_list() == [0, 1, 2, 3, 4]
    assert found["accuracy"].to_list() == pytest.approx([1.0, 0.1, 1.0, 1.0, 1.0])
    assert found["exact"].to_list() == pytest.approx([0.1] * 5)
    assert found["statements"].unique().to_list() == [10]
    one = stepwise(answering(world, table), world, roles=("path",), most=1)
    assert set(one["statements"]) == {1}
    few = stepwise(answering(world, table), world, roles=("path",), most=4)
    assert few["statements"].unique().to_list() == [4]


def test_recall_counts_as_many_places_as_the_prompt_has_answers() -> None:
    edges = {"edge": ([[0], [0], [1]], [[1], [2], [2]]), "other": ([[0]], [[3]])}
    words = Vocabulary({"node": list("abcd")})
    world = World("w", words, Statements.build(edges), Statements.build({}))
    table = np.array(
        [[0, 3, 1, 2], [0, 0, 1, 2], [0, 0, 0, 0], [0, 0, 0, 0]], dtype=float
    )
    model = answering(world, table)
    alone = stepwise(model, world, roles=("edge",)).to_dicts()[0]
    assert alone["accuracy"] == pytest.approx(1 / 3)  # 0 → 1
    assert alone["recall"] == pytest.approx(1 / 3)  # node 3 precedes node 2
    both = stepwise(model, world).filter(role="edge").to_dicts()[0]
    assert both["recall"] == pytest.approx(2 / 3)  # node 0 now has three answers


def test_ranks_keep_the_order_that_was_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    worlds = [star(0), star(1)]
    model = GPTConfig(layers=1, width=8, context=8).build(vocabulary=161, seeds=[0, 1])
    whole = answer_ranks(model, worlds, "facts")
    chosen = np.array([7, 3, 21, 0])
    monkeypatch.setattr(
        scoring, "MAX_LOGITS", 3 * 2 * NODES * 161
    )  # three rows per call
    some = answer_ranks(model, worlds, "facts", chosen)
    assert torch.equal(some, whole[:, torch.from_numpy(chosen)])
    logits = answer_logits(model, worlds, "facts", chosen)
    said = logits.gather(
        -1, answer_columns(model, worlds, "facts", chosen).unsqueeze(-1)
    )
    assert torch.equal(some[:, :, 0], (logits > said).sum(-1))
