"""One model trained by two processes, which communicate with gloo on a CPU."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from safetensors.torch import load_file, save_file
from tests.forks import Forks

from inweights.models import GPTConfig, Model
from inweights.training import (
    Checkpoint,
    Curriculum,
    Optimizer,
    Phase,
    Schedule,
    Stop,
    train,
)
from inweights.training.shards import Shards
from inweights.worlds import TwoHop

WORLD = TwoHop(n=4, complexity=2).build(seed=0)
SEEDS = [0, 1]
DRAWN = {"first_hop": 3, "second_hop+identity": 5}
CURRICULUM = Curriculum(
    phases=(
        Phase(
            name="all", steps=20, random_offset=True, schedule=Schedule(kind="cosine")
        ),
        Phase(name="some", steps=20, pooled=True, batch=DRAWN, freezes=("tokens.*",)),
        Phase(
            name="more",
            steps=10,
            batch=5,
            optimizer=Optimizer(kind="sgd", momentum=0.9),
        ),
    )
)
STOPS = Curriculum(phases=(Phase(steps=60, stop=Stop(loss_below=2.6, every=3)),))
#: Number of steps after which a training run is interrupted.
CUT = 31


class CutOffError(Exception):
    pass


class Plain(Shards):
    """Plain data parallelism: every rank sums all gradients and updates all columns."""

    def columns(self, count: int) -> tuple[int, int]:
        return 0, count

    def reduce(self, losses: torch.Tensor, gradients: torch.Tensor) -> None:
        dist.all_reduce(losses)
        dist.all_reduce(gradients)

    def gather(self, matrices: Mapping[str, torch.Tensor]) -> None:
        del matrices  # each rank has all columns


def build() -> Model:
    config = GPTConfig(layers=2, width=16, heads=2, tied=False)
    return config.build(vocabulary=len(WORLD.vocabulary), seeds=SEEDS)


def learn(folder: Path, name: str, curriculum: Curriculum, **more: Any) -> None:
    """Train, and store parameters and losses under a name."""
    model = build()
    result = train(model, WORLD, curriculum, seeds=SEEDS, every=1, **more)
    end = {key: value.detach().contiguous() for key, value in model.named_parameters()}
    end["losses"] = torch.tensor(result.losses["loss"].to_list())
    end["stopped"] = torch.tensor(result.stopped)
    if not dist.is_initialized() or dist.get_rank() == 0:
        save_file(end, folder / name)


def cut_off(folder: Path, name: str, **more: Any) -> Checkpoint:
    """Train up to a step, and return the checkpoint."""

    def stop(total: int) -> None:
        if total == CUT:
            raise CutOffError

    def checkpoint() -> Checkpoint:
        return Checkpoint(folder / name, key="k", every_steps=5)

    with pytest.raises(CutOffError):
        train(
            build(),
            WORLD,
            CURRICULUM,
            seeds=SEEDS,
            every=1,
            progress=stop,
            checkpoint=checkpoint(),
            **more,
        )
    return checkpoint()


def work(place: str, rank: str) -> None:
    """Run the program of each of the two processes."""
    torch.set_num_threads(1)
    folder, meeting = Path(place), f"file://{place}/meeting"
    dist.init_process_group("gloo", init_method=meeting, world_size=2, rank=int(rank))
    learn(folder, "sharded", CURRICULUM, shards=Shards())
    learn(folder, "plain", CURRICULUM, shards=Plain())
    learn(folder, "stops on two", STOPS, shards=Shards())
    of_two = cut_off(folder, "of two", shards=Shards())
    learn(folder, "two, then two", CURRICULUM, shards=Shards(), checkpoint=of_two)
    of_one = Checkpoint(folder / "of one", key="k")
    learn(folder, "one, then two", CURRICULUM, shards=Shards(), checkpoint=of_one)
    dist.destroy_process_group()


@pytest.fixture(scope="module")
def ends(tmp_path_factory: pytest.TempPathFactory, forks: Forks):
    """Return the parameters and losses at the end of each training run, by name."""
    folder = tmp_path_factory.mktemp("ranks")
    cut_off(folder, "of one")
    work = "tests.training.test_shards:work"
    processes = [forks.start(work, folder, rank) for rank in range(2)]
    learn(folder, "one", CURRICULUM)
    learn(folder, "stops on one", STOPS)
    assert [process.wait() for process in processes] == [0, 0]
    of_two = Checkpoint(folder / "of two", key="k")
    learn(folder, "two, then one", CURRICULUM, checkpoint=of_two)
    return lambda name: load_file(folder / name)


def assert_near(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> None:
    for name, value in one.items():
        torch.testing.assert_close(value, other[name], atol=1e-4, rtol=1e-4, msg=name)


@pytest.mark.slow
def test_two_processes_train_what_one_does(ends) -> None:
    assert_near(ends("sharded"), ends("one"))
    assert_near(ends("stops on two"), ends("stops on one"))
    assert (ends("stops on one")["stopped"] >= 0).any()


@pytest.mark.slow
def test_a_sharded_optimizer_steps_as_a_whole_one_does(ends) -> None:
    """Results are bitwise equal, also after resuming from a checkpoint."""
    whole = ends("plain")
    for name in ("sharded", "two, then two"):
        assert all(
            torch.equal(value, whole[key]) for key, value in ends(name).items()
        ), name


@pytest.mark.slow
@pytest.mark.parametrize("name", ["one, then two", "two, then one"])
def test_a_training_goes_on_with_another_number_of_processes(name: str, ends) -> None:
    assert_near(ends(name), ends("one"))
