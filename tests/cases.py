"""Base cases: what every world and every model has to do. Tests inherit them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch

from inweights.errors import ConfigError
from inweights.models import Model, pack
from inweights.training import Curriculum, Optimizer, Phase, train
from inweights.worlds import FACT_ROLES, QUERY_ROLES, TwoHop, World, load_world, save_world

__all__ = ["ModelCase", "WorldCase"]


class WorldCase:
    """Configs of one class; every test runs for each (see ``conftest.py``)."""

    configs: ClassVar[list[Any]]

    def test_same_seed_same_world(self, config: Any) -> None:
        one, other = config.build(7), config.build(7)
        assert one.facts.equals(other.facts)
        assert one.queries.equals(other.queries)
        assert one.vocabulary == other.vocabulary

    def test_no_query_is_trained(self, config: Any) -> None:
        world: World = config.build(3)
        facts = {tuple(world.facts.prompt(i)) for i in range(len(world.facts))}
        assert not any(tuple(world.queries.prompt(i)) in facts for i in range(len(world.queries)))

    def test_says_why_queries_are_out_of_distribution(self, config: Any) -> None:
        world: World = config.build(3)
        if world.queries.out_of_distribution.any():
            assert world.why_out_of_distribution

    def test_settings_carry_the_kind(self, config: Any) -> None:
        world: World = config.build(3)
        assert world.settings["kind"] == world.name
        assert world.seed == 3

    def test_roles_are_known_and_tokens_are_in_the_vocabulary(self, config: Any) -> None:
        world: World = config.build(3)
        assert set(world.facts.role_names) <= set(FACT_ROLES)
        assert set(world.queries.role_names) <= set(QUERY_ROLES)
        for part in (world.facts, world.queries):
            assert len(part.prompt_ends) == len(part.answer_ends) == len(part)
            assert len(part.out_of_distribution) == len(part)
            assert {part.role_names[r] for r in part.roles} == set(part.role_names)
            for i in range(len(part)):
                tokens = [*part.prompt(i), *part.answer(i)]
                assert len(part.prompt(i)) >= 1
                assert len(part.answer(i)) >= 1
                assert 0 <= min(tokens) <= max(tokens) < len(world.vocabulary)
        assert not world.facts.out_of_distribution.any()

    def test_no_fact_contradicts_another(self, config: Any) -> None:
        world: World = config.build(3)
        said: dict[tuple[int, ...], tuple[int, ...]] = {}
        for i in range(len(world.facts)):
            answer = tuple(world.facts.answer(i))
            assert said.setdefault(tuple(world.facts.prompt(i)), answer) == answer

    def test_round_trip(self, config: Any, tmp_path: Path) -> None:
        world: World = config.build(3)
        again = load_world(save_world(world, tmp_path / "world"))
        assert again.facts.equals(world.facts)
        assert again.queries.equals(world.queries)
        assert again.vocabulary == world.vocabulary
        assert again.settings == world.settings
        assert (again.name, again.seed) == (world.name, world.seed)
        assert again.why_out_of_distribution == world.why_out_of_distribution
        assert again.complexity == world.complexity


class ModelCase:
    """A model's config; its contract is that of the replica axis."""

    config: Any
    vocabulary: ClassVar[int] = 12
    candidates: ClassVar[list[int] | None] = None

    def build(self, *seeds: int) -> Model:
        model: Model = self.config.build(
            vocabulary=self.vocabulary, seeds=seeds, candidates=self.candidates
        )
        return model

    @property
    def tokens(self) -> torch.Tensor:
        return torch.tensor([[1, 2, 3], [4, 5, 6], [7, 8, 0], [3, 3, 1]])

    def test_every_parameter_starts_with_the_replica_axis(self) -> None:
        assert all(p.shape[0] == 3 for p in self.build(0, 1, 2).parameters())

    @torch.no_grad()
    def test_replicas_are_single_models(self) -> None:
        together = self.build(5, 6, 7)(self.tokens)
        for r, seed in enumerate((5, 6, 7)):
            torch.testing.assert_close(together[r], self.build(seed)(self.tokens)[0])
        assert not torch.allclose(together[0], together[1])

    def test_the_seed_decides_the_start_not_the_place_among_replicas(self) -> None:
        one, other = self.build(5, 6, 7), self.build(7, 5, 6)
        for (name, a), b in zip(one.named_parameters(), other.parameters(), strict=True):
            assert torch.equal(a, b[[1, 2, 0]]), name

    def test_replicas_do_not_touch_each_other(self) -> None:
        model = self.build(5, 6)
        model(self.tokens)[0].square().sum().backward()
        for name, parameter in model.named_parameters():
            assert parameter.grad is not None, name
            assert not parameter.grad[1].any(), name
        assert any(p.grad[0].any() for p in model.parameters() if p.grad is not None)

    def test_runs_on_any_device(self) -> None:
        """No tensor is made on the CPU in passing; ``meta`` refuses to mix."""
        model = self.build(0, 1).to("meta")
        tokens = self.tokens.to("meta")
        k = len(model.candidates)
        for inputs in (tokens, torch.stack([tokens, tokens])):
            said = model(inputs)
            assert (said.device.type, said.shape) == ("meta", (2, 4, 3, k))
        batch = pack([self.tokens, self.tokens[:, :2]]).to("meta")
        assert batch.last.device.type == "meta"
        assert model(batch, at=batch.last).shape == (2, 8, k)
        assert all(s.device.type == "meta" for s in model.hidden(tokens).values())

    @torch.no_grad()
    def test_shapes(self) -> None:
        model = self.build(0, 1)
        k = len(model.candidates)
        assert model(self.tokens).shape == (2, 4, 3, k)
        own = torch.stack([self.tokens, self.tokens.flip(0)])
        said = model(own)
        assert said.shape == (2, 4, 3, k)
        torch.testing.assert_close(said[0], model(self.tokens)[0])
        torch.testing.assert_close(said[1], model(self.tokens.flip(0))[1])

    @torch.no_grad()
    def test_packed_is_the_same_as_apart(self) -> None:
        model = self.build(0, 1)
        groups = [self.tokens[:, :1], self.tokens, self.tokens[:2, :2]]
        batch = pack(groups)
        apart = torch.cat([model(g).flatten(1, 2) for g in groups], dim=1)
        torch.testing.assert_close(model(batch), apart)
        torch.testing.assert_close(model(batch, at=batch.last), apart[:, batch.last])

    @torch.no_grad()
    def test_later_tokens_do_not_change_earlier_logits(self) -> None:
        model = self.build(0)
        changed = self.tokens.clone()
        changed[:, 2] = 9
        torch.testing.assert_close(model(self.tokens)[:, :, :2], model(changed)[:, :, :2])
        assert not torch.allclose(model(self.tokens)[:, :, 2], model(changed)[:, :, 2])

    @torch.no_grad()
    def test_hidden_states_by_filter(self) -> None:
        model = self.build(0, 1)
        every = model.hidden(self.tokens)
        assert tuple(every) == model.layer_names
        last = model.layer_names[-1]
        only = model.hidden(self.tokens, layers=[last])
        assert list(only) == [last]
        assert only[last].shape[:2] == (2, 4)
        torch.testing.assert_close(model.unembed(only[last]), model(self.tokens)[:, :, -1])
        first = model.hidden(self.tokens, at=torch.tensor([0, 3]))[last]
        torch.testing.assert_close(model.unembed(first), model(self.tokens)[:, :2, 0])
        with pytest.raises(ConfigError, match=f"did you mean '{last}'"):
            model.hidden(self.tokens, layers=[last + "s"])

    def test_replicas_train_as_single_models(self) -> None:
        world = TwoHop(n=3).build()
        build = self.config.build
        settings = {"vocabulary": len(world.vocabulary), "candidates": world.outputs.tolist()}
        plan = Curriculum(phases=(Phase(steps=20, optimizer=Optimizer(rate=3e-3)),))
        together = build(seeds=[1, 2], **settings)
        before = [p.detach().clone() for p in together.parameters()]
        train(together, world, plan, seeds=[1, 2])
        alone = build(seeds=[2], **settings)
        train(alone, world, plan, seeds=[2])
        for joint, lone in zip(together.parameters(), alone.parameters(), strict=True):
            torch.testing.assert_close(joint[1], lone[0], atol=5e-5, rtol=1e-3)
        moved = [not torch.equal(a, b) for a, b in zip(before, together.parameters(), strict=True)]
        assert np.mean(moved) > 0.9
