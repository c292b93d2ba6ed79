"""Stage 2 compared with autograd, the proof's comparison points, and bounds of starts."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from torch.nn import functional as F

from inweights.errors import ConfigError
from inweights.models import OneLayerConfig
from inweights.models.configs.model_config import Init
from inweights.theory.feature_resemblance import stage_two as module
from inweights.theory.feature_resemblance.resemblance import weights_of
from inweights.theory.feature_resemblance.stage_one import StageOneResult
from inweights.theory.feature_resemblance.stage_two import stage_two
from inweights.theory.feature_resemblance.starts import deep_start, one_layer_start
from inweights.worlds import AnalogicalTwoHop, Analogy

SA: list[dict[str, float]] = [
    {"category": 1.0, "similarity": 2.0},
    {"attribution": 1.0},
]
JOINT = {"category": 5.0, "similarity": 5.0, "attribution": 1.0}


def by_torch(
    config: OneLayerConfig, steps: list[int], rate: float
) -> list[dict[str, float]]:
    """Train the model in the same phases by autograd."""
    world = Analogy(n=3)
    learnt = StageOneResult.by_attention(
        world, SA[0], seed=1, model=config, rate=rate, steps=4
    )
    made = learnt.world
    model = config.build(
        vocabulary=len(made.vocabulary), seeds=[1], candidates=made.outputs.tolist()
    ).double()
    with torch.no_grad():
        model.attention.key_query[0] = torch.from_numpy(learnt.key_query)
        model.attention.value[0] = torch.from_numpy(learnt.value.T)
    prompts, labels = torch.from_numpy(learnt.prompts), torch.from_numpy(learnt.labels)
    found = []
    for roles, count in zip(SA, steps, strict=True):
        weights = torch.from_numpy(weights_of(made, roles))
        losses: list[float] = []
        quotients: list[float] = []
        for _ in range(count):
            logits = model(prompts)[0, :, -1]
            loss = (weights * F.cross_entropy(logits, labels, reduction="none")).sum()
            (move,) = torch.autograd.grad(loss, [model.mlp.weight])
            losses.append(float(loss.detach()))
            quotients.append(rate * float((move**2).sum()) / losses[-1])
            with torch.no_grad():
                model.mlp.weight.sub_(rate * move)
        found.append({"least": min(losses), "step_size": max(quotients)})
    return found


@pytest.mark.parametrize("mlp", ["folded", "linear"])
def test_stage_two_is_gradient_descent(mlp: Any) -> None:
    config = OneLayerConfig(width=16, hidden=3, kappa=20.0, mlp=mlp, init=Init(std=0.1))
    steps = [7, 5]
    table = stage_two(
        Analogy(n=3), SA, steps, seed=1, model=config, rate=0.3, attention=4
    )
    last = table.filter(pl.col("steps") == pl.col("steps").max().over("phase"))
    assert last["steps"].to_list() == steps
    for row, expected in zip(
        last.rows(named=True), by_torch(config, steps, 0.3), strict=True
    ):
        assert {name: row[name] for name in expected} == pytest.approx(
            expected, rel=1e-9
        )
        assert row["least"] < row["guess"] == pytest.approx(np.log(6))


def test_the_points_that_are_compared_with_are_where_they_are_said_to_be() -> None:
    """For each explicit ``w*``, its distance from ``w(0)`` and its loss are as stated."""
    rng = np.random.default_rng(0)
    h, u, margins = (
        rng.normal(size=(4, 9)),
        rng.normal(size=(5, 9)),
        rng.normal(size=(4, 5)),
    )
    labels, weights, scale = np.array([0, 2, 2, 4]), np.array([0.1, 0.2, 0.3, 0.4]), 1.7
    phase = module._Phase(scale * h @ u.T, h @ h.T, labels, weights, scale, rate=1.0)
    far, left = module._comparators(phase, margins)
    seen = (
        u @ np.linalg.pinv(h) @ h
    )  # the part of the initial parameters that affects the facts
    shortest = np.linalg.lstsq(scale * h, margins, rcond=None)[0].T
    across = len(module._OF_MARGINS)
    assert len(far) == len(module._OF_START) * across
    for i, j in ((0, 5), (1, 0), (1, 9), (7, 0), (9, 12)):
        more, margin = module._OF_START[i], module._OF_MARGINS[j]
        point = u + (more - 1) * seen + margin * shortest
        logits = torch.from_numpy(scale * h @ point.T)
        losses = F.cross_entropy(
            logits, torch.from_numpy(labels), reduction="none"
        ).numpy()
        assert far[i * across + j] == pytest.approx(
            ((point - u) ** 2).sum(), rel=1e-8, abs=1e-12
        )
        assert left[i * across + j] == pytest.approx(weights @ losses, rel=1e-8)


def test_a_small_rate_is_needed() -> None:
    """Without a small rate the bounds have a counter-example, and with it they have none."""
    options: dict[str, Any] = {"attention": 10}
    swift = stage_two(Analogy(n=20), [JOINT], [60], **options)
    assert swift["step_size"].max() > 2  # type: ignore[operator]
    assert (swift["least"] / swift["bound"]).max() > 1  # type: ignore[operator]
    slow = stage_two(Analogy(n=20), [JOINT], [60], slower=20.0, **options)
    assert slow["step_size"].max() < 1  # type: ignore[operator]
    assert (slow["least"] / slow["bound"]).max() <= 1  # type: ignore[operator]


def test_what_no_stage_has_is_refused() -> None:
    with pytest.raises(
        ConfigError, match=r"one number of steps per phase \(2\), got 1"
    ):
        stage_two(Analogy(n=3), SA, [3])
    with pytest.raises(ConfigError, match="must be at least 1, got 0"):
        stage_two(Analogy(n=3), SA, [3, 0])
    with pytest.raises(
        ConfigError,
        match="'labels' at least 2, got width = 4, layers = 1 and labels = 1",
    ):
        deep_start(width=4, layers=1, labels=1)


def test_starts_are_spread_as_one_over_the_root_of_the_width() -> None:
    """The bounds hold at the paper's width, and fail at widths that condition 1 excludes."""
    for world in (Analogy(n=8), AnalogicalTwoHop(n=8)):
        wide, narrow = (one_layer_start(world, width=d, hidden=3) for d in (512, 40))
        assert wide["vectors"].to_list() == ["w", "W_V e"]
        assert wide["length"].max() < 0.5 < narrow["length"].max()  # type: ignore[operator]
        assert wide["product"].max() < 1  # type: ignore[operator]
        # Inner products are in units of √d; lengths are not.
        ratio = narrow["product"].max() / wide["product"].max()  # type: ignore[operator]
        assert ratio == pytest.approx(1, abs=0.25)
    deep = [deep_start(width=width, layers=3, labels=10) for width in (64, 512)]
    for name in ("length", "product"):
        for table in deep:
            assert 0.2 < table[name].min() < table[name].max() < 1  # type: ignore[operator]
