"""Equivalences: R replicas = R single runs, ours = plain PyTorch."""

from __future__ import annotations

import copy

import polars as pl
import pytest
import torch
from polars.testing import assert_frame_equal
from torch.nn import functional as F

from inweights.config import identity as identity_of
from inweights.errors import ConfigError, DataError, RunError
from inweights.models import EmbMLPConfig, GPTConfig, Init, MambaConfig, Model, TinyNNConfig
from inweights.probes import accuracy
from inweights.training import (
    Curriculum,
    Observer,
    Optimizer,
    Phase,
    Schedule,
    Stop,
    train,
)
from inweights.training.batches import Batches
from inweights.training.flat_parameters import FlatParameters, build_optimizer
from inweights.training.rounding import RoundedProducts
from inweights.worlds import Graph, TwoHop

WORLD = TwoHop(n=4, complexity=2).build(seed=0)
V = len(WORLD.vocabulary)
GPT = GPTConfig(layers=2, width=16, heads=2, tied=False)


def curriculum(**changes) -> Curriculum:
    return Curriculum(phases=(Phase(**{"steps": 12, **changes}),))


CURRICULA = {
    "full batch": curriculum(random_offset=True, schedule=Schedule(kind="cosine", warmup=2)),
    "minibatches": curriculum(
        batch=5, optimizer=Optimizer(kind="sgd", rate=0.1, momentum=0.9, weight_decay=0.01)
    ),
    "adam, every position": curriculum(loss="every", optimizer=Optimizer(kind="adam")),
    "two phases": Curriculum(
        phases=(
            Phase(name="hops", steps=7, roles={"first_hop": 2.0, "second_hop": 1.0}, batch=4),
            Phase(name="all", steps=6, moves=("blocks.*", "head.*"), random_offset=True),
        )
    ),
    "then frozen": Curriculum(
        phases=(
            Phase(name="all", steps=5),
            Phase(name="rest", steps=6, freezes=("tokens.*",)),
        )
    ),
    "pooled, by role, bf16": curriculum(
        pooled=True,
        batch={"first_hop": 3, "second_hop+identity": 5},
        schedule=Schedule(kind="linear", warmup=2, hold=0.5),
        precision="bf16",
        random_offset=True,
    ),
    "stops": curriculum(stop=Stop(loss_below=2.6, every=3), optimizer=Optimizer(rate=3e-3)),
}


def build(seeds=(0, 1, 2), config=GPT, inits=None) -> Model:
    return config.build(vocabulary=V, seeds=seeds, inits=inits)


def state(model: Model) -> list[torch.Tensor]:
    return [p.detach().clone() for p in model.parameters()]


def same_bits(one: Model, other: Model) -> bool:
    return all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))


@pytest.mark.parametrize("name", CURRICULA)
def test_replicas_equal_single_runs(name: str) -> None:
    together = build()
    result = train(together, WORLD, CURRICULA[name], seeds=[0, 1, 2], every=1)
    for r in range(3):
        alone = build([r])
        single = train(alone, WORLD, CURRICULA[name], seeds=[r], every=1)
        for joint, lone in zip(together.parameters(), alone.parameters(), strict=True):
            torch.testing.assert_close(joint[r], lone[0], atol=2e-5, rtol=1e-4)
        losses = result.losses.filter(replica=r)
        assert losses["step"].to_list() == single.losses["step"].to_list()
        assert (losses["loss"] - single.losses["loss"]).abs().max() < 1e-5
        assert result.stopped[r] == single.stopped[0]


@pytest.mark.parametrize("config", [TinyNNConfig(width=512), MambaConfig(layers=1, width=32)])
def test_emulated_bf16_has_the_same_bits_alone_and_is_near_autocast(config) -> None:
    """With kernels for bfloat16 the bits differ, for these models and this graph among others."""
    world = Graph(shape="cycle").build()

    def trained(precision: str, seeds: list[int]) -> Model:
        model = config.build(vocabulary=15, seeds=seeds)
        plan = curriculum(steps=8, precision=precision, optimizer=Optimizer(rate=1e-2))
        train(model, world, plan, seeds=seeds)
        return model

    together, alone = trained("bf16-emulated", [0, 1, 2]), trained("bf16-emulated", [1])
    for joint, lone in zip(together.parameters(), alone.parameters(), strict=True):
        assert torch.equal(joint[1], lone[0])
    tokens = torch.arange(15).unsqueeze(1)
    whole, half, found = (trained(p, [1])(tokens) for p in ("fp32", "bf16", "bf16-emulated"))
    assert (found - half).abs().mean() < 0.5 * (found - whole).abs().mean()


