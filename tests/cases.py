"""Contracts: what every world and every model keeps, one base case a concept.

A test class inherits a case and says which world or model it is about; the test of completeness
beside it fails where one is missing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from torch import Tensor

from inweights.config import Config, decode, to_dict
from inweights.errors import ConfigError, DataError
from inweights.models import Model, Packed, pack
from inweights.training import Curriculum, Optimizer, Phase, train
from inweights.worlds import (
    FACT_ROLES,
    QUERY_ROLES,
    Statements,
    TwoHop,
    World,
    load_world,
    save_world,
)

Key = tuple[int, ...]


def prompts_of(part: Statements) -> list[Key]:
    """Prompt of every statement, as tuples."""
    return [tuple(part.prompt(i).tolist()) for i in range(len(part))]


def pairs_of(part: Statements) -> list[tuple[Key, Key]]:
    """Prompt and answer of every statement, as tuples."""
    return [
        (tuple(part.prompt(i).tolist()), tuple(part.answer(i).tolist())) for i in range(len(part))
    ]


class WorldCase:
    """What every world keeps. ``settings`` are a few configs; one of them draws at random."""

    config: ClassVar[type[Any]]
    settings: ClassVar[tuple[dict[str, Any], ...]]
    #: Settings whose world depends on the seed.
    random: ClassVar[dict[str, Any]]

    @pytest.fixture
    def worlds(self) -> list[World]:
        assert self.settings
        return [self.config(**settings).build(seed=3) for settings in self.settings]

    def test_same_seed_same_world(self) -> None:
        for settings in (*self.settings, self.random):
            one, other = (self.config(**settings).build(seed=3) for _ in range(2))
            assert one.facts.equals(other.facts)
            assert one.queries.equals(other.queries)
            assert one.vocabulary == other.vocabulary

    def test_another_seed_another_world(self) -> None:
        one, other = (self.config(**self.random).build(seed=seed) for seed in (3, 4))
        assert not (one.facts.equals(other.facts) and one.queries.equals(other.queries))
        assert one.vocabulary == other.vocabulary

    def test_settings_are_stored_and_make_the_same_world(self, worlds: list[World]) -> None:
        for settings, world in zip(self.settings, worlds, strict=True):
            config = self.config(**settings)
            assert world.settings == to_dict(config)
            assert decode(self.config, world.settings) == config
            assert world.seed == 3

    def test_tokens_are_in_range_and_used(self, worlds: list[World]) -> None:
        for world in worlds:
            for part in (world.facts, world.queries):
                for ids in (part.prompts, part.answers):
                    assert ids.dtype == np.int64
                    assert ids.min() >= 0
                    assert ids.max() < len(world.vocabulary)
            assert len(world.inputs) <= len(world.vocabulary)

    def test_roles_are_known(self, worlds: list[World]) -> None:
        for world in worlds:
            assert set(world.facts.role_names) <= set(FACT_ROLES)
            assert set(world.queries.role_names) <= set(QUERY_ROLES)
            for part in (world.facts, world.queries):
                counts = [len(part.with_role(role)) for role in part.role_names]
                assert min(counts) > 0
                assert sum(counts) == len(part)
                with pytest.raises(DataError, match=part.role_names[0]):
                    part.with_role(part.role_names[0] + "x")

    def test_no_query_is_a_fact(self, worlds: list[World]) -> None:
        for world in worlds:
            assert len(world.queries)
            assert not set(prompts_of(world.queries)) & set(prompts_of(world.facts))

    def test_every_prompt_once_and_of_one_role(self, worlds: list[World]) -> None:
        for world in worlds:
            for part in (world.facts, world.queries):
                prompts = prompts_of(part)
                assert len(set(prompts)) == len(prompts)

    def test_queries_say_what_is_out_of_distribution(self, worlds: list[World]) -> None:
        for world in worlds:
            assert len(world.queries.out_of_distribution) == len(world.queries)
            assert not world.facts.out_of_distribution.any()
            assert world.why_out_of_distribution

    def test_saved_and_loaded(self, worlds: list[World], tmp_path: Path) -> None:
        for i, world in enumerate(worlds):
            folder = save_world(world, tmp_path / str(i))
            assert sorted(p.name for p in tmp_path.iterdir()) == [str(j) for j in range(i + 1)]
            loaded = load_world(folder)
            assert loaded.facts.equals(world.facts)
            assert loaded.queries.equals(world.queries)
            assert loaded.vocabulary == world.vocabulary
            for name in ("name", "settings", "seed", "why_out_of_distribution", "complexity"):
                assert getattr(loaded, name) == getattr(world, name), name
            for part, again in ((world.facts, loaded.facts), (world.queries, loaded.queries)):
                assert again.roles.dtype == part.roles.dtype
                assert again.prompts.dtype == part.prompts.dtype

    def test_a_folder_is_never_overwritten(self, worlds: list[World], tmp_path: Path) -> None:
        folder = save_world(worlds[0], tmp_path / "world")
        before = (folder / "facts.parquet").read_bytes()
        with pytest.raises(DataError, match="exists already"):
            save_world(worlds[-1], folder)
        assert (folder / "facts.parquet").read_bytes() == before

    @pytest.mark.slow
    def test_loads_as_a_hugging_face_dataset(
        self, worlds: list[World], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        datasets = pytest.importorskip("datasets", reason="needs inweights[hf]")
        monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
        for i, world in enumerate(worlds):
            folder = save_world(world, tmp_path / str(i))
            loaded = datasets.load_dataset(str(folder), cache_dir=str(tmp_path / "cache"))
            assert set(loaded) == {"facts", "queries"}
            for name, part in (("facts", world.facts), ("queries", world.queries)):
                rows = loaded[name]
                assert [
                    (tuple(row["prompt"]), tuple(row["answer"])) for row in rows
                ] == pairs_of(part)
                assert list(rows["role"]) == [part.role_names[r] for r in part.roles]
                assert list(rows["out_of_distribution"]) == part.out_of_distribution.tolist()
                assert rows[0]["prompt_text"] == world.vocabulary.text(part.prompt(0))


class ModelCase:
    """What every model keeps. ``configs`` differ in what may break the replica axis."""

    #: The class of the model, for the test that none is missing.
    model: ClassVar[type[Model]]
    configs: ClassVar[tuple[Any, ...]]

    vocabulary: ClassVar[int] = 15  # of the world below
    seeds: ClassVar[tuple[int, ...]] = (5, 0, 9)

    @pytest.fixture(params=range(8))
    def config(self, request: pytest.FixtureRequest) -> Config:
        """Each of ``configs`` in turn."""
        if request.param >= len(self.configs):
            pytest.skip("there is no such config; lifted by adding one to `configs`")
        return self.configs[request.param]

    def build(self, config: Any, seeds: tuple[int, ...] | None = None) -> Model:
        return config.build(vocabulary=self.vocabulary, seeds=self.seeds if seeds is None else seeds)
