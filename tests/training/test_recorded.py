"""Steps that replay a recording give the same numbers as steps computed normally."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tests.training.curricula import (
    CURRICULA,
    GPT,
    WORLD,
    V,
    build,
    curriculum,
    same_bits,
)

from inweights.models import (
    EmbMLP,
    EmbMLPConfig,
    GPTConfig,
    MambaConfig,
    Model,
    OneLayerConfig,
    TinyNNConfig,
)
from inweights.training import phase_update, train
from inweights.training.steps.recording.kernels import Kernels, NotRecordable
from inweights.training.steps.recording.recorded import RecordedLosses
from inweights.worlds import TwoHop

pytestmark = pytest.mark.usefixtures("one_thread")

CONFIGS = (
    GPTConfig(layers=2, width=16, heads=2),
    GPTConfig(layers=1, width=20, heads=2, context=7, attention="uniform", norm=False),
    EmbMLPConfig(width=17),
    MambaConfig(layers=1, width=5, state=4),
    TinyNNConfig(width=8),
    OneLayerConfig(width=48, hidden=3, mlp="relu"),
)


@pytest.fixture
def recorders(monkeypatch: pytest.MonkeyPatch) -> list[RecordedLosses]:
    """Collect the recordings of training runs, which record even in short phases."""
    made: list[RecordedLosses] = []

    def recorded(*args: Any) -> RecordedLosses:
        made.append(RecordedLosses(*args))
        return made[-1]

    monkeypatch.setattr(phase_update, "MIN_STEPS_RECORDED", 1)
    monkeypatch.setattr(phase_update, "RecordedLosses", recorded)
    return made


def learnt(config: Any, plan: Any, *, seeds: Any = (0, 1, 2)) -> Model:
    model = build(seeds, config)
    train(model, WORLD, plan, seeds=list(seeds))
    return model


def as_ever(config: Any, plan: Any, monkeypatch: pytest.MonkeyPatch) -> Model:
    with monkeypatch.context() as patch:
        patch.setattr(phase_update, "MIN_STEPS_RECORDED", 10**9)
        return learnt(config, plan)


@pytest.mark.parametrize("config", CONFIGS, ids=lambda c: type(c).__name__)
def test_every_model_has_the_same_bits(config: Any, recorders, monkeypatch) -> None:
    again = learnt(config, curriculum())
    assert recorders[0].kernels
    assert same_bits(again, as_ever(config, curriculum(), monkeypatch))
    alone = learnt(config, curriculum(), seeds=(1,))
    for joint, lone in zip(again.parameters(), alone.parameters(), strict=True):
        assert torch.equal(joint[1], lone[0])


@pytest.mark.fast_cases(4)
@pytest.mark.parametrize("name", CURRICULA)
def test_every_curriculum_has_the_same_bits(name: str, recorders, monkeypatch) -> None:
    again = learnt(GPT, CURRICULA[name])
    assert recorders
    assert same_bits(again, as_ever(GPT, CURRICULA[name], monkeypatch))


class Counting(EmbMLP):
    """A model whose arithmetic depends on the number of calls."""

    asked = 0

    def unembed(self, state: torch.Tensor) -> torch.Tensor:
        self.asked += 1
        return super().unembed(state) * (1.0 + self.asked)


def test_a_model_that_counts_is_computed_as_ever(recorders) -> None:
    model = Counting(EmbMLPConfig(width=8), vocabulary=V, replicas=2)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.fill_(0.1)
    train(model, WORLD, curriculum(steps=9), seeds=[0, 1])
    assert len(recorders) == 1
    assert recorders[0].kernels == 0
    assert model.asked == 10, "once a step, and once to record"


def test_kernels_read_what_changes_and_share_memory() -> None:
    x = torch.ones(100)
    kernels = Kernels(lambda: x.exp().neg().exp().neg().exp().sum(0))
    x.fill_(2.0)
    assert torch.equal(kernels(), x.exp().neg().exp().neg().exp().sum(0))
    assert kernels.bytes <= 2 * x.nbytes, "each result lies where the one before it lay"


def test_what_is_read_again_is_not_written_over_and_what_nobody_reads_is_left_out() -> (
    None
):
    table, source = torch.rand(2, 4, 3), torch.rand(2, 4, 3)
    rows = torch.tensor([0, 2, 2, 3])

    def compute() -> torch.Tensor:
        table.amax()  # a check
        one = table.exp()
        other = one.neg()
        joined = other.mul(one).index_add(1, rows, one)
        return (joined + joined[:, :1]).index_add(1, rows, source.clone())

    kernels = Kernels(compute)
    source.fill_(3.0)
    expected = compute()
    for _ in range(2):
        assert torch.equal(kernels(), expected)
    assert len(kernels) == 7


def test_what_depends_on_numbers_or_chance_is_not_recorded() -> None:
    x = torch.ones(3)
    for compute in (
        lambda: x * x.sum().item(),
        lambda: x + torch.rand(3),
        lambda: x[x > 0],
    ):
        with pytest.raises(NotRecordable):
            Kernels(compute)


def test_a_batch_of_other_shapes_is_computed_as_ever(recorders) -> None:
    """The number of labels of pooled minibatches varies with their sequences."""
    world = TwoHop(n=4, complexity=2).build(1)
    plan = curriculum(pooled=True, batch=3)
    model = GPTConfig(layers=1, width=8).build(
        vocabulary=len(world.vocabulary), seeds=[0]
    )
    result = train(model, world, plan, seeds=[0], every=1)
    assert result.losses["loss"].is_finite().all()


def test_gradients_are_written_where_they_belong() -> None:
    """Results of elementwise operations, sums and index_add are not copied."""
    given, ids = torch.rand(2, 7, 5), torch.tensor([0, 2, 2, 1, 0, 0, 1])
    gradients = torch.zeros(2, 15 + 5 + 35)
    rows, bias, states = gradients.split((15, 5, 35), 1)
    slots = [rows.view(2, 3, 5), bias, states.view(2, 7, 5)]

    def compute() -> torch.Tensor:
        added = torch.zeros(2, 3, 5).index_add(1, ids, given)
        torch._foreach_copy_(slots, [added, given.sum(1), given.neg()])
        return given.sum((1, 2))

    recorded = Kernels(compute)
    given.mul_(3.0)
    expected = compute()
    written = gradients.clone()
    gradients.zero_()
    assert torch.equal(recorded(), expected)
    assert torch.equal(gradients, written)
    assert len(recorded) == 5, "zeros, index_add, two sums, neg"


@pytest.mark.parametrize("sizes", [(32, 30, 15), (7, 251, 39)])
def test_products_are_transposed_where_that_keeps_their_bits(sizes) -> None:
    """MKL sums the second product in a different order if it is transposed."""
    rows, inner, columns = sizes
    shapes = ((2, rows, inner), (2, inner, columns))
    numbers = torch.Generator().manual_seed(0)
    left, right = (torch.randn(shape, generator=numbers) for shape in shapes)
    gradients = torch.zeros(2, columns, rows)

    def compute() -> torch.Tensor:
        torch._foreach_copy_([gradients], [torch.bmm(left, right).mT])
        return left.sum((1, 2))

    recorded = Kernels(compute)
    compute()
    written = gradients.clone()
    gradients.zero_()
    recorded()
    assert torch.equal(gradients, written)
    transposed = torch.bmm(right.mT, left.mT)
    alike = torch.equal(torch.bmm(left, right), transposed.mT)
    product: Any = recorded._calls[0]
    assert (product.args[0].shape == right.mT.shape) == alike


def test_what_depends_on_the_batch_alone_is_computed_when_it_changes() -> None:
    weights, values = torch.ones(3), torch.ones(3)
    kernels = Kernels(lambda: (values * (weights / weights.sum())).sum(0), [weights])
    values.fill_(6.0)
    assert kernels().item() == 6.0
    weights.copy_(torch.tensor([0.0, 0.0, 2.0]))
    values[2] = 5.0
    kernels.prepare()
    assert kernels().item() == 5.0
    assert len(kernels) == 2


def test_large_products_are_written_where_they_belong() -> None:
    numbers = torch.Generator().manual_seed(0)
    state = torch.randn(3, 9, 128, generator=numbers)
    given = torch.randn(3, 9, 160, generator=numbers)
    gradients = torch.zeros(3, 128 * 160 + 5)
    slot = gradients[:, 5:].view(3, 128, 160)

    def compute() -> torch.Tensor:
        torch._foreach_copy_([slot], [torch.bmm(state.mT, given)])
        return given.sum((1, 2))

    recorded = Kernels(compute)
    given.mul_(3.0)
    compute()
    written = gradients.clone()
    gradients.zero_()
    recorded()
    assert torch.equal(gradients, written)
    assert recorded.bytes < slot.nbytes, "no memory for the product"
