"""Effects of an update: decay, frozen parameters, stopped runs and gradient noise."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tests.training.curricula import WORLD, build, curriculum, state

from inweights.config import identity as identity_of
from inweights.training import Optimizer, Phase, Stop, train
from inweights.training.steps.flat_parameters import FlatParameters
from inweights.training.steps.optimizers.fused import build_optimizer, state_of


def test_what_does_not_move_stays_under_weight_decay() -> None:
    model = build()
    before = dict(
        zip([n for n, _ in model.named_parameters()], state(model), strict=True)
    )
    decay = Optimizer(rate=1e-2, weight_decay=10.0)
    train(
        model,
        WORLD,
        curriculum(moves=("blocks.1.*",), optimizer=decay),
        seeds=[0, 1, 2],
    )
    for name, parameter in model.named_parameters():
        assert torch.equal(parameter, before[name]) == (
            not name.startswith("blocks.1.")
        ), name
        assert parameter.requires_grad


def test_what_is_frozen_stays_under_weight_decay() -> None:
    """All other parameters change, as if they had been listed one by one."""
    decay = Optimizer(rate=1e-2, weight_decay=10.0)
    ends = []
    for words in (
        {"freezes": ("tokens.*", "blocks.0.*")},
        {"moves": ("positions.*", "blocks.1.*", "norm.*", "head.*")},
    ):
        model = build()
        before = dict(
            zip([n for n, _ in model.named_parameters()], state(model), strict=True)
        )
        train(model, WORLD, curriculum(optimizer=decay, **words), seeds=[0, 1, 2])
        for name, parameter in model.named_parameters():
            frozen = name.startswith(("tokens.", "blocks.0."))
            assert torch.equal(parameter, before[name]) == frozen, name
        ends.append(state(model))
    assert all(torch.equal(one, other) for one, other in zip(*ends, strict=True))


def test_freezing_nothing_leaves_the_name_of_a_run() -> None:
    assert "freezes" not in identity_of(Phase())
    assert identity_of(Phase(freezes=("tokens.*",)))["freezes"] == ["tokens.*"]


def test_stopped_replicas_stand_still_while_others_go_on() -> None:
    rule = Stop(loss_below=2.0, every=1)
    plans = [
        curriculum(steps=30, optimizer=Optimizer(rate=rate), stop=rule)
        for rate in (1e-2, 1e-5)
    ]
    model = build([0, 1])
    seen: list[list[torch.Tensor]] = []
    result = train(
        model, WORLD, plans, seeds=[0, 1], progress=lambda _: seen.append(state(model))
    )
    stopped = result.stopped[0]
    assert 0 < stopped < 30
    assert result.stopped[1] == -1
    for before, after in zip(seen[stopped - 1 :], seen[stopped:], strict=False):
        for one, other in zip(before, after, strict=True):
            assert torch.equal(one[0], other[0])
        assert any(
            not torch.equal(a[1], b[1]) for a, b in zip(before, after, strict=True)
        )


def test_gains_and_biases_do_not_decay_unless_asked() -> None:
    """Without a gradient, a decay of one half halves the parameters that decay."""
    decayed: Any
    for decayed, vectors in (("matrices", 1.0), ("all", 0.5)):
        model = build([0])
        before = [p.detach().clone() for p in model.parameters()]
        settings = Optimizer(rate=0.5, weight_decay=1.0, decayed=decayed)
        flat = FlatParameters(model)
        build_optimizer(flat, [settings], flat.moving(("*",))).step()
        for (name, now), then in zip(model.named_parameters(), before, strict=True):
            spared = "norm" in name or name.endswith("bias")
            torch.testing.assert_close(
                now, then * (vectors if spared else 0.5), msg=name
            )


@pytest.mark.parametrize("decayed", ["matrices", "all"])
@pytest.mark.parametrize("moves", [("*",), ("blocks.*",)])
def test_what_decays_is_the_same_alone_and_in_company(decayed, moves) -> None:
    """The first update is bitwise equal, whatever the decay of other runs."""
    own = Optimizer(rate=1e-2, weight_decay=3.0, decayed=decayed)
    other = Optimizer(rate=1e-2, weight_decay=1.0)
    gradients = torch.randn(3, 20_000, generator=torch.Generator().manual_seed(0))
    ends = []
    for seeds, optimizers in (([7], [own]), ([5, 7, 8], [other, own, own])):
        model = build(seeds)
        flat = FlatParameters(model)
        optimizer = build_optimizer(flat, optimizers, flat.moving(moves))
        place = seeds.index(7)
        flat.gradients[place] = gradients[0, : flat.gradients.shape[1]]
        optimizer.step()
        ends.append({n: p[place].clone() for n, p in model.named_parameters()})
    assert all(torch.equal(ends[0][name], ends[1][name]) for name in ends[0])


def test_what_decays_is_named_where_anything_does() -> None:
    """Earlier runs, in which everything decayed, keep their key with "all"."""
    assert identity_of(Optimizer())["decayed"] == "matrices"
    assert "decayed" not in identity_of(Optimizer(decayed="all"))
    assert "decayed" not in identity_of(Optimizer(weight_decay=0.0))
    pair = [
        curriculum(optimizer=Optimizer(decayed=what)) for what in ("matrices", "all")
    ]
    assert pair[0].shape == pair[1].shape


def test_noise_is_a_share_of_each_replicas_gradient() -> None:
    flat = FlatParameters(build([0, 1]))
    flat.gradients[0], flat.gradients[1] = 1.0, -100.0
    flat.add_noise(0.5, [0, 1], 0, 3)
    noise = flat.gradients - torch.tensor([[1.0], [-100.0]])
    assert noise.std(1).tolist() == pytest.approx([0.5, 50.0], rel=0.05)
    before = flat.gradients[0].clone()
    flat.gradients[0] = 1.0
    flat.add_noise(0.5, [0, 1], 0, 4)
    assert not torch.equal(flat.gradients[0], before)


@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_who_has_columns_that_do_not_move_keeps_a_state_too(decay: float) -> None:
    """Ranks gather equally many matrices, and frozen tokens of a rank do not change."""
    model = build([0])
    flat = FlatParameters(model)
    moving = flat.moving(("*",), ("tokens.*",))
    frozen = flat.spans[flat.names.index("tokens.weight")]
    settings = [Optimizer(weight_decay=decay)]
    own, before = build_optimizer(flat, settings, moving, frozen), flat.values.clone()
    all_of_it = build_optimizer(flat, settings, moving)
    flat.gradients.zero_()
    own.step()
    assert torch.equal(flat.values, before)
    all_of_it.step()
    assert state_of(own, flat).keys() == state_of(all_of_it, flat).keys() != set()
