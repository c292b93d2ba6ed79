"""A resumed run equals an uninterrupted one, and damaged checkpoints are refused."""

from __future__ import annotations

import signal
import sys
import threading
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from tests.forks import Forks
from tests.parameters import mostly_slow
from tests.training.curricula import CURRICULA, WORLD, build, curriculum, same_bits
from tests.waiting import stamps, wait_for_a_write

from inweights.errors import RunError
from inweights.models import GPTConfig, Model
from inweights.probes import accuracy
from inweights.training import Checkpoint, Curriculum, Observer, Phase, train
from inweights.training.checkpoint import DamagedError
from inweights.training.loop import Result
from inweights.worlds import TwoHop


class InterruptedHereError(Exception):
    pass


def observers() -> list[Observer]:
    return [Observer("recall", lambda m: accuracy(m, WORLD), every=2)]


@cache
def uninterrupted(name: str) -> tuple[Model, Result]:
    """Return a model that was trained without interruption, and its records."""
    model = build()
    about: dict[str, Any] = {"seeds": [0, 1, 2], "every": 1, "observers": observers()}
    return model, train(model, WORLD, CURRICULA[name], **about)


@pytest.mark.fast_cases(4)
@pytest.mark.parametrize("name", CURRICULA)
@pytest.mark.parametrize("at", mostly_slow([1, 4, 9], (4).__eq__))
def test_resumed_equals_uninterrupted_bit_for_bit(
    name: str, at: int, tmp_path: Path
) -> None:
    whole, expected = uninterrupted(name)

    def stop(total: int) -> None:
        if total >= at:  # a phase that stops early is counted in full
            raise InterruptedHereError

    def checkpoint() -> Checkpoint:
        return Checkpoint(tmp_path / "state", key="k", every_steps=1)

    arguments: dict[str, Any] = {
        "seeds": [0, 1, 2],
        "every": 1,
        "observers": observers(),
    }
    with pytest.raises(InterruptedHereError):
        train(
            build(),
            WORLD,
            CURRICULA[name],
            progress=stop,
            checkpoint=checkpoint(),
            **arguments,
        )
    resumed = build()
    result = train(
        resumed, WORLD, CURRICULA[name], checkpoint=checkpoint(), **arguments
    )
    assert same_bits(whole, resumed)
    assert result.losses.equals(expected.losses)
    assert result.observed["recall"].equals(expected.observed["recall"])
    assert result.stopped == expected.stopped


def learn(folder: str, last: str = "none") -> None:
    """Train 400 steps with a checkpoint every three steps, in a process that is killed.

    After the step ``last`` it waits to be killed, so that it cannot finish before.
    """

    def progress(done: int) -> None:
        if last != "none" and done >= int(last):
            threading.Event().wait()

    torch.set_num_threads(1)
    # Processes that were forked earlier may have needed the compiler.
    for name in [name for name in sys.modules if name.startswith("torch._dynamo")]:
        del sys.modules[name]
    vars(torch).pop("_dynamo", None)
    world = TwoHop(n=4).build()
    model = GPTConfig(layers=2, width=16).build(
        vocabulary=len(world.vocabulary), seeds=[0, 1]
    )
    drawn = {"first_hop": 3, "second_hop+identity": 4}
    more = Phase(name="more", steps=200, batch=drawn, pooled=True, precision="bf16")
    phases = (Phase(steps=200, random_offset=True), more)
    checkpoint = Checkpoint(f"{folder}/state", key="k", every_steps=3)
    curriculum = Curriculum(phases=phases)
    train(
        model, world, curriculum, seeds=[0, 1], progress=progress, checkpoint=checkpoint
    )
    assert "torch._dynamo" not in sys.modules, (
        "half of a start is spent on a compiler not used"
    )
    end = {name: p.detach().contiguous() for name, p in model.named_parameters()}
    save_file(end, f"{folder}/end")


@pytest.mark.slow
def test_killed_at_any_moment_ends_alike(tmp_path: Path, forks: Forks) -> None:
    """A run that is killed several times during training ends bitwise the same."""
    ends = []
    for kills in (0, 4):
        folder = tmp_path / str(kills)
        folder.mkdir()
        for attempt in range(kills):
            last = 80 * (attempt + 1)
            before = stamps(folder, "state")
            process = forks.start("tests.training.test_checkpoints:learn", folder, last)
            wait_for_a_write(folder, "state", before, process.end)
            process.kill()
            assert process.wait() == -signal.SIGKILL
        process = forks.start("tests.training.test_checkpoints:learn", folder)
        assert process.wait() == 0, process.output
        ends.append((folder / "end").read_bytes())
    assert ends[0] == ends[1]


def test_checkpoints_of_others_and_damaged_ones_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "state"

    def run(key: str) -> None:
        checkpoint = Checkpoint(path, key=key, every_steps=2)
        train(build(), WORLD, curriculum(), seeds=[0, 1, 2], checkpoint=checkpoint)

    run("one")
    (tmp_path / "state.partial").write_bytes(b"half")
    run("one")
    with pytest.raises(RunError, match="belongs to another run"):
        run("two")
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(RunError, match="damaged"):
        run("one")


def test_one_bit_of_a_checkpoint_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "state"
    checkpoint = Checkpoint(path, key="one", every_steps=2)
    train(build(), WORLD, curriculum(), seeds=[0, 1, 2], checkpoint=checkpoint)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    # Also in the header: names, shapes and offsets of the tensors, and the state's origin.
    for place in [*range(0, 400, 3), *rng.integers(0, len(whole), 200).tolist()]:
        data = bytearray(whole)
        data[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(data)
        with pytest.raises(DamagedError, match="remove it to start again"):
            checkpoint.read()
    path.write_bytes(whole)
    assert checkpoint.read() is not None


def test_a_checkpoint_that_cannot_be_written_keeps_the_one_before(
    tmp_path, monkeypatch
) -> None:
    path = tmp_path / "state"
    arguments: dict[str, Any] = {
        "seeds": [0, 1, 2],
        "checkpoint": Checkpoint(path, key="k", every_steps=2),
    }
    train(build(), WORLD, curriculum(), **arguments)
    kept = path.read_bytes()

    def full(*args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    path.unlink()
    path.write_bytes(kept)
    with pytest.raises(RunError, match="No space left"):
        train(build(), WORLD, curriculum(steps=40), **arguments)
    assert path.read_bytes() == kept
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    "content", [b"", b"not a checkpoint", b"\x08" + bytes(7) + b"{}      "]
)
def test_a_file_that_is_no_checkpoint_is_refused_in_one_line(
    tmp_path, content: bytes
) -> None:
    path = tmp_path / "state"
    path.write_bytes(content)
    with pytest.raises(RunError, match="is damaged") as error:
        Checkpoint(path, key="k").read()
    assert len(str(error.value).splitlines()) == 1
    assert "remove it to start again" in str(error.value)
    assert path.read_bytes() == content  # the user decides