def test_emulated_bf16_rounds_products_and_nothing_else() -> None:
    a, b, c = (torch.randn(2, *s, requires_grad=True) for s in ((3, 4), (4, 5), (1, 5)))
    short = [x.detach().bfloat16().float().requires_grad_() for x in (a, b, c)]
    with RoundedProducts():
        found = torch.baddbmm(c, a, b)
        assert torch.equal(torch.bmm(a, b), torch.bmm(short[0], short[1]).bfloat16().float())
        assert torch.equal(a + 0.01, torch.add(a, 0.01))
    expected = torch.baddbmm(short[2], short[0], short[1])
    assert torch.equal(found, expected.bfloat16().float())
    weights = torch.randn(found.shape).bfloat16().float()
    for own, theirs in zip(
        torch.autograd.grad((found * weights).sum(), (a, b, c)),
        torch.autograd.grad((expected * weights).sum(), short),
        strict=True,
    ):
        torch.testing.assert_close(own, theirs.bfloat16().float())


def test_a_tiny_nn_never_reads_the_token_of_edges() -> None:
    models = []
    for config in (Graph(idle_tokens=3), Graph(idle_tokens=2, edge_token=True)):
        models.append(TinyNNConfig(width=8).build(vocabulary=20, seeds=[0]))
        train(models[-1], config.build(), curriculum(), seeds=[0])
    for told, bare in zip(*(model.parameters() for model in models), strict=True):
        torch.testing.assert_close(told, bare, atol=1e-5, rtol=1e-4)


def test_replicas_with_rates_decays_and_scales_of_their_own_equal_single_runs() -> None:
    optimizers = [
        Optimizer(rate=1e-3, weight_decay=0.0),
        Optimizer(rate=1e-3, weight_decay=2.0),
        Optimizer(rate=5e-3, weight_decay=0.1, decayed="all"),
        Optimizer(rate=5e-3, weight_decay=0.1),
    ]
    inits = [Init(), Init(gamma=1.5), Init(std=0.1), Init()]
    plans = [curriculum(optimizer=optimizer) for optimizer in optimizers]
    together = build(range(4), inits=inits)
    train(together, WORLD, plans, seeds=range(4))
    for r in range(4):
        alone = build([r], inits=[inits[r]])
        train(alone, WORLD, plans[r], seeds=[r])
        for joint, lone in zip(together.parameters(), alone.parameters(), strict=True):
            torch.testing.assert_close(joint[r], lone[0], atol=2e-5, rtol=1e-4)


def test_replicas_with_worlds_of_their_own_equal_single_runs() -> None:
    worlds = [TwoHop(n=4, complexity=2, maps="permutation").build(s) for s in range(3)]
    for plan in (CURRICULA["full batch"], CURRICULA["minibatches"]):
        together = build()
        train(together, worlds, plan, seeds=[0, 1, 2])
        alone = build([2])
        train(alone, worlds[2], plan, seeds=[2])
        for joint, lone in zip(together.parameters(), alone.parameters(), strict=True):
            torch.testing.assert_close(joint[2], lone[0], atol=2e-5, rtol=1e-4)


def test_stopped_replicas_stand_still_while_others_go_on() -> None:
    rule = Stop(loss_below=2.0, every=1)
    plans = [
        curriculum(steps=30, optimizer=Optimizer(rate=rate), stop=rule) for rate in (1e-2, 1e-5)
    ]
    model = build([0, 1])
    seen: list[list[torch.Tensor]] = []
    result = train(model, WORLD, plans, seeds=[0, 1], progress=lambda _: seen.append(state(model)))
    stopped = result.stopped[0]
    assert 0 < stopped < 30
    assert result.stopped[1] == -1
    for before, after in zip(seen[stopped - 1 :], seen[stopped:], strict=False):
        for one, other in zip(before, after, strict=True):
            assert torch.equal(one[0], other[0])
        assert any(not torch.equal(a[1], b[1]) for a, b in zip(before, after, strict=True))


