"""Count the kernels and synchronisations of a step on an accelerator, and measure its speed.

Kernels are counted without an accelerator, on torch's device ``meta``, which has shapes
but no numbers: code that reads a number, and thus would make a GPU synchronise, raises an
error there. Every operation other than a view is counted as one kernel. Three parts are
distinguished: making the batch, the forward and backward pass of model and loss, and the
rest (optimizer and bookkeeping).

On a GPU, steps per second are measured, eagerly and as a CUDA graph, and the share of the
speed of this device's fastest matrix product in the same precision. Milliseconds per step
of the path-star (5000, 5) at the paper's size are measured by the number of runs that
train together.

    python benchmarks/gpu_step.py [--replicas 64] [--json]
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import fields, is_dataclass, replace
from functools import partial
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

import inweights as iw
from inweights.experiments.engine.attempts.together import first_steps
from inweights.models.base import Model
from inweights.recipes import get_recipe
from inweights.runs import environment
from inweights.training.batches.batch import Batch
from inweights.training.batches.plans import Batches
from inweights.training.phase_update import compute_gradients, update_parameters
from inweights.training.steps.flat_parameters import FlatParameters
from inweights.training.steps.losses.loss import Loss
from inweights.training.steps.optimizers.fused import build_optimizer
from inweights.training.steps.recording.captured import CapturedUpdate
from inweights.worlds.world import World

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
DRAWN = {"first_hop": 8, "second_hop+identity": 16}
#: Name, phase, and the peak learning rates of the replicas.
CASES: tuple[tuple[str, iw.Phase, tuple[float, ...]], ...] = (
    ("full batch", iw.Phase(), (1e-3,)),
    ("minibatch", iw.Phase(batch=16), (1e-3,)),
    ("a rate each", iw.Phase(batch=16), (1e-3, 2e-3, 3e-3)),
    ("random offsets", iw.Phase(batch=16, random_offset=True), (1e-3,)),
    ("pooled, by role", iw.Phase(batch=DRAWN, pooled=True), (1e-3,)),
    ("bf16", iw.Phase(batch=16, precision="bf16"), (1e-3,)),
)


class Kernels(TorchDispatchMode):
    """Mode that counts operations other than views."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.names: Counter[str] = Counter()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> object:
        if not func.is_view and func.namespace == "aten":
            self.names[str(func)] += 1
        return func(*args, **(kwargs or {}))


@contextmanager
def kernels_on_meta() -> Iterator[None]:
    """Make torch treat ``meta`` as a device with fused optimizers and mixed precision."""
    devices = "_get_fused_kernels_supported_devices"
    with (
        patch(f"torch.optim.optimizer.{devices}", lambda: ["meta"]),
        patch("torch.autocast", lambda *_, **__: nullcontext()),
    ):
        yield


def to_meta(value: Any) -> Any:
    """Return the same object with all tensors on ``meta``."""
    if isinstance(value, Tensor):
        return value.to("meta")
    if isinstance(value, list | tuple):
        return type(value)(map(to_meta, value))
    if is_dataclass(value) and not isinstance(value, type):
        parts = {f.name: to_meta(getattr(value, f.name)) for f in fields(value)}
        moved = replace(value, **parts)
        moved.__dict__.update(
            {n: v for n, v in value.__dict__.items() if n not in parts}
        )
        return moved
    return value


def batches_on_meta(model: Model, world: World, phase: iw.Phase) -> Batches:
    """Return batches that were prepared on the CPU, since preparation may synchronise."""
    batches = Batches(model, [world], phase, range(model.replicas), 0)
    batches.at(0)  # so that everything that steps share exists
    for name, value in vars(batches).items():
        if name not in ("_model", "_phase", "_streams", "_orders", "_offsets"):
            setattr(batches, name, to_meta(value))
    batches._orders, batches._offsets = {}, None
    batches._device = torch.device("meta")
    return batches


