"""Operations of a step on an accelerator, counted without a GPU and compared on one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any
from unittest.mock import Mock

import pytest
import torch
from benchmarks.gpu_step import CASES, kernels
from polars.testing import assert_frame_equal
from tests.training.curricula import CURRICULA, WORLD, V, build, curriculum, state

from inweights.errors import ConfigError
from inweights.models import GPTConfig
from inweights.training import Optimizer, train
from inweights.training.steps.flat_parameters import FlatParameters
from inweights.training.steps.optimizers.fused import build_optimizer, one_for_all_rows
from inweights.training.steps.recording.captured import CapturedUpdate
from inweights.worlds import TwoHop

SMALL = GPTConfig(layers=1, width=8)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_a_step_never_waits_and_does_little_beside_the_model(case) -> None:
    """Counted on the meta device, which has no numbers, so that reading one is an error."""
    _, phase, rates = case
    world = TwoHop(n=8, complexity=2).build(0)
    each = kernels(SMALL, world, phase, rates, replicas=3)
    assert sum(each["rest"].values()) <= 8
    more = kernels(SMALL, world, phase, rates, replicas=6)
    assert each == more, "kernels do not grow with the replicas"


@pytest.mark.parametrize("kind", ["adamw", "adam", "sgd"])
def test_one_kernel_for_all_rates_steps_as_one_for_each(kind: Any) -> None:
    named = partial(Optimizer, kind=kind, momentum=0.9 if kind == "sgd" else 0.0)
    settings = [
        named(rate=1e-2, weight_decay=0.0),
        named(rate=3e-2, weight_decay=0.5),
        named(rate=3e-2, weight_decay=0.5, decayed="all"),
    ]
    ends = []
    for joined in (False, True):
        model = build()
        flat = FlatParameters(model)
        moving = flat.moving(("*",), ("tokens.*",))
        spans = [flat.spans[i] for i in moving]
        optimizer = (
            one_for_all_rows(flat, settings, spans)
            if joined
            else build_optimizer(flat, settings, moving)
        )
        rates = [group["lr"] for group in optimizer.param_groups]
        numbers = torch.Generator().manual_seed(0)
        for factor in (1.0, 0.5, 0.25):
            for group, rate in zip(optimizer.param_groups, rates, strict=True):
                group["lr"] = rate * factor
            for i in moving:
                start, end = flat.spans[i]
                flat.gradients[:, start:end] = torch.randn(
                    3, end - start, generator=numbers
                )
            optimizer.step()
        ends.append(state(model))
    for one, other in zip(*ends, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)


def test_steps_are_captured_on_a_gpu_only() -> None:
    with pytest.raises(ConfigError, match="captured only on a GPU, got 'cpu'"):
        train(build(), WORLD, curriculum(), seeds=3, cuda_graph=True)
    dropping = GPTConfig(layers=1, width=8, dropout=0.1).build(vocabulary=V, seeds=[0])
    with pytest.raises(ConfigError, match="dropout"):
        train(dropping, WORLD, curriculum(), seeds=1, cuda_graph=True)


@pytest.mark.slow
# Dynamo itself creates an instance of an autograd function that it traces.
@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")
def test_a_compiled_model_trains_as_an_eager_one() -> None:
    """Results are bitwise equal, and a break of the graph is an error."""
    ends = []
    for compiled in (False, True):
        model = build()
        if compiled:
            model.compile(fullgraph=True, backend="aot_eager")
        train(model, WORLD, CURRICULA["minibatches"], seeds=[0, 1, 2])
        ends.append(state(model))
    assert all(torch.equal(one, other) for one, other in zip(*ends, strict=True))


@pytest.mark.gpu
@pytest.mark.parametrize("name", CURRICULA)
def test_a_gpu_trains_as_a_cpu_does(name: str) -> None:
    _check_same(name, ({"device": "cpu"}, {"device": "cuda"}), rtol=1e-2, atol=1e-3)


@pytest.mark.gpu
@pytest.mark.parametrize("name", [name for name in CURRICULA if name != "noise"])
def test_a_captured_step_does_what_an_eager_one_does(name: str) -> None:
    _check_same(
        name, ({"cuda_graph": False}, {"cuda_graph": True}), rtol=1e-4, atol=1e-5
    )


@pytest.mark.gpu
def test_noise_cannot_be_captured() -> None:
    with pytest.raises(ConfigError, match="gradient noise is drawn"):
        train(build().to("cuda"), WORLD, CURRICULA["noise"], seeds=3, cuda_graph=True)


def _check_same(
    name: str, ways: Sequence[dict[str, Any]], *, rtol: float, atol: float
) -> None:
    ends, losses = [], []
    for way in ways:
        model = build().to(way.pop("device", "cuda"))
        losses.append(
            train(model, WORLD, CURRICULA[name], seeds=3, every=1, **way).losses
        )
        ends.append([value.cpu() for value in state(model)])
    assert_frame_equal(*losses, rel_tol=rtol, abs_tol=atol)
    if name == "edited":
        # One weight in 3,072 has a gradient that consists of rounding errors, from which
        # Adam makes a full step. On a CPU it also moves most if the initial values are
        # changed in their last digits.
        return
    for one, other in zip(*ends, strict=True):
        torch.testing.assert_close(one, other, rtol=rtol, atol=atol)


@pytest.mark.gpu
def test_a_step_is_captured_where_it_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    captured = Mock(wraps=CapturedUpdate)
    monkeypatch.setattr("inweights.training.phase_update.CapturedUpdate", captured)
    train(build().to("cuda"), WORLD, CURRICULA["noise"], seeds=3)
    assert not captured.called
    train(build().to("cuda"), WORLD, CURRICULA["full batch"], seeds=3)
    assert captured.called


@pytest.mark.gpu
@pytest.mark.filterwarnings("ignore:Synchronization debug mode:UserWarning")
@pytest.mark.parametrize("captured", [False, True])
def test_a_step_makes_the_cpu_wait_for_nothing(captured: bool) -> None:
    """From the sixth step on, torch raises an error for operations that would synchronise."""
    model = build().to("cuda")

    def guard(total: int) -> None:
        torch.cuda.set_sync_debug_mode("error" if 5 <= total < 11 else "default")

    try:
        train(
            model,
            WORLD,
            CURRICULA["full batch"],
            seeds=3,
            every=100,
            progress=guard,
            cuda_graph=captured,
        )
    finally:
        torch.cuda.set_sync_debug_mode("default")
