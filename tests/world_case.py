"""The contract that every world satisfies.

A test class inherits the case and states its configs; another test fails if a world has no
test class.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from inweights.config import decode, to_plain
from inweights.errors import DataError
from inweights.worlds import FACT_ROLES, QUERY_ROLES, Statements, load_world, save_world


def prompts_of(part: Statements) -> list[tuple[int, ...]]:
    """Return the prompt of every statement."""
    return [tuple(part.prompt(i).tolist()) for i in range(len(part))]


class WorldCase:
    """The contract of worlds, tested for each of ``configs`` (see ``conftest.py``)."""

    configs: ClassVar[Sequence[Any]]
    #: Whether the worlds have queries; the rest of the contract applies without them.
    asked: ClassVar[bool] = True

    def test_same_seed_same_world(self, config: Any) -> None:
        one, other = config.build(seed=3), config.build(seed=3)
        assert one.facts.equals(other.facts)
        assert one.queries.equals(other.queries)
        assert one.vocabulary == other.vocabulary

    def test_seeds_change_statements_and_nothing_else(self, config: Any) -> None:
        """The numbers of tokens and of statements per role do not depend on the seed."""
        one, other = config.build(seed=3), config.build(seed=4)
        assert one.vocabulary == other.vocabulary
        for part in ("facts", "queries"):
            mine, theirs = getattr(one, part), getattr(other, part)
            assert mine.role_names == theirs.role_names
            for column in ("roles", "prompt_ends", "answer_ends"):
                assert np.array_equal(getattr(mine, column), getattr(theirs, column)), (
                    column
                )

    def test_some_config_follows_the_seed(self) -> None:
        worlds = [(c.build(seed=3), c.build(seed=4)) for c in self.configs]
        assert any(not a.facts.equals(b.facts) for a, b in worlds)

    def test_settings_and_seed_are_kept(self, config: Any) -> None:
        world = config.build(seed=3)
        assert world.settings == to_plain(config)
        assert decode(type(config), world.settings) == config
        assert world.seed == 3

    def test_roles_are_known(self, config: Any) -> None:
        world = config.build(seed=3)
        for part, known in ((world.facts, FACT_ROLES), (world.queries, QUERY_ROLES)):
            assert bool(part.role_names) == (self.asked or part is world.facts)
            assert set(part.role_names) <= set(known)
            if not part.role_names:
                assert len(part) == 0
                continue
            counts = [len(part.with_role(role)) for role in part.role_names]
            assert min(counts) > 0
            assert sum(counts) == len(part)
            with pytest.raises(DataError, match=f"did you mean '{part.role_names[0]}'"):
                part.with_role(part.role_names[0] + "x")

    def test_token_ids_are_in_range(self, config: Any) -> None:
        world = config.build(seed=3)
        for part in (world.facts, world.queries):
            for ids in (part.prompts, part.answers):
                assert ids.dtype == np.int64
                assert ids.size or not (self.asked or part is world.facts)
                assert ((ids >= 0) & (ids < len(world.vocabulary))).all()

    def test_groups_of_tokens_are_disjoint_and_cover_the_vocabulary(
        self, config: Any
    ) -> None:
        words = config.build(seed=3).vocabulary
        ids = np.concatenate([words[group] for group in words.groups])
        assert ids.tolist() == list(range(len(words)))
        assert [words.id(name) for name in words.names] == ids.tolist()

    def test_statements_in_words_and_one_by_one(self, config: Any) -> None:
        world = config.build(seed=3)
        table, name = world.table(), world.vocabulary.names
        columns = [
            "part",
            "role",
            "prompt",
            "answer",
            "out_of_distribution",
            "right_answers",
        ]
        assert table.columns == columns
        for part in ("facts", "queries"):
            rows, statements = table.filter(part=part), getattr(world, part)
            assert (
                rows["out_of_distribution"].to_list()
                == statements.out_of_distribution.tolist()
            )
            right = [
                len(statements.right_answers(index)) for index in range(len(statements))
            ]
            assert rows["right_answers"].to_list() == right
            for index, one in enumerate(statements):
                assert one == statements[index] == statements[index - len(statements)]
                assert index in statements.with_role(one.role)
                assert one.prompt == tuple(statements.prompt(index))
                prompt, answer = (" ".join(name[i] for i in ids) for ids in one[1:])
                assert rows.row(index)[1:4] == (one.role, prompt, answer)
            assert statements[1:5:2] == list(statements)[1:5:2]
            for outside in (len(statements), -len(statements) - 1):
                with pytest.raises(
                    IndexError, match=f"index {outside} is out of range"
                ):
                    statements[outside]
        assert max(len(repr(x)) for x in (world, world.facts, world.vocabulary)) < 200

    def test_no_query_is_a_fact(self, config: Any) -> None:
        world = config.build(seed=3)
        assert bool(len(world.queries)) == self.asked
        assert not set(prompts_of(world.queries)) & set(prompts_of(world.facts))

    def test_no_prompt_twice(self, config: Any) -> None:
        world = config.build(seed=3)
        for part in (world.facts, world.queries):
            assert len(set(prompts_of(part))) == len(part)

    def test_queries_say_what_is_out_of_distribution(self, config: Any) -> None:
        world = config.build(seed=3)
        assert world.queries.out_of_distribution.shape == (len(world.queries),)
        assert not world.facts.out_of_distribution.any()
        assert bool(world.why_out_of_distribution) == self.asked

    def test_saved_and_loaded(self, config: Any, tmp_path: Path) -> None:
        world = config.build(seed=3)
        again = load_world(save_world(world, tmp_path / "world"))
        assert [p.name for p in tmp_path.iterdir()] == ["world"]
        for name in (
            "name",
            "vocabulary",
            "settings",
            "seed",
            "why_out_of_distribution",
        ):
            assert getattr(again, name) == getattr(world, name), name
        for part in ("facts", "queries"):
            mine, read = getattr(world, part), getattr(again, part)
            assert read.equals(mine)
            for column in mine.__dataclass_fields__:
                if column != "role_names":
                    assert getattr(read, column).dtype == getattr(mine, column).dtype, (
                        column
                    )
