"""Stage 1 in closed form, compared with autograd, and the lemmas in exact cases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import pytest
import torch
from torch.nn import functional as F

from inweights.errors import ConfigError, DataError
from inweights.models import OneLayerConfig
from inweights.models.configs.model_config import Init
from inweights.theory.feature_resemblance import gradients as closed_form
from inweights.theory.feature_resemblance import stage_one as module
from inweights.theory.feature_resemblance.stage_one import lemma_1, stage_one
from inweights.worlds import AnalogicalTwoHop, Analogy, TwoHop

JOINT = {"category": 3.0, "similarity": 2.0, "attribution": 1.0}
SMALL = OneLayerConfig(width=24, hidden=4, kappa=20.0, mlp="folded", init=Init(std=0.1))
LINEAR = OneLayerConfig(
    width=24, hidden=3, kappa=20.0, mlp="linear", init=Init(std=0.1)
)


def by_torch(
    world: Any,
    roles: Mapping[str, float],
    config: OneLayerConfig,
    *,
    seed: int,
    rate: float,
    steps: int,
) -> dict[str, float]:
    """Compute the same measures on a model that is trained by autograd, fact by fact."""
    made = world.build(seed)
    labels = made.outputs.tolist()
    model = config.build(
        vocabulary=len(made.vocabulary), seeds=[seed], candidates=labels
    ).double()
    facts = [
        (made.facts.prompt(i), labels.index(int(made.facts.answer(i)[0])), roles[name])
        for i, name in enumerate(np.array(made.facts.role_names)[made.facts.roles])
        if roles.get(name)
    ]
    total = sum(weight for *_, weight in facts)
    key_query, value = model.attention.key_query, model.attention.value
    start, losses, spread = value.detach().clone(), [], 0.0
    for _ in range(steps):
        loss = torch.zeros((), dtype=torch.float64)
        for prompt, label, weight in facts:
            logits = model(torch.from_numpy(prompt)[None])[0, 0, -1]
            loss = loss + weight / total * F.cross_entropy(logits, torch.tensor(label))
            scores = key_query[0, prompt, prompt[-1]].detach().softmax(0)
            spread = max(spread, float((scores - 1 / len(prompt)).abs().max()))
        losses.append(float(loss.detach()))
        moves = torch.autograd.grad(loss, [key_query, value])
        with torch.no_grad():
            key_query.sub_(rate * moves[0])
            value.sub_(rate * moves[1])
    vectors = model.mlp.weight.detach()[0].numpy()  # [K, M, D]
    added = (value.detach() - start)[0].numpy()  # [V, D]
    seen = vectors.reshape(-1, vectors.shape[-1]).T
    along = seen @ np.linalg.lstsq(seen, added.T, rcond=None)[0]
    scale = config.kappa / (config.hidden**0.5 if config.mlp == "folded" else 1)
    regime = np.zeros_like(added)
    for prompt, label, weight in facts:
        pull = vectors[label].mean(0) - vectors.mean((0, 1))
        for token in prompt.tolist():
            regime[token] += rate * steps * scale * weight / total / len(prompt) * pull
    return {
        "attention": spread,
        "span": float(np.linalg.norm(added.T - along) / np.linalg.norm(added)),
        "linear": float(np.linalg.norm(added - regime) / np.linalg.norm(regime)),
        "learnt": losses[0] - losses[-1],
    }


@pytest.mark.parametrize("config", [SMALL, LINEAR], ids=["folded", "linear"])
@pytest.mark.parametrize(
    ("world", "roles"),
    [
        (Analogy(n=3), JOINT),
        (
            Analogy(n=3, categories=2, maps="permutation"),
            {"category": 1.0, "similarity": 4.0},
        ),
        (AnalogicalTwoHop(n=3), {"first_hop": 1.0, "identity": 2.0, "second_hop": 0.5}),
    ],
)
def test_stage_one_is_gradient_descent(
    world: Any, roles: dict[str, float], config: OneLayerConfig
) -> None:
    settings: dict[str, Any] = {"seed": 2, "rate": 0.4, "steps": 6}
    found = stage_one(world, roles, model=config, **settings).row(0, named=True)
    expected = by_torch(world, roles, config, **settings)
    assert found == pytest.approx(expected, rel=1e-8, abs=1e-12)
    assert expected["attention"] > 1e-3  # so that the comparison was not empty
    assert expected["linear"] > 1e-3
    assert expected["learnt"] > 1e-3


def test_what_is_added_lies_along_the_mlp_of_the_start() -> None:
    """Lemma 2 is exact while the MLP is frozen, also far outside the linear regime."""
    far = stage_one(Analogy(n=3), JOINT, model=SMALL, rate=2.0, steps=40).row(
        0, named=True
    )
    assert far["span"] < 1e-12
    assert far["linear"] > 0.1


def test_one_step_from_a_small_start_is_the_linear_regime() -> None:
    """The difference is of order ``κ0 σ0²``, and that of attention of order ``σ0``."""
    rows = [
        stage_one(
            Analogy(n=4),
            JOINT,
            model=msgspec.structs.replace(SMALL, init=Init(std=std)),
            steps=1,
            rate=1.0,
        ).row(0, named=True)
        for std in (1e-2, 1e-3)
    ]
    assert rows[1]["linear"] < 2e-3
    assert rows[0]["linear"] > 5 * rows[1]["linear"]
    assert rows[0]["attention"] == pytest.approx(10 * rows[1]["attention"], rel=0.02)


def test_roles_count_by_their_shares() -> None:
    one, same, other = (
        stage_one(Analogy(n=3), roles, model=SMALL, steps=3)
        for roles in (
            {"category": 1.0, "similarity": 2.0},
            {"category": 2.0, "similarity": 4.0, "attribution": 0.0},
            {"category": 1.0, "similarity": 1.0},
        )
    )
    assert one.row(0) == pytest.approx(same.row(0))
    assert one.row(0) != pytest.approx(other.row(0), rel=1e-3)


def test_the_defaults_are_those_of_the_paper() -> None:
    world = Analogy(n=4)
    explicit = stage_one(
        world, JOINT, seed=0, model=OneLayerConfig(mlp="folded"), rate=0.47, steps=50
    )
    assert stage_one(world, JOINT).equals(explicit)


@pytest.mark.parametrize("mlp", ["linear", "relu"])
@pytest.mark.parametrize(
    "world", [Analogy(n=3, maps="permutation"), AnalogicalTwoHop(n=3, identity=False)]
)
def test_lemma_1_holds(world: Any, mlp: Any) -> None:
    for seed in (0, 5):
        table = lemma_1(world, seed=seed, mlp=mlp)
        assert table["matrix"].to_list() == ["W_KQ", "W_V", "w"]
        assert table["error"].to_numpy().max() < 1e-12


@pytest.mark.parametrize(
    ("field", "errors"),
    [("key_query", (0.01, 0, 0)), ("value", (0, 0.01, 0)), ("mlp", (0, 0, 0.01))],
)
def test_lemma_1_would_notice_an_error(
    field: str, errors: tuple[float, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A gradient that is 1% too long differs by 1% in its largest entry."""
    right = closed_form.gradients

    def wrong(*arguments: Any, **settings: Any) -> Any:
        found = right(*arguments, **settings)
        return replace(found, **{field: 1.01 * getattr(found, field)})

    monkeypatch.setattr(module, "gradients", wrong)
    assert lemma_1(Analogy(n=3))["error"].to_list() == pytest.approx(errors, abs=1e-9)


