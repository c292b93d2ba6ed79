"""Lemma 1 is compared with autograd, and predicted cosines with trained models."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from inweights.errors import ConfigError, DataError
from inweights.models import OneLayerConfig
from inweights.probes.resemblance import entity_pairs, resemblance
from inweights.theory.feature_resemblance.gradients import Gradients, gradients
from inweights.theory.feature_resemblance.resemblance import (
    curriculum_cosine,
    linear_cosines,
    noise,
)
from inweights.training import Curriculum, Optimizer, Phase, train
from inweights.worlds import AnalogicalTwoHop, Analogy, World

# --- Lemma 1

REPLICAS, FACTS, LENGTH, INPUTS, WIDTH, LABELS, HIDDEN = 2, 5, 3, 6, 7, 4, 3


def drawn(seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    weights = rng.random(FACTS)
    return {
        "key_query": rng.normal(size=(REPLICAS, INPUTS, INPUTS)),
        "value": rng.normal(size=(REPLICAS, WIDTH, INPUTS)),
        "mlp": rng.normal(size=(REPLICAS, LABELS, HIDDEN, WIDTH)),
        "inputs": rng.normal(size=(REPLICAS, FACTS, LENGTH, INPUTS)),
        "labels": rng.integers(LABELS, size=FACTS),
        "weights": weights / weights.sum(),
    }


def of(given: dict[str, Any], **options: Any) -> Gradients:
    """Return the gradients for the generated facts and parameters."""
    matrices = given["key_query"], given["value"], given["mlp"]
    rest = {name: given[name] for name in ("inputs", "labels", "weights")}
    return gradients(matrices, **rest, **options)


@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("shared", [False, True])
def test_closed_form_gradients_are_those_of_autograd(relu: bool, shared: bool) -> None:
    """The closed form is computed by loops over facts, labels and units (equations 1 to 4)."""
    given, kappa = drawn(), 1.7
    if shared:
        given["inputs"] = given["inputs"][0]
    found = of(given, kappa=kappa, relu=relu)
    for r in range(REPLICAS):
        w_kq, w_v, w = (
            torch.tensor(given[name][r], requires_grad=True)
            for name in ("key_query", "value", "mlp")
        )
        loss = torch.zeros((), dtype=torch.float64)
        for i in range(FACTS):
            x = torch.tensor(given["inputs"][i] if shared else given["inputs"][r, i]).T
            s = torch.softmax(x.T @ w_kq @ x[:, -1], 0)
            h = w_v @ x @ s
            said = []
            for k in range(LABELS):
                inner = torch.stack([w[k, j] @ h for j in range(HIDDEN)])
                said.append(kappa / HIDDEN * (inner.relu() if relu else inner).sum())
            logits = torch.stack(said)[None]
            label = torch.tensor([int(given["labels"][i])])
            loss = loss + given["weights"][i] * F.cross_entropy(logits, label)
            np.testing.assert_allclose(
                found.scores[r, i], s.detach().numpy(), atol=1e-12
            )
        assert found.losses[r] == pytest.approx(loss.item(), abs=1e-12)
        expected = torch.autograd.grad(loss, [w_kq, w_v, w])
        for ours, theirs in zip(
            (found.key_query, found.value, found.mlp), expected, strict=True
        ):
            assert theirs.abs().max() > 1e-3
            np.testing.assert_allclose(ours[r], theirs.numpy(), atol=1e-12)


@pytest.mark.parametrize("mlp", ["linear", "relu"])
def test_closed_form_gradients_are_those_of_the_model(mlp: Any) -> None:
    """They equal one step of the training loop with rate 1 and weighted roles."""
    world = Analogy(n=3).build()
    model = OneLayerConfig(width=16, hidden=3, kappa=5.0, mlp=mlp).build(
        vocabulary=len(world.vocabulary),
        seeds=[0, 1],
        candidates=world.outputs.tolist(),
    )
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(300)  # so that all gradients are well above rounding errors
    before = {
        n: p.detach().double().numpy().copy() for n, p in model.named_parameters()
    }
    roles = {"category": 2.0, "similarity": 2.0, "attribution": 1.0}
    prompts, answers = world.facts.matrix(np.arange(len(world.facts)))
    weights = np.repeat([2.0, 2.0, 1.0], 3) / 15
    value = np.swapaxes(before["attention.value"], 1, 2)
    found = gradients(
        (before["attention.key_query"], value, before["mlp.weight"]),
        np.eye(len(world.vocabulary))[prompts],
        np.searchsorted(world.outputs, answers[:, 0]),
        kappa=5.0,
        weights=weights,
        relu=mlp == "relu",
    )
    once = Optimizer(kind="sgd", rate=1.0, weight_decay=0.0)
    plan = Curriculum(phases=(Phase(steps=1, roles=roles, optimizer=once),))
    train(model, world, plan, seeds=[0, 1])
    for name, expected in (
        ("attention.key_query", found.key_query),
        ("attention.value", np.swapaxes(found.value, 1, 2)),
        ("mlp.weight", found.mlp),
    ):
        moved = before[name] - model.get_parameter(name).detach().double().numpy()
        assert np.abs(expected).max() > 1e-3
        np.testing.assert_allclose(moved, expected, atol=2e-6)


def test_gradients_refuse_what_does_not_fit() -> None:
    given = drawn()
    for name, wrong, message in (
        ("value", given["value"][:1], r"W_V \[R, D, I\]"),
        ("mlp", given["mlp"][0], r"w \[R, K, M, D\]"),
        ("inputs", given["inputs"][..., :-1], r"inputs \[N, T, I\]"),
        ("labels", given["labels"] + LABELS, "a label from 0 to 3"),
        ("weights", given["weights"][:2], "a weight for each of 5 prompts"),
    ):
        with pytest.raises(DataError, match=message):
            of({**given, name: wrong}, kappa=1.0)


# --- the linear regime

JOINT = {"category": 3.0, "similarity": 3.0, "attribution": 1.0}
HOPS = {"first_hop": 3.0, "identity": 3.0, "second_hop": 1.0}
CASES: list[tuple[str, World, dict[str, float], float]] = [
    ("joint", Analogy(n=40).build(), JOINT, 3.0),
    ("joint", Analogy(n=40).build(), {**JOINT, "attribution": 3.0}, 1.0),
    ("SA", Analogy(n=40).build(), {"category": 1.0, "similarity": 1.0}, 3.0),
    ("AS", Analogy(n=40).build(), {"category": 1.0, "attribution": 1.0}, 3.0),
    ("two-hop", AnalogicalTwoHop(n=40).build(), HOPS, 3.0),
    (
        "two-hop without identity",
        AnalogicalTwoHop(n=40, identity=False).build(),
        {"first_hop": 1.0, "second_hop": 1.0},
        3.0,
    ),
]


@pytest.mark.parametrize(("course", "world", "roles", "rho"), CASES)
def test_prediction_is_what_stage_1_does(
    course: Any, world: World, roles: dict[str, float], rho: float
) -> None:
    """The closed form, the prediction from facts, and the trained model agree."""
    setting = {"rate": 0.47, "steps": 20, "kappa": 300.0, "hidden": 10}
    model = OneLayerConfig(width=512, mlp="folded").build(
        vocabulary=len(world.vocabulary),
        seeds=[0, 1],
        candidates=world.outputs.tolist(),
    )
    once = Optimizer(kind="sgd", rate=0.47, weight_decay=0.0)
    stage = Phase(steps=20, roles=roles, moves=("attention.*",), optimizer=once)
    train(model, world, Curriculum(phases=(stage,)), seeds=[0, 1])
    measured = float(resemblance(model, world)["cosine"].mean())  # type: ignore[arg-type]
    closed = curriculum_cosine(course, rho=rho, noise=noise(40, **setting))  # type: ignore[arg-type]
    facts = linear_cosines(world, entity_pairs(world), roles, **setting)  # type: ignore[arg-type]
    assert np.ptp(facts) < 1e-12
    assert facts[0] == pytest.approx(closed, abs=0.015)
    assert measured == pytest.approx(closed, abs=0.02)
    assert measured == pytest.approx(facts[0], abs=0.02)


def test_the_closed_form_is_the_one_of_the_facts_without_one_over_k() -> None:
    """The difference decreases as the number of labels increases."""
    differences = []
    for n in (10, 100, 400):
        world = Analogy(n=n).build()
        facts = linear_cosines(world, entity_pairs(world)[:1], JOINT, steps=n // 2)
        differences.append(
            abs(facts[0] - curriculum_cosine("joint", noise=noise(n, steps=n // 2)))
        )
    assert differences[0] > 3 * differences[1] > 9 * differences[2]
    assert differences[2] < 1e-4


@pytest.mark.parametrize(
    ("world", "roles"),
    [
        (Analogy(n=400), {"category": 2.0, "similarity": 1.0, "attribution": 3.0}),
        (
            AnalogicalTwoHop(n=400),
            {"first_hop": 2.0, "identity": 1.0, "second_hop": 3.0},
        ),
    ],
)
def test_any_course_has_a_closed_form(world: Any, roles: dict[str, float]) -> None:
    """The role determines which entity has the further label; the facts add terms in 1/K."""
    built = world.build()
    facts = linear_cosines(built, entity_pairs(built)[:1], roles, steps=200)
    closed = curriculum_cosine(roles, noise=noise(400, steps=200))
    assert facts[0] == pytest.approx(closed, abs=1 / 400)
    named = curriculum_cosine(dict.fromkeys(roles, 1.0), noise=0.01)
    assert named == curriculum_cosine("joint", rho=1.0, noise=0.01)


def test_partial_identities_and_their_own_relation() -> None:
    for own in (False, True):
        world = AnalogicalTwoHop(n=50, identity=0.4, own_relation=own).build()
        cosines = linear_cosines(world, entity_pairs(world), HOPS)
        identities = world.facts.matrix(world.facts.with_role("identity"))[0][:, 0]
        given = np.isin(world.vocabulary["bridge"], identities)
        assert given.sum() == 20
        assert cosines[given].min() > 0.9
        assert np.abs(cosines[~given]).max() < 0.02


def test_published_similarities() -> None:
    """Published similarities (Tables 1 and 4) are within 0.01 of the linear regime."""
    for course, rho, published in (
        ("joint", 1.0, 0.6706),
        ("joint", 3.0, 0.9202),
        ("joint", 5.0, 0.9405),
        ("SA", 3.0, 0.9689),
        ("AS", 3.0, 0.0014),
        ("two-hop", 3.0, 0.9132),
        ("two-hop without identity", 3.0, 0.006),
    ):
        predicted = curriculum_cosine(course, rho=rho, noise=noise())  # type: ignore[arg-type]
        assert predicted == pytest.approx(published, abs=0.01), course


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ConfigError, match="did you mean 'joint'"):
        curriculum_cosine("joints")  # type: ignore[arg-type]
    for course, says in (
        ({"similarly": 1.0}, "did you mean 'similarity'"),
        ({"category": 1.0, "identity": 1.0}, "unknown role 'identity'"),
        ({"category": -1.0}, "'category' must be finite and at least 0, got -1.0"),
        ({"category": 0.0}, "must train on at least one of the roles"),
    ):
        with pytest.raises(ConfigError, match=says):
            curriculum_cosine(course)
    for rho in (0.5, float("nan")):
        with pytest.raises(ConfigError, match="at least 1, got"):
            curriculum_cosine("joint", rho=rho)
    with pytest.raises(ConfigError, match="noise must be at least 0"):
        curriculum_cosine("joint", noise=-1.0)
    for key in ("n", "rate", "kappa", "hidden"):
        with pytest.raises(ConfigError, match=f"{key} must be finite and > 0, got 0"):
            noise(**{key: 0})
    with pytest.raises(ConfigError, match="stage 1, must be at least 1"):
        noise(steps=0)
    world = Analogy(n=3).build()
    for pairs in (np.array([0, 1]), np.array([[0, 14]]), np.array([[-1, 0]])):
        with pytest.raises(
            DataError, match=r"the shape \[P, 2\] and contain token ids from 0 to 13"
        ):
            linear_cosines(world, pairs)
    with pytest.raises(DataError, match="unknown role 'identity'"):
        linear_cosines(world, entity_pairs(world), {"identity": 1.0})
