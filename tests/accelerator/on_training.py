"""Training, checkpoints and the number of synchronisations on the simulated accelerator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from tests.accelerator.shared import (
    ATOL,
    DEVICE,
    PRETENDED,
    RTOL,
    TWO_HOP,
    accelerator,
    both,
    counted,
    counts,
    repeats,
)
from tests.training import curricula, test_checkpoints

import inweights as iw
from inweights.training import Checkpoint, train
from inweights.training.steps.losses import loss as losses
from inweights.training.steps.losses.cross_entropy import CHUNK_LOGITS

__all__ = ["accelerator"]

#: Adam would divide by gradients that are 0 by symmetry, which amplifies rounding errors.
RATES = [
    curricula.curriculum(
        optimizer=iw.Optimizer(kind="sgd", rate=rate, weight_decay=decay, momentum=0.9)
    )
    for rate, decay in ((0.1, 0.01), (0.3, 0.0))
]
#: Name, model, worlds and curricula of each training run, with two replicas.
WAYS: dict[str, tuple[Any, Any, Any]] = {
    **{
        name: (curricula.GPT, curricula.WORLD, plan)
        for name, plan in curricula.CURRICULA.items()
    },
    "rates of their own": (curricula.GPT, curricula.WORLD, RATES),
    "worlds of their own": (curricula.GPT, TWO_HOP, curricula.curriculum(batch=5)),
    "dropout": (
        iw.GPTConfig(layers=1, width=8, dropout=0.2),
        curricula.WORLD,
        RATES[0],
    ),
    "logits in chunks": (curricula.GPT, curricula.WORLD, RATES[0]),
}

#: What is resumed: all that draws, stops, edits or has another precision. What differs
#: from these in the loss, the optimizer or what moves keeps nothing else on the device.
RESUMED = ("minibatches", "edited", "pooled, by role, bf16", "noise", "stops")


@pytest.mark.parametrize("name", WAYS)
def test_it_trains_as_a_cpu_does(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if "chunks" in name:
        monkeypatch.setattr(losses, "MAX_LOGITS", 0)
        monkeypatch.setitem(CHUNK_LOGITS, "cuda", 2 * curricula.V * 4)
    (config, worlds, plan), ends, tables = WAYS[name], [], []
    for device in ("cpu", DEVICE):
        model = curricula.build((0, 1), config).to(device)
        tables.append(train(model, worlds, plan, seeds=2, every=1).losses)
        ends.append([value.cpu() for value in curricula.state(model)])
    if (
        "bf16" in name
    ):  # the CPU's kernels round them at other places; compared at the start only
        both(tables[0].filter(step=0), tables[1].filter(step=0), 2**-8)
        return
    both(tables[0], tables[1])
    if (
        not PRETENDED
    ):  # tests/training/test_gpu_step.py compares the weights on a real GPU
        return
    for one, other in zip(*ends, strict=True):
        torch.testing.assert_close(one, other, atol=ATOL, rtol=RTOL)


@counts
@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({}, id="full batch"),
        pytest.param({"batch": 5, "random_offset": True}, id="minibatches"),
        pytest.param({"batch": {"first_hop": 3}, "pooled": True}, id="pooled"),
    ],
)
def test_training_waits_once_for_each_record_of_the_loss(
    changes: dict[str, Any],
) -> None:
    """A step waits 0.05 times on average, since the loss is recorded every 20 steps.

    One more synchronisation in the loop would give 1.05. Steps 20 to 39 are counted,
    without the beginning and the end of the phase.
    """
    waits, copies = [], []
    for steps in (20, 40):
        model = curricula.build(config=iw.GPTConfig(layers=1, width=8)).to(DEVICE)
        with counted() as seen:
            train(
                model,
                curricula.WORLD,
                curricula.curriculum(steps=steps, **changes),
                seeds=3,
            )
        waits.append(seen.waits)
        copies.append(seen.copies["to the device"])
    assert waits[1] - waits[0] == {"copy from the device": 1}
    # The indices of stopped runs are copied with each record, and the order of facts with
    # each epoch.
    assert copies[1] - copies[0] < 20


@repeats
@pytest.mark.parametrize("name", RESUMED)
def test_resumed_equals_uninterrupted(
    name: str, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setattr(test_checkpoints, "build", lambda: curricula.build().to(DEVICE))
    test_checkpoints.test_resumed_equals_uninterrupted_bit_for_bit(name, 4, tmp_path)


def test_a_checkpoint_of_a_device_goes_on_on_the_cpu(tmp_path: Path) -> None:
    plan, ends = curricula.CURRICULA["minibatches"], []

    def stop(total: int) -> None:
        if total == 4:
            raise test_checkpoints.InterruptedHereError

    for first, second in ((DEVICE, "cpu"), ("cpu", DEVICE)):
        kept = Checkpoint(tmp_path / first, key="k", every_steps=1)
        model = curricula.build().to(first)
        with pytest.raises(test_checkpoints.InterruptedHereError):
            train(model, curricula.WORLD, plan, seeds=3, checkpoint=kept, progress=stop)
        model = curricula.build().to(second)
        train(model, curricula.WORLD, plan, seeds=3, checkpoint=kept)
        ends.append([value.cpu() for value in curricula.state(model)])
    for one, other in zip(*ends, strict=True):
        torch.testing.assert_close(one, other, atol=ATOL, rtol=RTOL)
