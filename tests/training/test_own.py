"""Losses, penalties, optimizers, schedules and observers of users."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.rounding import assert_same, of_training
from tests.training import own_parts as own
from torch.optim.optimizer import register_optimizer_step_pre_hook

from inweights.config import decode, identity, replace_at, to_plain
from inweights.errors import ConfigError
from inweights.models import GPTConfig
from inweights.support.keys.plain import plain
from inweights.training import Checkpoint, Curriculum, Optimizer, Phase, Schedule, train
from inweights.worlds import TwoHop

WORLD = TwoHop(n=3, identity=True).build()
GPT = GPTConfig(layers=1, width=16, heads=2)
MUON = pytest.mark.skipif(
    not hasattr(torch.optim, "Muon"), reason="torch >= 2.9 has Muon"
)
APART = "ignore:.*replica by replica"

PHASES: dict[str, dict[str, Any]] = {
    "loss": {"loss": partial(own.focal, gamma=1.0)},
    "answer": {"loss": own.focal, "at": "answer", "batch": 5},
    "penalty": {"penalty": own.sparse},
    "lion": {"optimizer": Optimizer(kind=own.Lion, rate=1e-3, weight_decay=0.1)},
    "nadam": {"optimizer": torch.optim.NAdam},
    "sharpness": {
        "optimizer": Optimizer(kind=partial(own.Sharpness, momentum=0.9), rate=0.3)
    },
    "clipped": {"optimizer": Optimizer(kind=own.Clipped, rate=0.3)},
    "muon": {"optimizer": Optimizer(kind=own.muon, rate=0.01)},
    "lbfgs": {
        "optimizer": Optimizer(kind=partial(torch.optim.LBFGS, max_iter=3), rate=0.5)
    },
    "schedule": {"schedule": own.halved},
    "observer": {"observers": own.on_the_sphere},
}
CASES = [pytest.param(name, marks=MUON if name == "muon" else ()) for name in PHASES]


def phase(**changes: Any) -> Curriculum:
    return Curriculum(phases=(Phase(**{"steps": 10, **changes}),))


def trained(learner: Any, seeds: list[int], **how: Any) -> torch.Tensor:
    """Return the parameters after training, ``[R, P]``."""
    model = GPT.build(vocabulary=len(WORLD.vocabulary), seeds=seeds)
    train(model, WORLD, learner, seeds=seeds, **how)
    return torch.cat([p.detach().flatten(1) for p in model.parameters()], dim=1)


@pytest.mark.fast_cases(5)
@pytest.mark.filterwarnings(APART)
@pytest.mark.parametrize("name", CASES)
def test_a_run_is_the_same_alone_and_in_company(name: str) -> None:
    learner = phase(**PHASES[name])
    together = trained(learner, [0, 1, 2])
    assert torch.equal(together[1:2], trained(learner, [1]))
    assert not torch.equal(together, trained(phase(), [0, 1, 2]))


@pytest.mark.fast_cases(4)
@pytest.mark.filterwarnings(APART)
@pytest.mark.parametrize("name", CASES)
def test_a_run_is_the_same_interrupted_and_resumed(name: str, tmp_path: Path) -> None:
    learner = phase(**PHASES[name])
    whole = trained(learner, [0, 1])

    def interrupt(step: int) -> None:
        if step == 7:
            raise KeyboardInterrupt

    kept = Checkpoint(tmp_path / "state", key="one", every_steps=3)
    with pytest.raises(KeyboardInterrupt):
        trained(learner, [0, 1], checkpoint=kept, progress=interrupt)
    assert kept.path.exists()
    assert torch.equal(whole, trained(learner, [0, 1], checkpoint=kept))


def test_the_usual_loss_written_by_hand_is_the_usual_loss() -> None:
    torch.testing.assert_close(
        trained(phase(loss=own.plain), [0, 1]), trained(phase(), [0, 1])
    )
    roles = {"roles": {"first_hop": 3.0, "second_hop": 1.0}}
    both = trained(phase(loss=own.weighted, **roles), [0]), trained(phase(**roles), [0])
    torch.testing.assert_close(*both)


@pytest.mark.parametrize("kind", ["AdamW", "SGD"])
def test_torchs_class_is_the_library_s_optimizer(kind: str) -> None:
    """Compared for a few steps, since AdamW amplifies rounding errors to full steps."""
    given = Optimizer(kind=getattr(torch.optim, kind), rate=0.01, weight_decay=0.1)
    usual = Optimizer(kind=kind.lower(), rate=0.01, weight_decay=0.1)  # type: ignore[arg-type]
    both = [trained(phase(steps=5, optimizer=one), [0, 1]) for one in (given, usual)]
    torch.testing.assert_close(*both, rtol=1e-4, atol=1e-6)


def test_an_elementwise_optimizer_of_ones_own_steps_all_replicas_at_once() -> None:
    # Without a warning.
    trained(phase(steps=1, optimizer=Optimizer(kind=own.Lion)), [0, 1])
    with pytest.warns(UserWarning, match="Clipped is stepped replica by replica"):
        trained(phase(steps=1, optimizer=Optimizer(kind=own.Clipped)), [0, 1])


@MUON
def test_muon_is_that_of_the_plain_parameters() -> None:
    """Muon equals a step of a plain model with the same gradients.

    Muon computes in half precision and amplifies rounding errors in directions without
    a gradient, so gradients and steps are compared one by one.
    """
    seeds = [0, 1]
    given = Optimizer(kind=own.muon, rate=0.02)
    learner = phase(steps=1, roles={"first_hop": 1.0}, optimizer=given)
    used: list[list[torch.Tensor]] = []

    def keep(optimizer: torch.optim.Optimizer, *_: object) -> None:
        stepped = [p for group in optimizer.param_groups for p in group["params"]]
        used.append([p.grad.clone() for p in stepped])

    hook = register_optimizer_step_pre_hook(keep)
    try:
        with pytest.warns(UserWarning, match="muon is stepped replica by replica"):
            found = trained(learner, seeds)
    finally:
        hook.remove()
    model = GPT.build(vocabulary=len(WORLD.vocabulary), seeds=seeds[1:])
    named = [
        (n, torch.nn.Parameter(p.detach()[0].clone()))
        for n, p in model.named_parameters()
    ]
    optimizers = own.muon(named, lr=0.02)
    told = [fact for fact in WORLD.facts if fact.role == "first_hop"]
    prompts = torch.tensor([fact.prompt for fact in told])
    answers = torch.tensor([fact.answer[0] for fact in told])
    values = {name: p.unsqueeze(0) for name, p in named}
    logits = torch.func.functional_call(model, values, (prompts,))[0, :, -1]
    loss = torch.nn.functional.cross_entropy(logits, model.column[answers])
    gradients = torch.autograd.grad(loss, [p for _, p in named], materialize_grads=True)
    by_autograd = {id(p): g for (_, p), g in zip(named, gradients, strict=True)}
    of_second_replica = used[len(optimizers) :]
    for optimizer, theirs in zip(optimizers, of_second_replica, strict=True):
        stepped = [p for group in optimizer.param_groups for p in group["params"]]
        for p, gradient in zip(stepped, theirs, strict=True):
            assert_same(gradient, by_autograd[id(p)], of_training(model, len(told), 1))
            p.grad = gradient
        optimizer.step()
    by_hand = torch.cat([p.detach().flatten() for _, p in named])
    torch.testing.assert_close(found[1], by_hand)


def test_sharpness_aware_steps_are_those_by_hand() -> None:
    learner = phase(
        steps=1, optimizer=Optimizer(kind=partial(own.Sharpness, rho=0.5), rate=1.0)
    )
    with pytest.warns(UserWarning, match="replica by replica"):
        found = trained(learner, [0, 1])
    sgd = Optimizer(kind="sgd", rate=1.0)
    start = trained(phase(steps=0), [0, 1])
    down = start - trained(phase(steps=1, optimizer=sgd), [0, 1])  # the gradient
    model = GPT.build(vocabulary=len(WORLD.vocabulary), seeds=[0, 1])
    worst = start + 0.5 * down / down.norm(dim=1, keepdim=True)
    ends = 0
    for p in model.parameters():
        count = p[0].numel()
        p.data = worst[:, ends : ends + count].view(p.shape).clone()
        ends += count
    train(model, WORLD, phase(steps=1, optimizer=sgd), seeds=[0, 1])
    moved = torch.cat([p.detach().flatten(1) for p in model.parameters()], dim=1)
    torch.testing.assert_close(found, start + (moved - worst), rtol=1e-4, atol=1e-6)


@pytest.mark.filterwarnings(APART)
@pytest.mark.parametrize("kind", [own.Lion, own.Clipped])
def test_rates_decays_and_options_may_differ_between_replicas(kind: Any) -> None:
    few = [
        phase(optimizer=Optimizer(kind=kind, rate=0.01)),
        phase(optimizer=Optimizer(kind=kind, rate=0.02, weight_decay=0.1)),
        phase(
            optimizer=Optimizer(kind=kind, rate=0.02, weight_decay=0.1, decayed="all")
        ),
    ]
    together = trained(few, [0, 0, 0])
    alone = torch.cat([trained(learner, [0]) for learner in few])
    assert torch.equal(together, alone)
    assert not any(torch.equal(together[0], other) for other in together[1:])


def test_an_observer_of_a_phase_may_change_parameters() -> None:
    model = GPT.build(vocabulary=len(WORLD.vocabulary), seeds=[0, 1])
    train(model, WORLD, phase(observers=own.on_the_sphere), seeds=[0, 1])
    assert model.get_parameter("tokens.weight").norm(dim=-1).allclose(torch.ones(()))


def test_an_observer_of_a_phase_sees_the_steps_of_the_whole_training() -> None:
    own.StepCounter.steps.clear()
    watched = Phase(steps=3, observers=own.StepCounter)
    train(
        GPT.build(vocabulary=len(WORLD.vocabulary), seeds=[0]),
        WORLD,
        Curriculum(phases=(Phase(steps=2), watched, watched)),
        seeds=[0],
    )
    assert own.StepCounter.steps == [3, 4, 5, 6, 7, 8]


def test_what_is_not_given_is_no_part_of_the_identity() -> None:
    assert not {"at", "penalty", "observers"} & identity(Phase()).keys()
    usual, given = plain(phase()), plain(phase(loss=own.plain))
    assert usual != given
    assert plain(phase(loss=own.focal)) != given
    assert plain(phase(loss=partial(own.focal, gamma=1.0))) != plain(
        phase(loss=own.focal)
    )


def test_a_file_names_a_function_by_its_address() -> None:
    here = own.__name__
    written = {
        "loss": {"at": f"{here}:focal", "options": {"gamma": 1.0}},
        "optimizer": {"kind": {"at": "torch.optim:NAdam"}, "rate": 0.01},
        "schedule": {"kind": {"at": f"{here}:halved"}},
    }
    read = decode(Phase, written)
    same = Phase(
        loss=partial(own.focal, gamma=1.0),
        optimizer=Optimizer(kind=torch.optim.NAdam, rate=0.01),
        schedule=own.halved,
    )
    assert plain(read) == plain(same)
    assert decode(Phase, to_plain(same)) == same
    swept = replace_at(phase(loss=own.focal), {"phases.0.loss.options": {"gamma": 0.0}})
    assert swept.phases[0].loss == Phase(loss=partial(own.focal, gamma=0.0)).loss


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"loss": own.averaged},
            r"shape \[R\], here \[2\].*returned \[\].*flatten\(1\).mean",
        ),
        ({"loss": own.mixing}, "mixing mixes replicas"),
        (
            {"loss": torch.nn.functional.cross_entropy},
            r"logits \[2, 9, .*shape \[2\]",
        ),
        ({"penalty": own.mixing_penalty}, "mixing_penalty mixes replicas"),
        ({"penalty": own.sparse, "loss": own.averaged}, r"shape \[R\]"),
        (
            {"loss": own.plain, "roles": {"first_hop": 3.0, "identity": 1.0}},
            "third argument",
        ),
        ({"optimizer": own.Langevin}, "draws random numbers.*noise"),
        ({"optimizer": own.Elsewhere}, "replaces the tensors of parameters"),
        ({"optimizer": own.halved}, "could not be created.*named_parameters"),
        (
            {"optimizer": lambda parameters, lr: None},
            "must return a torch.optim.Optimizer",
        ),
        (
            {"schedule": lambda step, steps: -1.0},
            "returned -1.0 at step 0 of 10; it must return the factor",
        ),
    ],
)
@pytest.mark.filterwarnings(APART)
def test_what_cannot_train_is_refused_with_what_is_expected(
    changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        trained(phase(**changes), [0, 1])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Phase(at="answer"), "'at' has no effect without a loss function"),
        (lambda: decode(Phase, {"loss": "lst"}), "'lst'; did you mean 'last'"),
        (lambda: Optimizer(kind=own.Lion, momentum=0.9), "bind its options"),
        (
            lambda: Schedule(kind=own.halved, warmup=3),
            "'warmup', 'final' and 'hold' have no effect",
        ),
        (
            lambda: decode(Phase, {"loss": {"at": "mine:focal"}}),
            "import mine first.*--plugin mine",
        ),
        (
            lambda: decode(Phase, {"loss": {"at": f"{own.__name__}:muon"}}),
            "'logits' as its first",
        ),
        (
            lambda: decode(Phase, {"penalty": {"at": "os:system"}}),
            "cannot find os:system",
        ),
        (
            lambda: Phase(loss=partial(own.focal, torch.zeros(1))),
            "bind only keyword arguments",
        ),
        (lambda: Phase(loss=len), "expected a function or a class"),
    ],
)
def test_what_no_phase_can_hold_is_refused(make: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make()


def test_a_captured_step_has_no_functions_of_ones_own() -> None:
    with pytest.raises(ConfigError, match="'train' calls your own loss and observers"):
        trained(
            phase(loss=own.plain, observers=own.on_the_sphere), [0], cuda_graph=True
        )