def update_of(
    model: Model, phase: iw.Phase, rates: Sequence[float]
) -> tuple[Callable[[Batch], Tensor], torch.optim.Optimizer, Loss]:
    flat = FlatParameters(model)
    moving, loss = flat.moving(phase.moves), Loss(model, phase.precision)
    of = [rates[r * len(rates) // model.replicas] for r in range(model.replicas)]
    settings = [iw.Optimizer(kind=phase.optimizer.kind, rate=rate) for rate in of]
    optimizer = build_optimizer(flat, settings, moving)
    losses = partial(compute_gradients, loss, flat, moving)
    return partial(update_parameters, losses, flat, optimizer, None), optimizer, loss


def kernels(
    config: iw.GPTConfig,
    world: World,
    phase: iw.Phase,
    rates: Sequence[float],
    replicas: int,
) -> dict[str, Counter[str]]:
    """Return the number of kernels of a step by purpose.

    Raises:
        RuntimeError: A step reads a number from the device.
    """
    model = config.build(vocabulary=len(world.vocabulary), seeds=range(replicas))
    batches = batches_on_meta(model, world, phase)
    with kernels_on_meta():
        model = model.to("meta")
        update, _, loss = update_of(model, phase, rates)
        update(batches.at(0))  # the first step makes the optimizer's state
        with Kernels() as batch:
            inputs = batches.at(1)
        with Kernels() as arithmetic:
            torch.autograd.grad(
                loss(inputs).sum(), list(model.parameters()), allow_unused=True
            )
        with Kernels() as all_of_it:
            update(inputs)
    rest = all_of_it.names - arithmetic.names + Counter({"aten.sum of the losses": 1})
    return {"batch": batch.names, "model": arithmetic.names, "rest": rest}


def speed(
    config: iw.GPTConfig,
    world: World,
    phase: iw.Phase,
    rates: Sequence[float],
    replicas: int,
) -> dict[str, float]:
    """Return steps per second on a GPU, eager and captured, and the share of its peak speed."""
    said = {}
    for how in ("eager", "captured"):
        model = config.build(
            vocabulary=len(world.vocabulary), seeds=range(replicas)
        ).to("cuda")
        batches = Batches(model, [world], phase, range(replicas), 0)
        update, optimizer, _ = update_of(model, phase, rates)
        of = [group["lr"] for group in optimizer.param_groups]
        with FlopCounterMode(display=False) as counted:
            update(batches.at(0))
        if how == "captured":
            update = CapturedUpdate(update, optimizer, torch.device("cuda"))

        def one(at: int) -> None:
            for group, rate in zip(optimizer.param_groups, of, strict=True):  # noqa: B023  # now
                group["lr"] = rate
            update(batches.at(at))  # noqa: B023

        said[how] = 1 / timed(one, 200 if how == "captured" else 50)
    share = counted.get_total_flops() * said["captured"] / fastest(phase.precision)
    return {
        **said,
        "times as fast": said["captured"] / said["eager"],
        "share of peak": share,
    }


def star(
    replicas: int, *, captured: bool, scale: str = "paper", steps: int = 40
) -> dict[str, Any]:
    """Return milliseconds per step and memory of the first trial of Figure 34."""
    recipe, ends = get_recipe("geometric-memory/fig34"), [0.0]
    trial: Any = recipe.plan(recipe.scales[scale]).trials[0]
    world = trial.world.build(0)
    model = trial.model.build(vocabulary=len(world.vocabulary), seeds=replicas).to(
        DEVICE
    )
    if DEVICE == "cuda":
        torch.cuda.reset_peak_memory_stats()

    def clock(done: int) -> None:
        if done in (steps // 2, steps):
            if DEVICE == "cuda":
                torch.cuda.synchronize()
            ends.append(time.perf_counter())

    short = iw.Curriculum(phases=(first_steps(trial.learner.phases[0], steps),))
    iw.train(model, world, short, seeds=replicas, progress=clock, cuda_graph=captured)
    ms = 1e3 * (ends[2] - ends[1]) / (steps - steps // 2)
    row = {"how": "captured" if captured else "eager", "replicas": replicas, "ms": ms}
    return row | {
        "ms a replica": ms / replicas,
        "GiB": torch.cuda.max_memory_allocated() / 2**30,
    }


def timed(step: Callable[[int], object], steps: int) -> float:
    for at in range(10):
        step(at)
    torch.cuda.synchronize()
    started = time.perf_counter()
    for at in range(steps):
        step(10 + at)
    torch.cuda.synchronize()
    return (time.perf_counter() - started) / steps


def fastest(precision: str, size: int = 8192) -> float:
    """Return the operations per second of a large matrix product."""
    kind = torch.bfloat16 if precision == "bf16" else torch.float32
    one = torch.randn(size, size, device="cuda", dtype=kind)
    return 2 * size**3 / timed(lambda _: torch.mm(one, one), 20)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--replicas", type=int, default=64)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    world, rows = iw.TwoHop(n=20, complexity=2).build(0), []
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else ""
    for layers, width in ((8, 64), (12, 384)):
        config = iw.GPTConfig(layers=layers, width=width)
        for name, phase, rates in CASES:
            each = kernels(config, world, phase, rates, min(given.replicas, 8))
            counts = {part: sum(names.values()) for part, names in each.items()}
            row = {"layers": layers, "width": width, "case": name, **counts}
            if gpu:
                row |= {"replicas": given.replicas}
                row |= speed(config, world, phase, rates, given.replicas)
            rows.append(row)
            if not given.json:
                print(
                    "  ".join(
                        f"{k} {v:.3g}" if isinstance(v, float) else f"{k} {v}"
                        for k, v in row.items()
                    ),
                    flush=True,
                )
    ways = [(how, n) for how in (False, True) for n in (1, 2, 4)] if gpu else []
    stars = [star(n, captured=how) for how, n in ways]
    if given.json:
        said = {"environment": environment(), "gpu": gpu, "steps": rows, "star": stars}
        print(json.dumps(said, indent=2))
    elif gpu:
        print(*stars, sep="\n")
    else:
        print(
            "no GPU here: neither steps a second nor a share of its peak was measured"
        )


if __name__ == "__main__":
    main()
