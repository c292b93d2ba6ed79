"""The contract that every model satisfies.

A test class inherits the case and states its config; another test fails if a model has no
test class.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import pytest
import torch
from tests.parameters import mostly_slow
from tests.rounding import assert_same, of_forward, of_training
from torch import Tensor

from inweights.errors import ConfigError, DataError
from inweights.models import Model, Packed, pack
from inweights.probes import accuracy, patch
from inweights.training import Curriculum, Optimizer, Phase, train
from inweights.worlds import Statements, Vocabulary, World


class ModelCase:
    """The contract of models; ``candidates`` are the tokens for which the head has logits."""

    config: ClassVar[Any]
    candidates: ClassVar[list[int]] = [3, 4, 5, 9]
    #: Whether there are attention patterns.
    attends: ClassVar[bool] = False
    #: Layers whose states determine the logits; all layers if empty.
    decisive: ClassVar[tuple[str, ...]] = ()

    #: Device of models and tokens.
    device: ClassVar[str] = "cpu"
    vocabulary: ClassVar[int] = 11
    seeds: ClassVar[tuple[int, ...]] = (5, 0, 9)
    #: Learning rates of the replicas, by optimizer; low enough that training is stable and
    #: does not amplify rounding errors.
    rates: ClassVar[dict[str, tuple[float, ...]]] = {
        "sgd": (0.1, 0.3, 1.0),
        "adamw": (1e-3, 3e-3, 1e-2),
    }
    #: Number of steps for which replicas are compared with single models.
    steps: ClassVar[int] = 20

    @property
    def world(self) -> World:
        """Return a world with prompts of one to three tokens, whose answers every head covers."""
        facts = {
            "identity": ([[3], [4], [5]], [[3], [4], [5]]),
            "edge": ([[0, 7], [1, 7], [2, 7], [6, 8]], [[3], [4], [5], [9]]),
            "two_hop": ([[0, 7, 8], [1, 7, 8]], [[9], [5]]),
        }
        queries = {"composition": ([[2, 7, 8]], [[9]])}
        return World(
            name="contract",
            vocabulary=Vocabulary({"all": [f"t{i}" for i in range(self.vocabulary)]}),
            facts=Statements.build(facts),
            queries=Statements.build(queries),
        )

    def build(self, *seeds: int) -> Model:
        model: Model = self.config.build(
            vocabulary=self.vocabulary,
            seeds=seeds or self.seeds,
            candidates=self.candidates,
        )
        return model.to(self.device)

    def tokens(self, *shape: int) -> Tensor:
        drawn = torch.randint(
            11, shape, generator=torch.Generator().manual_seed(sum(shape))
        )
        return drawn.to(self.device)

    def test_every_parameter_starts_with_the_replica_axis(self) -> None:
        model = self.build()
        parameters = dict(model.named_parameters())
        assert parameters
        for name, parameter in parameters.items():
            assert parameter.shape[0] == model.replicas == 3, name
            assert parameter.isfinite().all(), name

    def test_candidates_and_columns_are_inverse(self) -> None:
        model = self.build()
        assert set(self.candidates) <= set(model.candidates.tolist())
        columns = [-1] * self.vocabulary
        for column, token in enumerate(model.candidates.tolist()):
            columns[token] = column
        assert model.column.tolist() == columns

    @torch.no_grad()
    def test_shapes_of_logits(self) -> None:
        model = self.build()
        k = len(model.candidates)
        assert model(self.tokens(4, 2)).shape == (3, 4, 2, k)
        assert model(self.tokens(3, 4, 2)).shape == (3, 4, 2, k)
        batch = pack([self.tokens(2, 1), self.tokens(4, 3)])
        assert model(batch).shape == (3, 14, k)
        assert model(batch, at=batch.last).shape == (3, 6, k)
        own = pack([self.tokens(3, 2, 1), self.tokens(3, 4, 3)])
        assert model(own).shape == (3, 14, k)

    @torch.no_grad()
    def test_logits_are_a_product_with_the_head_matrix_if_there_is_one(self) -> None:
        # With all tokens as candidates, a matrix for other tokens would have the same shape.
        model = self.config.build(vocabulary=self.vocabulary, seeds=self.seeds)
        model = model.to(self.device)
        matrix = model.head_matrix
        if matrix is not None:
            batch = pack([self.tokens(2, 2)])
            torch.testing.assert_close(model.deepest(batch) @ matrix, model(batch))

    @torch.no_grad()
    def test_packed_is_separate(self) -> None:
        model = self.build()
        for lead in ((), (3,)):
            groups = [
                self.tokens(*lead, b, t) for b, t in ((2, 1), (3, 2), (1, 6), (2, 3))
            ]
            batch = pack(groups)
            apart = torch.cat([model(group).flatten(1, 2) for group in groups], dim=1)
            assert_same(model(batch), apart, of_forward(model))
            at = torch.tensor([5, 0, 13], device=self.device)
            assert_same(model(batch, at=at), apart[:, at], of_forward(model))

    @torch.no_grad()
    def test_no_sequence_reaches_another_and_no_token_an_earlier_one(self) -> None:
        model, tokens = self.build(), self.tokens(4, 6)
        together = model(tokens)
        for b, row in enumerate(tokens):
            for t in (1, 3, 6):
                alone = model(row[None, :t])[:, 0]
                assert_same(together[:, b, :t], alone, of_forward(model))

    @torch.no_grad()
    def test_shared_tokens_are_the_same_as_each_its_own(self) -> None:
        model, tokens = self.build(), self.tokens(4, 3)
        torch.testing.assert_close(model(tokens), model(tokens.expand(3, -1, -1)))

    @torch.no_grad()
    def test_each_replica_reads_its_own_tokens(self) -> None:
        model, tokens = self.build(), self.tokens(3, 4, 3)
        for r in range(3):
            torch.testing.assert_close(model(tokens)[r], model(tokens[r])[r])

    @torch.no_grad()
    def test_tokens_of_another_number_of_replicas_are_refused(self) -> None:
        message = r"one matrix per replica \(3\), got 2"
        model, tokens = self.build(), self.tokens(2, 4, 3)
        calls: list[Any] = [model, model.hidden]
        if self.attends:
            calls.append(model.attention_patterns)
        for call in calls:
            with pytest.raises(DataError, match=message):
                call(tokens)

    @torch.no_grad()
    def test_hidden_states_by_filter(self) -> None:
        model = self.build()
        batch = pack([self.tokens(3, 3), self.tokens(2, 1)])
        everything = model.states(batch)
        assert tuple(everything) == model.layer_names
        assert len(set(model.layer_names)) == len(model.layer_names) >= 2
        last = model.hidden(batch)
        assert tuple(last) == model.layer_names
        some = [model.layer_names[-1], model.layer_names[0]]
        at = torch.tensor([4, 1], device=self.device)
        chosen = model.hidden(batch, layers=some, at=at)
        assert list(chosen) == some
        for name, state in everything.items():
            assert state.shape[:2] == (3, 11)
            assert torch.equal(last[name], state[:, [2, 5, 8, 9, 10]])
            if name in some:
                assert torch.equal(chosen[name], state[:, [4, 1]])
        deepest = everything[model.layer_names[-1]]
        torch.testing.assert_close(model.unembed(deepest), model(batch))

    @torch.no_grad()
    def test_hidden_states_at_every_position(self) -> None:
        model = self.build()
        for lead in ((), (3,)):
            tokens = self.tokens(*lead, 4, 3)
            everywhere = model.hidden(tokens, at="all")
            assert tuple(everywhere) == model.layer_names
            for name, state in everywhere.items():
                assert state.shape[:3] == (3, 4, 3)
                assert torch.equal(state[:, :, -1], model.hidden(tokens)[name])
                assert torch.equal(
                    state.flatten(1, 2), model.states(pack([tokens]))[name]
                )
        groups = pack([self.tokens(2, 1), self.tokens(4, 3)])
        assert all(
            s.shape[:2] == (3, 14) for s in model.hidden(groups, at="all").values()
        )

    @torch.no_grad()
    def test_the_logit_lens_ends_in_the_logits(self) -> None:
        model, tokens = self.build(), self.tokens(4, 3)
        lens, logits = model.logit_lens(tokens, at="all"), model(tokens)
        assert tuple(lens) == model.layer_names
        assert all(said.shape == logits.shape for said in lens.values())
        assert_same(lens[model.layer_names[-1]], logits, of_forward(model))
        last = model.logit_lens(tokens, layers=model.layer_names[:1])
        assert list(last) == [model.layer_names[0]]
        for name, said in last.items():
            assert_same(said, lens[name][:, :, -1], of_forward(model))
            read = model.hidden(tokens)[name]
            read = read if name == model.layer_names[-1] else model.final_norm(read)
            assert_same(said, model.unembed(read), of_forward(model))

    @torch.no_grad()
    def test_a_state_that_is_replaced_decides_what_follows(self) -> None:
        """A model's own state has no effect; another prompt's state gives that prompt's logits."""
        model, tokens, other = (
            self.build(),
            self.tokens(4, 3),
            self.tokens(4, 3).flip(0),
        )
        mine, theirs = model(tokens), model(other)
        assert not torch.allclose(mine, theirs)
        own, new = model.hidden(tokens, at="all"), model.hidden(other, at="all")
        for layer in model.layer_names:
            same = patch(model, tokens, own[layer], layer=layer)
            assert_same(same, mine, of_forward(model))
            if layer in self.decisive or not self.decisive:
                patched = patch(model, tokens, new[layer], layer=layer)
                assert_same(patched, theirs, of_forward(model))
            # A change at the last position does not affect earlier ones, and a change in one
            # replica does not affect others.
            last = patch(model, tokens, new[layer][:, :, -1], layer=layer, position=-1)
            assert_same(last[:, :, :-1], mine[:, :, :-1], of_forward(model))
            mixed = own[layer].clone()
            mixed[1] = new[layer][1]
            one = patch(model, tokens, mixed, layer=layer)
            assert_same(one[[0, 2]], mine[[0, 2]], of_forward(model))
            assert not torch.allclose(one[1], mine[1])
        assert torch.equal(model(tokens), mine)
        deepest = model.layer_names[-1]
        end = patch(
            model, tokens, new[deepest][:, :, -1], layer=deepest, position=2, at="last"
        )
        assert_same(end, theirs[:, :, -1], of_forward(model))

    @torch.no_grad()
    def test_attention_patterns(self) -> None:
        model = self.build()
        if not self.attends:
            with pytest.raises(ConfigError, match="no attention"):
                model.attention_patterns(self.tokens(4, 3))
            return
        tokens = self.tokens(4, 5)
        patterns = model.attention_patterns(tokens)
        assert set(patterns) <= set(model.layer_names)
        own = model.attention_patterns(tokens.expand(3, -1, -1))
        short = model.attention_patterns(tokens[:, :3])
        for layer, pattern in patterns.items():
            assert pattern.shape[:2] == (3, 4)
            assert pattern.shape[3:] == (5, 5)
            assert pattern.min() >= 0
            torch.testing.assert_close(
                pattern.sum(-1), torch.ones_like(pattern[..., 0])
            )
            assert not pattern.triu(1).any()
            torch.testing.assert_close(own[layer], pattern)
            assert_same(short[layer], pattern[..., :3, :3], of_forward(model))

    def test_its_repr_says_replicas_parameters_and_shapes(self) -> None:
        model = self.build()
        text, each = repr(model), sum(p[0].numel() for p in model.parameters())
        assert f"3 replicas of {each:,} parameters, 11 tokens" in text
        for name, parameter in model.named_parameters():
            assert f"{name.rpartition('.')[2]} {list(parameter.shape)}" in text, name
        assert "1 replica of" in repr(self.build(0))

    def test_a_world_with_more_tokens_is_refused(self) -> None:
        model = self.config.build(vocabulary=10, seeds=[0], candidates=self.candidates)
        message = "'contract' has 11 tokens, but the model has 10; build the model with vocabulary="
        for use in (accuracy, lambda m, w: train(m, w, Curriculum(), seeds=[0])):
            with pytest.raises(DataError, match=message):
                use(model, self.world)

    @torch.no_grad()
    def test_an_unknown_layer_names_the_nearest(self) -> None:
        model = self.build()
        given = model.layer_names[0] + "x"
        message = f"'{given}'; did you mean '{model.layer_names[0]}'"
        with pytest.raises(ConfigError, match=message):
            model.hidden(self.tokens(1, 2), layers=[given])
        with (
            pytest.raises(ConfigError, match=message),
            model.hooks({given: torch.zeros_like}),
        ):
            pass

    def test_deterministic_from_seeds(self) -> None:
        one, other, another = self.build(), self.build(), self.build(6, 1, 10)
        parameters = dict(one.named_parameters())
        assert all(torch.equal(parameters[n], p) for n, p in other.named_parameters())
        differ = [
            n
            for n, p in another.named_parameters()
            if not torch.equal(parameters[n], p)
        ]
        assert differ

    @torch.no_grad()
    def test_the_order_of_replicas_does_not_matter(self) -> None:
        model, turned = self.build(), self.build(*reversed(self.seeds))
        for name, parameter in turned.named_parameters():
            assert torch.equal(parameter.flip(0), model.get_parameter(name)), name
        tokens = self.tokens(4, 3)
        assert_same(turned(tokens).flip(0), model(tokens), of_forward(model))

    def test_no_replica_reaches_another(self) -> None:
        model = self.build()
        model(self.tokens(4, 3))[1].square().sum().backward()
        reached = False
        for name, parameter in model.named_parameters():
            if parameter.grad is not None:
                assert not parameter.grad[[0, 2]].any(), name
                reached |= bool(parameter.grad[1].any())
        assert reached

    @torch.no_grad()
    def test_replicas_say_what_single_models_say(self) -> None:
        model, tokens = self.build(), self.tokens(4, 3)
        for r, seed in enumerate(self.seeds):
            said = self.build(seed)(tokens)[0]
            assert_same(model(tokens)[r], said, of_forward(model))

    @pytest.mark.parametrize("kind", mostly_slow(["sgd", "adamw"], "adamw".__eq__))
    def test_replicas_train_as_single_models_do(
        self, kind: Literal["sgd", "adamw"]
    ) -> None:
        rates = self.rates[kind]

        def plan(rate: float) -> Curriculum:
            settings = Optimizer(kind=kind, rate=rate, weight_decay=0.01 / rate)
            return Curriculum(phases=(Phase(steps=self.steps, optimizer=settings),))

        model = self.build()
        before = [p.detach().clone() for p in model.parameters()]
        together = train(
            model, self.world, [plan(rate) for rate in rates], seeds=self.seeds, every=1
        )
        assert any(
            not torch.equal(p, start)
            for p, start in zip(model.parameters(), before, strict=True)
        )
        for r, (seed, rate) in enumerate(zip(self.seeds, rates, strict=True)):
            single = self.build(seed)
            alone = train(single, self.world, plan(rate), seeds=[seed], every=1)
            losses = together.losses.filter(replica=r)["loss"].to_list()
            near = of_training(single, len(self.world.facts), self.steps)
            assert losses == pytest.approx(alone.losses["loss"].to_list(), rel=near)
            if kind == "adamw":
                # The optimizer divides by the gradient's size, which amplifies rounding errors
                # where the gradient is 0 by symmetry (the bias of the keys), so that only the
                # outputs can be compared.
                continue
            for name, parameter in single.named_parameters():
                assert_same(model.get_parameter(name)[r], parameter[0], near)

    @torch.no_grad()
    def test_nothing_is_bound_to_a_device(self) -> None:
        """On the meta device, a tensor that is created on the CPU would cause an error."""
        model = self.build().to("meta")
        k = len(model.candidates)
        for lead in ((), (3,)):
            batch = pack([self.tokens(*lead, 2, 1), self.tokens(*lead, 4, 6)]).to(
                "meta"
            )
            assert isinstance(batch, Packed)
            said = model(batch, at=batch.last)
            assert said.shape == (3, 6, k)
            there = self.tokens(*lead, 4, 6).to("meta")
            assert model(there).shape == (3, 4, 6, k)
            assert pack([there]).positions.device.type == "meta"
            assert said.device.type == "meta"
            assert all(
                state.device.type == "meta" for state in model.states(batch).values()
            )
