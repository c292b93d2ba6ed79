"""Invalid curricula raise errors, and diverging runs are reported."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.training.curricula import WORLD, V, build, curriculum

from inweights.errors import ConfigError, DataError, RunError
from inweights.models import EmbMLPConfig, GPTConfig
from inweights.training import Curriculum, Optimizer, Phase, Schedule, Stop, train


def test_bad_curricula_are_refused() -> None:
    with pytest.raises(DataError, match="did you mean 'first_hop'"):
        train(build(), WORLD, curriculum(roles={"firsthop": 1.0}), seeds=[0, 1, 2])
    with pytest.raises(ConfigError, match="unknown parameter"):
        train(build(), WORLD, curriculum(moves=("block.*",)), seeds=[0, 1, 2])
    with pytest.raises(ConfigError, match="trains no parameter"):
        curriculum(moves=())
    with pytest.raises(ConfigError, match="trains no parameter"):
        curriculum(moves=("head.*",), freezes=("head.*",))
    with pytest.raises(ConfigError, match=r"did you mean 'tokens\.weight'"):
        train(build(), WORLD, curriculum(freezes=("token.*",)), seeds=[0, 1, 2])
    # The diverged run keeps its parameters.
    with pytest.raises(ConfigError, match="unknown parameter"):
        train(
            build(),
            WORLD,
            curriculum(moves=("head.*",), freezes=("tokens.*",)),
            seeds=[0, 1, 2],
        )
    with pytest.raises(ConfigError, match=r"no parameter is trained.*head"):
        train(
            build(),
            WORLD,
            curriculum(moves=("head.*",), freezes=("head.w*",)),
            seeds=[0, 1, 2],
        )
    later = Phase(name="later", freezes=("token.*",))
    steps: list[int] = []
    # The error is raised before the first phase.
    with pytest.raises(ConfigError, match="unknown parameter"):
        train(
            build(),
            WORLD,
            Curriculum(phases=(Phase(steps=2), later)),
            seeds=[0, 1, 2],
            progress=steps.append,
        )
    assert not steps
    with pytest.raises(ConfigError, match="steps must be at least 0"):
        curriculum(steps=-1)
    for wrong in (
        lambda: curriculum(loss=()),
        lambda: curriculum(roles={"first_hop": float("nan")}),
        lambda: Stop(every=0),
        lambda: Schedule(warmup=-1),
        lambda: Optimizer(rate=float("inf")),
        lambda: Optimizer(weight_decay=float("nan")),
        lambda: Optimizer(momentum=-1.0),
        lambda: Optimizer(betas=(2.0, 0.9)),
        lambda: Optimizer(epsilon=0.0),
        lambda: Optimizer(noise=-0.1),
        lambda: train(build(), WORLD, curriculum(), seeds=[0, 1, 2], every=0),
    ):
        with pytest.raises(ConfigError):
            wrong()
    with pytest.raises(ConfigError, match="may differ only in the learning rate"):
        train(
            build([0, 1]),
            WORLD,
            [curriculum(steps=3), curriculum(steps=4)],
            seeds=[0, 1],
        )
    with pytest.raises(ConfigError, match="expected one seed per replica"):
        train(build(), WORLD, curriculum(), seeds=[0])
    with pytest.raises(ConfigError, match="'loss' contains 1"):
        train(build(), WORLD, curriculum(loss=(1,)), seeds=[0, 1, 2])


def test_settings_without_effect_are_refused() -> None:
    cases: list[tuple[Callable[[], object], str]] = [
        (lambda: Optimizer(momentum=0.9), r"optimizer\.momentum .* kind = 'adamw'"),
        (
            lambda: Optimizer(kind="sgd", betas=(0.5, 0.9)),
            r"optimizer\.betas .* kind = 'sgd'",
        ),
        (lambda: Optimizer(kind="sgd", epsilon=1e-3), r"optimizer\.epsilon .* 'sgd'"),
        (lambda: Schedule(final=0.1), r"schedule\.final .* kind = 'constant'"),
    ]
    for make, text in cases:
        with pytest.raises(ConfigError, match=f"{text}; leave it out"):
            make()


def test_random_offset_without_positions_is_refused() -> None:
    model = EmbMLPConfig().build(vocabulary=V, seeds=[0])
    unplaced = build([0], GPTConfig(layers=1, width=8, positions="none"))
    for lost in (model, unplaced):
        with pytest.raises(ConfigError, match="no effect"):
            train(lost, WORLD, curriculum(random_offset=True), seeds=[0])
    short = build([0], GPTConfig(layers=1, width=8, context=1))
    with pytest.raises(ConfigError, match="longer than the model"):
        train(short, WORLD, curriculum(random_offset=True), seeds=[0])


def test_divergence_stops_the_run() -> None:
    wild = Optimizer(kind="sgd", rate=1e30, weight_decay=0.0)
    with pytest.raises(RunError, match="lower the rate"):
        train(build(), WORLD, curriculum(optimizer=wild), seeds=[0, 1, 2], every=1)