@pytest.mark.parametrize("every", [1, 4])
def test_tables_of_who_stops_early_are_the_same_alone_and_in_company(every: int) -> None:
    """Rows and steps, of the next phase, too; who diverges has one row, and stands still."""

    rule = Stop(loss_below=2.3, every=1)

    def learn(seeds: list[int], rates: list[float]):
        plans = [
            Curriculum(
                phases=(
                    Phase(steps=12, optimizer=Optimizer(rate=rate), stop=rule),
                    Phase(name="on", steps=6, optimizer=Optimizer(rate=rate)),
                )
            )
            for rate in rates
        ]
        model = build(seeds)
        look = Observer("recall", lambda model: accuracy(model, WORLD), 5)
        return train(
            model, WORLD, plans, seeds=seeds, every=every, observers=[look], keep_diverged=True
        )

    rates = [1e-2, 1e-4, 1e30]
    together = learn([0, 1, 2], rates)
    for r, rate in enumerate(rates):
        alone = learn([r], [rate])
        for joint, single in (
            (together.losses, alone.losses),
            (together.observed["recall"], alone.observed["recall"]),
        ):
            own = joint.filter(replica=r).drop("replica")
            lone = single.drop("replica").select(own.columns)
            if r == 2:  # what is measured of it means nothing, and is none
                own, lone = own.select("step"), lone.select("step")
            assert_frame_equal(own, lone, abs_tol=1e-5)
        assert alone.losses["loss"].is_finite().all() == (r < 2)
    assert 0 <= together.losses.filter(pl.col("phase") != "on", replica=0)["step"][-1] < 11
    assert together.losses.filter(phase="on")["step"].min() == 12


def test_what_does_not_move_stays_under_weight_decay() -> None:
    model = build()
    before = dict(zip([n for n, _ in model.named_parameters()], state(model), strict=True))
    decay = Optimizer(rate=1e-2, weight_decay=10.0)
    train(model, WORLD, curriculum(moves=("blocks.1.*",), optimizer=decay), seeds=[0, 1, 2])
    for name, parameter in model.named_parameters():
        assert torch.equal(parameter, before[name]) == (not name.startswith("blocks.1.")), name
        assert parameter.requires_grad


@pytest.mark.parametrize("decayed", ["matrices", "all"])
@pytest.mark.parametrize("moves", [("*",), ("blocks.*",)])
def test_what_decays_is_the_same_alone_and_in_company(decayed, moves) -> None:
    """To the last bit of the first update, whatever the neighbours decay."""
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


def test_gains_and_biases_do_not_decay_unless_asked() -> None:
    """Without a gradient a decay of one half halves what decays."""
    for decayed, vectors in (("matrices", 1.0), ("all", 0.5)):
        model = build([0])
        before = [p.detach().clone() for p in model.parameters()]
        settings = Optimizer(rate=0.5, weight_decay=1.0, decayed=decayed)
        flat = FlatParameters(model)
        build_optimizer(flat, [settings], flat.moving(("*",))).step()
        for (name, now), then in zip(model.named_parameters(), before, strict=True):
            spared = "norm" in name or name.endswith("bias")
            torch.testing.assert_close(now, then * (vectors if spared else 0.5), msg=name)


def test_what_is_frozen_stays_under_weight_decay() -> None:
    """Every other parameter moves, as if the others had been listed one by one."""
    decay = Optimizer(rate=1e-2, weight_decay=10.0)
    ends = []
    for words in (
        {"freezes": ("tokens.*", "blocks.0.*")},
        {"moves": ("positions.*", "blocks.1.*", "norm.*", "head.*")},
    ):
        model = build()
        before = dict(zip([n for n, _ in model.named_parameters()], state(model), strict=True))
        train(model, WORLD, curriculum(optimizer=decay, **words), seeds=[0, 1, 2])
        for name, parameter in model.named_parameters():
            frozen = name.startswith(("tokens.", "blocks.0."))
            assert torch.equal(parameter, before[name]) == frozen, name
        ends.append(state(model))
    assert all(torch.equal(one, other) for one, other in zip(*ends, strict=True))


def test_what_decays_is_named_where_anything_does() -> None:
    """Runs made when everything decayed keep their name under "all", those without decay always."""
    assert identity_of(Optimizer())["decayed"] == "matrices"
    assert "decayed" not in identity_of(Optimizer(decayed="all"))
    assert "decayed" not in identity_of(Optimizer(weight_decay=0.0))
    pair = [curriculum(optimizer=Optimizer(decayed=what)) for what in ("matrices", "all")]
    assert pair[0].shape == pair[1].shape


