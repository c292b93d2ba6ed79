"""Contracts of models, training, probes, files and sweeps on the pretend accelerator.

``test_accelerator.py`` runs this in a process of its own; by hand it is
``pytest tests/accelerator/on_pretend.py``. Kernels are those of the CPU, so that results are the same
up to the order of sums: fp32 rounds each of them by 6e-8, and they have a thousand terms at most.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import torch
from polars.testing import assert_frame_equal
from tests.accelerator.pretend import NAME, Accelerator, counted
from tests.model_case import ModelCase
from tests.models import test_mamba, test_models, test_one_layer, test_save, test_tiny  # noqa: F401
from tests.probes.test_graph_probes import OF_GRAPHS, RING
from tests.probes.test_inside import OF_THE_INSIDE
from tests.probes.test_paths import OF_PATHS
from tests.probes.test_paths import WORLDS as STARS
from tests.probes.test_probes import OF_MODELS, OF_OPTIMA
from tests.training import curricula, test_checkpoints

import inweights as iw
from inweights import probes
from inweights.models import Node2VecConfig, TinyNNConfig, model_names
from inweights.training import Checkpoint, train
from inweights.worlds import Analogy, Graph, TwoHop

CLOSE: dict[str, float] = {"atol": 1e-5, "rtol": 1e-4}


@pytest.fixture(autouse=True)
def accelerator() -> Iterator[None]:
    with Accelerator():
        yield


# --- the device itself


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
    with pytest.raises(RuntimeError, match="'pretend' got a tensor|numpy"):
        wrong(torch.ones(3, device=NAME))


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
    x = torch.tensor([1.0, 2.0, 3.0], device=NAME)
    with counted() as seen:
        ask(x)
    assert seen.waits.total() == 1


def test_it_counts_no_wait_where_there_is_none() -> None:
    with counted() as seen:
        x = torch.arange(3.0).to(NAME).requires_grad_()
        y = (x.view(3, 1) * 2 + torch.tensor(1.0))[x.detach().long()]
        y.sum().backward()
        y.detach()[y > 0] = 0.0
    assert (y.device.type, seen.copies, seen.waits) == (NAME, {"to the device": 1}, {})
    assert seen.kernels["aten.mul.Tensor"] == 2  # forwards and backwards


# --- models


class OnPretend:
    """Added to the contract of a model."""

    device = NAME

    @torch.no_grad()
    def test_it_says_what_it_says_on_the_cpu(self: Any) -> None:
        model, tokens = self.build(), self.tokens(4, 3)
        said = model(tokens)
        assert said.device.type == NAME
        torch.testing.assert_close(said.cpu(), model.to("cpu")(tokens.cpu()), **CLOSE)


for case in ModelCase.__subclasses__():
    slow = pytest.mark.slow(type(case.__name__, (OnPretend, case), {}))
    globals()[case.__name__] = slow


@pytest.mark.parametrize("case", ModelCase.__subclasses__())
def test_every_model_runs(case: type[Any]) -> None:
    """The rest of the contract is in the slow tier."""
    type(case.__name__, (OnPretend, case), {})().test_it_says_what_it_says_on_the_cpu()


@pytest.mark.parametrize("kind", model_names())
def test_a_model_is_saved_as_on_the_cpu(kind: str, tmp_path: Path) -> None:
    model = test_save.build(kind)
    there = iw.save_model(test_save.build(kind).to(NAME), tmp_path / "there.safetensors")
    here = iw.save_model(model, tmp_path / "here.safetensors")
    assert there.read_bytes() == here.read_bytes()
    again = iw.load_model(there).to(NAME)
    assert test_save.same(again.to("cpu"), model)


# --- training


def both(table: pl.DataFrame, other: pl.DataFrame, tolerance: float = CLOSE["rtol"]) -> None:
    assert_frame_equal(table, other, rel_tol=tolerance, abs_tol=CLOSE["atol"])


@pytest.mark.parametrize("name", curricula.CURRICULA)
def test_it_trains_as_a_cpu_does(name: str) -> None:
    ends, losses = [], []
    for device in ("cpu", NAME):
        model = curricula.build().to(device)
        result = train(model, curricula.WORLD, curricula.CURRICULA[name], seeds=3, every=1)
        losses.append(result.losses)
        ends.append([value.cpu() for value in curricula.state(model)])
    if "bf16" in name:  # rounded as autocast does, and not as the CPU's emulation: 8 bits
        both(losses[0].filter(step=0), losses[1].filter(step=0), tolerance=2**-8)
        return
    both(*losses)
    for one, other in zip(*ends, strict=True):
        torch.testing.assert_close(one, other, **CLOSE)


def test_rates_of_their_own_train_as_on_a_cpu() -> None:
    """Off the CPU one kernel steps replicas of different rates and decays.

    Adam would divide by the size of gradients that are 0 by symmetry, and make much of rounding.
    """
    ends = []
    settings = [
        iw.Optimizer(kind="sgd", rate=rate, weight_decay=decay, momentum=0.9)
        for rate, decay in ((0.1, 0.01), (0.3, 0.0))
    ]
    for device in ("cpu", NAME):
        model = curricula.build(seeds=(0, 1)).to(device)
        plans = [curricula.curriculum(optimizer=one) for one in settings]
        train(model, curricula.WORLD, plans, seeds=2)
        ends.append([value.cpu() for value in curricula.state(model)])
    for one, other in zip(*ends, strict=True):
        torch.testing.assert_close(one, other, **CLOSE)


@pytest.mark.parametrize("changes", [{}, {"batch": 5}], ids=["full batch", "minibatches"])
def test_training_waits_once_for_each_record_of_the_loss(changes: dict[str, Any]) -> None:
    """0.05 waits a step, as the loss is recorded every 20; one more in the loop would be 1.05.

    Steps 40 to 79 are counted, without what sets a phase up and ends it.
    """
    waits, copies = [], []
    for steps in (40, 80):
        model = curricula.build().to(NAME)
        with counted() as seen:
            train(model, curricula.WORLD, curricula.curriculum(steps=steps, **changes), seeds=3)
        waits.append(seen.waits)
        copies.append(seen.copies["to the device"])
    assert waits[1] - waits[0] == {"copy from the device": 40 / 20}
    # The rows that stopped go there with each record, and the order of facts with each epoch.
    assert copies[1] - copies[0] < 40


@pytest.mark.parametrize("name", curricula.CURRICULA)
def test_resumed_equals_uninterrupted(name: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(test_checkpoints, "build", lambda: curricula.build().to(NAME))
    test_checkpoints.test_resumed_equals_uninterrupted_bit_for_bit(name, 4, tmp_path)


def test_a_checkpoint_of_a_device_goes_on_on_the_cpu(tmp_path: Path) -> None:
    plan, ends = curricula.CURRICULA["minibatches"], []

    def stop(total: int) -> None:
        if total == 4:
            raise test_checkpoints.InterruptedHereError

    for first, second in ((NAME, "cpu"), ("cpu", NAME)):
        kept = Checkpoint(tmp_path / first, key="k", every_steps=1)
        with pytest.raises(test_checkpoints.InterruptedHereError):
            model = curricula.build().to(first)
            train(model, curricula.WORLD, plan, seeds=3, checkpoint=kept, progress=stop)
        model = curricula.build().to(second)
        train(model, curricula.WORLD, plan, seeds=3, checkpoint=kept)
        ends.append([value.cpu() for value in curricula.state(model)])
    for one, other in zip(*ends, strict=True):
        torch.testing.assert_close(one, other, **CLOSE)


# --- probes

TWO_HOP = [TwoHop(n=4, complexity=2, maps="permutation").build(seed) for seed in (1, 2)]
ANALOGIES = [Analogy(n=6, categories=3, maps="permutation").build(seed) for seed in (1, 2)]
GPT = iw.GPTConfig(layers=2, width=16, heads=2, context=8)
LOOKS: dict[Any, tuple[Any, Any]] = {
    **dict.fromkeys((*OF_MODELS, *OF_THE_INSIDE), (GPT, TWO_HOP)),
    **dict.fromkeys(OF_PATHS, (GPT, STARS)),
    **dict.fromkeys(OF_GRAPHS, (TinyNNConfig(width=12), RING)),
    **dict.fromkeys(
        (probes.agreement, probes.arrangement, probes.snapshot), (TinyNNConfig(width=12), RING)
    ),
    **dict.fromkeys(OF_OPTIMA, (iw.EmbMLPConfig(width=16), TWO_HOP[0])),
    probes.resemblance: (GPT, ANALOGIES),
}


def test_every_probe_of_models_is_here() -> None:
    of_models = {
        name
        for name in probes.__all__
        if list(inspect.signature(getattr(probes, name)).parameters)[:2] == ["model", "worlds"]
    }
    assert {probe.__name__ for probe in LOOKS} == of_models


@pytest.mark.parametrize("probe", LOOKS, ids=lambda probe: probe.__name__)
def test_a_probe_sees_what_it_sees_on_the_cpu(probe: Any) -> None:
    config, worlds = LOOKS[probe]
    first = worlds[0] if isinstance(worlds, list) else worlds
    model = config.build(
        vocabulary=len(first.vocabulary), seeds=2, candidates=first.outputs.tolist()
    )
    expected = probe(model, worlds)
    both(probe(model.to(NAME), worlds), expected)


# --- sweeps


@pytest.mark.parametrize(
    ("world", "model", "learner"),
    [
        (TwoHop(n=3), iw.GPTConfig(layers=1, width=8), iw.Curriculum(phases=(iw.Phase(steps=3),))),
        (Graph(shape="cycle", nodes=5), Node2VecConfig(width=4), iw.Descent(steps=3)),
        (TwoHop(n=3, identity=True), None, iw.Optimum()),
    ],
    ids=["curriculum", "descent", "optimum"],
)
def test_a_sweep_says_what_it_says_on_the_cpu(
    world: Any, model: Any, learner: Any, tmp_path: Path
) -> None:
    study: dict[str, Any] = {"world": world, "model": model, "learner": learner, "seeds": 2}
    tables = {
        device: iw.sweep(**study, runs=tmp_path / device, device=device, progress=False)
        for device in ("cpu", NAME)
    }
    both(*tables.values())
