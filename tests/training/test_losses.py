"""Positions of the loss and weights of facts, with answers of several tokens."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tests.rounding import assert_same, of_forward, of_training
from torch import Tensor
from torch.nn import functional as F

from inweights.models import GPTConfig, Model
from inweights.training import Curriculum, Optimizer, Phase, train
from inweights.worlds import Statements, TwoHop, Vocabulary, World

FACTS = {
    "edge": ([[0, 1], [2, 1], [4, 1]], [[3], [5], [0]]),
    "path": ([[0, 6], [3, 6]], [[1, 2, 5], [4, 4, 0]]),
    "self_edge": ([[7]], [[7]]),
}

#: At most as many answers as positions in FACTS.
LABELS = 20


def world(facts: dict[str, Any]) -> World:
    words = Vocabulary({"node": [f"t{i}" for i in range(8)]})
    query = Statements.build({"path": ([[5, 6]], [[1, 2, 5]])})
    return World(
        name="w", vocabulary=words, facts=Statements.build(facts), queries=query
    )


def build() -> Model:
    return GPTConfig(layers=1, width=8, tied=False).build(vocabulary=8, seeds=[3])


def places(loss: Any, prompt: int, answer: int) -> list[int]:
    """Return the input positions with a label, as the docstring defines them."""
    if loss == "every":
        return list(range(prompt + answer - 1))
    if loss == "last":
        return [prompt + answer - 2]
    return [prompt - 1 + p for p in (range(answer) if loss == "answer" else loss)]


def plain_loss(
    model: Model, facts: dict[str, Any], loss: Any, weights: dict[str, float]
) -> Tensor:
    """Compute the weighted mean over labelled positions, by loops over facts and positions."""
    total, share = torch.zeros(()), 0.0
    for role, weight in weights.items():
        for prompt, answer in zip(*facts[role], strict=True):
            logits = model(torch.tensor([[*prompt, *answer][:-1]]))[0, 0]
            for place in places(loss, len(prompt), len(answer)):
                label = torch.tensor([*prompt, *answer][place + 1])
                total = total + weight * F.cross_entropy(logits[place], label)
                share += weight
    return total / share


def one_step(facts: dict[str, Any], **settings: Any) -> tuple[Model, float]:
    phase = Phase(
        steps=1, optimizer=Optimizer(kind="sgd", rate=0.5, weight_decay=0.0), **settings
    )
    model = build()
    result = train(model, world(facts), Curriculum(phases=(phase,)), seeds=[3])
    return model, result.losses["loss"][0]


@pytest.mark.parametrize("loss", ["last", "answer", "every", (0,)])
@pytest.mark.parametrize(
    "weights",
    [dict.fromkeys(FACTS, 1.0), {"path": 3.0, "edge": 1.0}, {"self_edge": 1.0}],
)
def test_value_and_gradient(loss: Any, weights: dict[str, float]) -> None:
    plain = build()
    expected = plain_loss(plain, FACTS, loss, weights)
    expected.backward()
    model, found = one_step(FACTS, loss=loss, roles=weights)
    near = of_training(model, LABELS, steps=1)
    assert found == pytest.approx(expected.item(), rel=near)
    for name, parameter in plain.named_parameters():
        assert parameter.grad is not None
        moved = parameter.detach() - 0.5 * parameter.grad
        assert_same(model.get_parameter(name), moved, near)


def test_chosen_places_of_a_long_answer() -> None:
    plain, weights = build(), {"path": 1.0}
    losses = set()
    for loss in ((0,), (1,), (2,), (0, 2), (0, 1, 2)):
        _, found = one_step(FACTS, loss=loss, roles=weights)
        expected = plain_loss(plain, FACTS, loss, weights).item()
        assert found == pytest.approx(expected, rel=of_forward(plain, LABELS))
        losses.add(round(found, 6))
    assert len(losses) == 5  # they can be distinguished
    assert (
        one_step(FACTS, loss=(2,), roles=weights)[1]
        == one_step(FACTS, roles=weights)[1]
    )
    whole = one_step(FACTS, loss="answer", roles=weights)[1]
    assert whole == one_step(FACTS, loss=(0, 1, 2), roles=weights)[1]


def test_weight_two_is_every_fact_twice() -> None:
    twice = FACTS | {"path": tuple(2 * side for side in FACTS["path"])}
    model, weighted = one_step(FACTS, loss="answer", roles={"path": 2.0, "edge": 1.0})
    copied, doubled = one_step(twice, loss="answer", roles={"path": 1.0, "edge": 1.0})
    _, once = one_step(FACTS, loss="answer", roles={"path": 1.0, "edge": 1.0})
    near = of_training(model, LABELS, steps=1)
    assert weighted == pytest.approx(doubled, rel=near)
    assert weighted != pytest.approx(once, abs=1e-4)
    for one, other in zip(model.parameters(), copied.parameters(), strict=True):
        assert_same(one, other, near)


@pytest.mark.parametrize(
    ("loss", "weights"),
    [(loss, {}) for loss in ("last", "answer", "every", (0,))]
    + [("last", {"first_hop": 3.0, "identity": 1.0})],
)
def test_the_loss_of_a_world_as_it_comes(loss: Any, weights: dict[str, float]) -> None:
    """The loss of all roles, or of weighted ones, for facts of one token and of two."""
    hops = TwoHop(n=4, complexity=2).build(seed=0)
    told = {
        role: hops.facts.matrix(hops.facts.with_role(role))
        for role in hops.facts.role_names
    }
    facts = {
        role: (sides[0].tolist(), sides[1].tolist()) for role, sides in told.items()
    }
    model = GPTConfig(layers=2, width=16, heads=2, tied=False).build(
        vocabulary=len(hops.vocabulary), seeds=[1]
    )
    with torch.no_grad():
        expected = plain_loss(
            model, facts, loss, weights or dict.fromkeys(facts, 1.0)
        ).item()
    plan = Curriculum(phases=(Phase(steps=1, loss=loss, roles=weights),))
    result = train(model, hops, plan, seeds=[1])
    near = of_forward(model, sum(len(told) for told, _ in facts.values()))
    assert result.losses["loss"][0] == pytest.approx(expected, rel=near)