def test_lemma_1_has_relu_where_it_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    right = closed_form.gradients

    def swapped(*arguments: Any, relu: bool, **settings: Any) -> Any:
        return right(*arguments, relu=not relu, **settings)

    monkeypatch.setattr(module, "gradients", swapped)
    for mlp in ("linear", "relu"):
        assert lemma_1(Analogy(n=3), mlp=mlp)["error"].to_numpy().min() > 0.01


def test_worlds_and_settings_without_a_closed_form_are_errors() -> None:
    with pytest.raises(DataError, match="all prompts must have the same length"):
        lemma_1(TwoHop(n=3, identity=True))
    for changed, match in (
        ({"mlp": "relu"}, "got 'relu' and 'orthonormal'"),
        ({"embedding": "gaussian"}, "got 'folded' and 'gaussian'"),
    ):
        with pytest.raises(ConfigError, match=match):
            stage_one(
                Analogy(n=3), JOINT, model=msgspec.structs.replace(SMALL, **changed)
            )
    with pytest.raises(ConfigError, match="steps must be at least 1"):
        stage_one(Analogy(n=3), JOINT, steps=0)
    for roles, match in (
        ({"category": 0.0}, "above 0"),
        ({"category": -1.0}, "at least 0, got -1"),
    ):
        with pytest.raises(ConfigError, match=match):
            stage_one(Analogy(n=3), roles, model=SMALL)
