"""The simulated accelerator, and on it the contract of models and saved models."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.accelerator.shared import (
    ATOL,
    DEVICE,
    PRETENDED,
    RTOL,
    accelerator,
    counted,
    counts,
)
from tests.model_case import ModelCase
from tests.models import test_mamba, test_models, test_one_layer, test_save, test_tiny  # noqa: F401

import inweights as iw
from inweights.models import model_names
from inweights.models.outside.module_configs import WrapConfig
from inweights.models.registry import model_kind

__all__ = ["accelerator"]

# --- the device itself


@counts
@pytest.mark.parametrize(
    "wrong",
    [
        lambda x: x + torch.ones(3),
        lambda x: torch.where(x > 0, x, torch.ones(3)),
        lambda x: x[torch.tensor([0])],
        lambda x: x.__setitem__(0, torch.tensor(1.0)),
        lambda x: x.copy_(torch.ones(3)),
        lambda x: torch.ones(3).copy_(x),
        lambda x: torch.ones(3).index_select(0, x.long()),
        lambda x: x.numpy(),
    ],
)
def test_it_refuses_what_is_elsewhere(wrong: Callable[[torch.Tensor], object]) -> None:
    with pytest.raises(RuntimeError, match=r"'pretend' got a tensor|numpy"):
        wrong(torch.ones(3, device=DEVICE))


@counts
@pytest.mark.parametrize(
    "ask",
    [
        lambda x: x.sum().item(),
        lambda x: float(x[0]),
        lambda x: bool((x > 0).all()),
        lambda x: x.tolist(),
        lambda x: x.cpu(),
        lambda x: x.to("cpu", torch.float64),
        lambda x: x.nonzero(),
        lambda x: x[x > 0],
        lambda x: x.unique(),
        lambda x: torch.equal(x, x),
        lambda x: x.__setitem__(x > 0, 2 * x),
    ],
)
def test_it_counts_what_waits(ask: Callable[[torch.Tensor], object]) -> None:
    x = torch.tensor([1.0, 2.0, 3.0], device=DEVICE)
    with counted() as seen:
        ask(x)
    assert seen.waits.total() == 1


@counts
def test_it_counts_no_wait_where_there_is_none() -> None:
    with counted() as seen:
        x = torch.arange(3.0).to(DEVICE).requires_grad_()
        y = (x.view(3, 1) * 2 + torch.tensor(1.0))[x.detach().long()]
        y.sum().backward()
        y.detach()[y > 0] = 0.0
    assert (y.device.type, seen.copies, seen.waits) == (
        DEVICE,
        {"to the device": 1},
        {},
    )
    assert seen.kernels["aten.mul.Tensor"] == 2  # forwards and backwards


# --- models


class OnAccelerator:
    """Tests that extend the contract of a model."""

    device = DEVICE
    # The first steps suffice to show on which device a tensor is. On the simulated
    # device they are slow, and sums are those of the CPU.
    steps = 3 if PRETENDED else 20

    if PRETENDED:  # on_training.py tests every optimizer with one architecture

        @pytest.mark.parametrize("kind", ["adamw"])
        def test_replicas_train_as_single_models_do(self: Any, kind: Any) -> None:
            ModelCase.test_replicas_train_as_single_models_do(self, kind)

    @torch.no_grad()
    def test_it_says_what_it_says_on_the_cpu(self: Any) -> None:
        model, tokens = self.build(), self.tokens(4, 3)
        said = model(tokens)
        assert said.device.type == DEVICE
        torch.testing.assert_close(
            said.cpu(), model.to("cpu")(tokens.cpu()), atol=ATOL, rtol=RTOL
        )


for case in ModelCase.__subclasses__():
    globals()[case.__name__] = type(case.__name__, (OnAccelerator, case), {})


def test_every_architecture_has_a_case() -> None:
    cases = {type(case.config) for case in ModelCase.__subclasses__()}
    assert cases == {model_kind(name) for name in model_names()} | {WrapConfig}


@pytest.mark.parametrize("kind", model_names())
def test_a_model_is_saved_as_on_the_cpu(kind: str, tmp_path: Path) -> None:
    model = test_save.build(kind)
    there = iw.save_model(
        test_save.build(kind).to(DEVICE), tmp_path / "there.safetensors"
    )
    here = iw.save_model(model, tmp_path / "here.safetensors")
    assert there.read_bytes() == here.read_bytes()
    again = iw.load_model(there).to(DEVICE)
    assert test_save.same(again.to("cpu"), model)
