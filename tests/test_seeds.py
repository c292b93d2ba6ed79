"""Random streams: named counters that depend only on their name and the root seed."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch

from inweights.errors import ConfigError
from inweights.seeds import (
    DATA_ORDER,
    EVALUATION,
    INITIALISATION,
    WORLD,
    Streams,
    as_seeds,
)

NAMES = (WORLD, INITIALISATION, DATA_ORDER, EVALUATION)


def test_streams_do_not_depend_on_the_order_of_asking() -> None:
    forward = {name: Streams(3).seed(name) for name in NAMES}
    streams = Streams(3)
    backward = {}
    for name in reversed(NAMES):
        streams.numpy(name).random(100)
        streams.torch(name).seed()
        backward[name] = streams.seed(name)
    assert forward == backward
    assert len(set(forward.values())) == len(NAMES)


def test_every_call_starts_its_stream_anew() -> None:
    streams = Streams(3)
    np.testing.assert_array_equal(
        streams.numpy(WORLD).random(9), streams.numpy(WORLD).random(9)
    )
    one, other = (torch.randn(9, generator=streams.torch(WORLD)) for _ in range(2))
    assert torch.equal(one, other)


def test_no_global_generator_is_touched() -> None:
    before = torch.get_rng_state()
    state = np.random.get_state(legacy=False)["state"]["key"].copy()  # noqa: NPY002
    Streams(3).numpy(WORLD).random(5)
    torch.randn(5, generator=Streams(3).torch(WORLD))
    assert torch.equal(torch.get_rng_state(), before)
    after = np.random.get_state(legacy=False)["state"]["key"]  # noqa: NPY002
    np.testing.assert_array_equal(after, state)


@pytest.mark.parametrize("root", [-1, 2**63, 1.5, "1", None])
def test_only_integers_in_range_are_seeds(root: Any) -> None:
    with pytest.raises(ConfigError, match="seed must be"):
        Streams(root)


@pytest.mark.parametrize("seeds", [0, -1, [], None, 2.5])
def test_without_a_number_or_a_sequence_there_are_no_seeds(seeds: Any) -> None:
    with pytest.raises(ConfigError, match="seeds must be a number of at least 1"):
        as_seeds(seeds)


def test_paths_are_not_glued_together() -> None:
    paths = [
        ("a", "bc"),
        ("ab", "c"),
        ("a", "b", "c"),
        ("abc",),
        ("a", 1, 23),
        ("a", 12, 3),
    ]
    assert len({Streams(0).seed(*path) for path in paths}) == len(paths)
    assert Streams(1).seed("1") != Streams(11).seed()


@pytest.mark.parametrize("root", [0, 1, 2**63 - 1])
def test_seeds_fit_every_generator(root: int) -> None:
    seeds = [Streams(root).seed(WORLD, i) for i in range(200)]
    assert all(0 <= seed < 2**63 for seed in seeds)
    assert len(set(seeds)) == 200


def test_seeds_stay_the_same_from_one_release_to_the_next() -> None:
    """A change here changes all stored numbers and must be mentioned in CHANGELOG.md."""
    assert Streams(0).seed(WORLD) == 8335175942546782012
    assert Streams(7).seed(DATA_ORDER, 1, "order", 0, 2) == 752274878452958105


def test_seeds_do_not_depend_on_the_process() -> None:
    """Python's hash of a string differs between processes; ours must not."""
    script = "from inweights.seeds import Streams; print(Streams(0).seed('world'))"
    said = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert said == {f"{Streams(0).seed(WORLD)}\n"}


def test_a_seed_is_not_negative() -> None:
    with pytest.raises(ValueError, match="at least 0, got -1"):
        Streams(-1)