def test_freezing_nothing_leaves_the_name_of_a_run() -> None:
    assert "freezes" not in identity_of(Phase())
    assert identity_of(Phase(freezes=("tokens.*",)))["freezes"] == ["tokens.*"]


@pytest.mark.parametrize("decayed", ["matrices", "all"])
def test_same_as_plain_pytorch(decayed) -> None:
    """The loss curve and the end of a run equal those of torch.optim on a copy, step by step."""
    ours = build([5])
    plain = copy.deepcopy(ours)
    spared = [
        p
        for name, p in plain.named_parameters()
        if decayed == "matrices" and ("norm" in name or name.endswith("bias"))
    ]
    others = [p for p in plain.parameters() if not any(p is one for one in spared)]
    optimizer = torch.optim.AdamW(
        [{"params": others}, {"params": spared, "weight_decay": 0.0}], lr=2e-3, weight_decay=0.1
    )
    facts = [(WORLD.facts.prompt(i), WORLD.facts.answer(i)) for i in range(len(WORLD.facts))]
    expected = []
    for _ in range(8):
        losses = [
            F.cross_entropy(plain(torch.tensor(p)[None])[0, :, -1], torch.tensor(a))
            for p, a in facts
        ]
        loss = torch.stack(losses).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        expected.append(loss.item())
    settings = Optimizer(rate=2e-3, weight_decay=0.1, decayed=decayed)
    result = train(ours, WORLD, curriculum(steps=8, optimizer=settings), seeds=[5], every=1)
    assert result.losses["loss"].to_list() == pytest.approx(expected, abs=1e-5)
    for one, other in zip(ours.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(one, other, atol=2e-5, rtol=1e-4)


@torch.no_grad()
def reference_loss(model: Model, loss, weights=None) -> float:
    """Weighted mean over labelled positions of every fact, one at a time."""
    total, weight_sum = 0.0, 0.0
    for i in range(len(WORLD.facts)):
        role = WORLD.facts.role_names[WORLD.facts.roles[i]]
        weight = 1.0 if weights is None else weights.get(role, 0.0)
        prompt, answer = WORLD.facts.prompt(i), WORLD.facts.answer(i)
        whole = torch.tensor([*prompt, *answer])
        logits = model(whole[None, :-1])[0, 0]
        each = F.cross_entropy(logits, whole[1:], reduction="none")
        places = range(len(each)) if loss == "every" else [len(each) - 1]
        total += weight * float(sum(each[p] for p in places))
        weight_sum += weight * len(places)
    return total / weight_sum


@pytest.mark.parametrize("loss", ["last", "answer", "every", (0,)])
def test_loss_positions(loss) -> None:
    model = build([1])
    expected = reference_loss(model, loss)
    result = train(model, WORLD, curriculum(steps=1, loss=loss), seeds=[1])
    assert result.losses["loss"][0] == pytest.approx(expected, abs=1e-5)


def test_role_weights_are_multiplicities() -> None:
    model = build([1])
    weights = {"first_hop": 3.0, "identity": 1.0}
    expected = reference_loss(model, "last", weights)
    result = train(model, WORLD, curriculum(steps=1, roles=weights), seeds=[1])
    assert result.losses["loss"][0] == pytest.approx(expected, abs=1e-5)


def test_minibatches_visit_every_fact_once_an_epoch() -> None:
    model = build([3, 4])
    phase = Phase(batch=6)
    batches = Batches(model, (WORLD,), phase, [3, 4], 0)
    hops = 2 * 8 + 8  # 16 hops of two tokens, 8 identities
    seen: dict[int, list[tuple]] = {0: [], 1: []}
    for step in range(4):  # 4 of 16 hops and 2 of 8 identities a step
        batch = batches.at(step)
        for r in (0, 1):
            tokens, start = batch.inputs.tokens[r].tolist(), 0
            for b, t in batch.inputs.shapes:
                seen[r] += [tuple(tokens[start + k * t : start + (k + 1) * t]) for k in range(b)]
                start += b * t
    facts = sorted(tuple(WORLD.facts.prompt(i).tolist()) for i in range(hops))
    assert sorted(seen[0]) == sorted(seen[1]) == facts
    assert seen[0] != seen[1]


def test_observers_see_start_cadence_and_end() -> None:
    observers = [Observer("recall", lambda m: accuracy(m, WORLD), every=5)]
    result = train(build(), WORLD, curriculum(), seeds=[0, 1, 2], observers=observers)
    assert result.observed["recall"]["step"].unique().sort().to_list() == [0, 5, 10, 12]


def test_emb_mlp_learns_the_bridge() -> None:
    """The limit that the theory speaks of, in seconds: identity decides."""
    descent = Optimizer(kind="sgd", rate=1.0, weight_decay=0.0)
    for identity in (True, False):
        world = TwoHop(n=6, identity=identity).build()
        model = EmbMLPConfig().build(
            vocabulary=len(world.vocabulary), seeds=[0, 1, 2], candidates=world.outputs.tolist()
        )
        train(model, world, curriculum(steps=1500, optimizer=descent), seeds=[0, 1, 2])
        answered = accuracy(model, world).filter(role="composition")["accuracy"].to_list()
        assert answered == [float(identity)] * 3


# --- what is refused


def test_bad_curricula_are_refused() -> None:
    with pytest.raises(DataError, match="did you mean 'first_hop'"):
        train(build(), WORLD, curriculum(roles={"firsthop": 1.0}), seeds=[0, 1, 2])
    with pytest.raises(ConfigError, match="unknown parameter"):
        train(build(), WORLD, curriculum(moves=("block.*",)), seeds=[0, 1, 2])
    with pytest.raises(ConfigError, match="moves no parameter"):
        curriculum(moves=())
    with pytest.raises(ConfigError, match="moves no parameter"):
        curriculum(moves=("head.*",), freezes=("head.*",))
    with pytest.raises(ConfigError, match=r"did you mean 'tokens\.weight'"):
        train(build(), WORLD, curriculum(freezes=("token.*",)), seeds=[0, 1, 2])
    with pytest.raises(ConfigError, match="unknown parameter"):  # it stands still as it is
        train(build(), WORLD, curriculum(moves=("head.*",), freezes=("tokens.*",)), seeds=[0, 1, 2])
    with pytest.raises(ConfigError, match=r"no parameter moves.*head"):
        train(build(), WORLD, curriculum(moves=("head.*",), freezes=("head.w*",)), seeds=[0, 1, 2])
    later = Phase(name="later", freezes=("token.*",))
    steps: list[int] = []
    with pytest.raises(ConfigError, match="unknown parameter"):  # found before the first phase
        train(
            build(),
            WORLD,
            Curriculum(phases=(Phase(steps=2), later)),
            seeds=[0, 1, 2],
            progress=steps.append,
        )
    assert not steps
    with pytest.raises(ConfigError, match="steps is at least 1"):
        curriculum(steps=0)
    for wrong in (
        lambda: curriculum(loss=()),
        lambda: curriculum(roles={"first_hop": float("nan")}),
        lambda: Stop(every=0),
        lambda: Schedule(warmup=-1),
        lambda: Optimizer(rate=float("inf")),
        lambda: Optimizer(weight_decay=float("nan")),
        lambda: Optimizer(momentum=-1.0),
        lambda: Optimizer(betas=(2.0, 0.9)),
        lambda: train(build(), WORLD, curriculum(), seeds=[0, 1, 2], every=0),
    ):
        with pytest.raises(ConfigError):
            wrong()
    with pytest.raises(ConfigError, match="differ in rate and decay only"):
        train(build([0, 1]), WORLD, [curriculum(steps=3), curriculum(steps=4)], seeds=[0, 1])
    with pytest.raises(ConfigError, match="need as many seeds"):
        train(build(), WORLD, curriculum(), seeds=[0])
    with pytest.raises(ConfigError, match="no place 1"):
        train(build(), WORLD, curriculum(loss=(1,)), seeds=[0, 1, 2])


def test_random_offset_without_positions_is_refused() -> None:
    model = EmbMLPConfig().build(vocabulary=V, seeds=[0])
    unplaced = build([0], GPTConfig(layers=1, width=8, positions="none"))
    for lost in (model, unplaced):
        with pytest.raises(ConfigError, match="no effect"):
            train(lost, WORLD, curriculum(random_offset=True), seeds=[0])
    short = build([0], GPTConfig(layers=1, width=8, context=1))
    with pytest.raises(ConfigError, match="does not fit"):
        train(short, WORLD, curriculum(random_offset=True), seeds=[0])


def test_divergence_stops_the_run() -> None:
    wild = Optimizer(kind="sgd", rate=1e30, weight_decay=0.0)
    with pytest.raises(RunError, match="lower the rate"):
        train(build(), WORLD, curriculum(optimizer=wild), seeds=[0, 1, 2], every=1)
