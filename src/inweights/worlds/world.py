"""What is true: a vocabulary, facts that are trained and queries that never are.

All columns are NumPy arrays, so that a million facts are cheap. Nothing here imports torch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from inweights.config import to_plain
from inweights.errors import DataError
from inweights.support.border import guarded
from inweights.support.progress import plural
from inweights.support.showing import Card
from inweights.worlds.arrays import Bools, Float, Floats
from inweights.worlds.statements import FACT_ROLES, QUERY_ROLES, Statement, Statements
from inweights.worlds.vocabulary import Ids, Vocabulary

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "FACT_ROLES", "QUERY_ROLES", "Ids", "Statement", "Statements", "Vocabulary", "World", "Worlds",
]  # fmt: skip


@dataclass(frozen=True, eq=False)
class World:
    """A vocabulary, facts and queries.

    Attributes:
        name: Name of the world's family.
        vocabulary: All tokens.
        facts: What is trained: each is a prompt with one answer.
        queries: What is never trained: each is a prompt with the set of its right answers. Those
            of one role that are given with one prompt become one.
        settings: The resolved config that made the world, with its ``kind``.
        seed: Root seed that made it.
        why_out_of_distribution: By what rule a query is out of distribution.
        asks: Which kinds of queries were generated, and how to have the others, in words.
    """

    name: str
    vocabulary: Vocabulary
    facts: Statements
    queries: Statements
    settings: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    why_out_of_distribution: str = ""
    asks: str = ""

    @guarded
    def __post_init__(self) -> None:
        object.__setattr__(self, "queries", self.queries.by_prompt())
        for kind, part in (("fact", self.facts), ("query", self.queries)):
            for tokens in (part.prompts, part.answers, part.further[:, 1]):
                if tokens.size and not 0 <= tokens.min() <= tokens.max() < len(self.vocabulary):
                    raise DataError(
                        f"a {kind} has a token id outside 0 to {len(self.vocabulary) - 1}"
                    )

    @classmethod
    def of(
        cls,
        config: msgspec.Struct,
        seed: int,
        vocabulary: Vocabulary,
        facts: Statements | Mapping[str, tuple[Ids, Ids]],
        queries: Statements | Mapping[str, tuple[Ids, Ids]],
        why: str = "",
        *,
        out_of_distribution: Bools | bool = True,
    ) -> World:
        """Make the world of a config, from statements or from matrices by role."""
        if not isinstance(facts, Statements):
            facts = Statements.build(facts)
        if not isinstance(queries, Statements):
            queries = Statements.build(queries, out_of_distribution)
        name = str(config.__struct_config__.tag)
        return cls(name, vocabulary, facts, queries, to_plain(config), seed, why)

    @cached_property
    def inputs(self) -> Ids:
        """Tokens that occur in a prompt, sorted: ``V_in`` of Identity Bridge §3.3."""
        return np.unique(np.concatenate([self.facts.prompts, self.queries.prompts]))

    @cached_property
    def outputs(self) -> Ids:
        """Tokens that occur in an answer, sorted: ``V_out`` of Identity Bridge §3.3."""
        further = self.queries.further[:, 1]
        return np.unique(np.concatenate([self.facts.answers, self.queries.answers, further]))

    @cached_property
    def chances(self) -> Float[Floats, " Q"]:
        """How likely a guess is right for each query: the share of the outputs that is right.

        Example:
            >>> from inweights.worlds import TwoHop
            >>> world = TwoHop(n=3).build()
            >>> len(world.outputs), world.chances.round(2).tolist()
            (6, [0.17, 0.17, 0.17])
        """
        return self.queries.right_counts / max(len(self.outputs), 1)

    @cached_property
    def complexity(self) -> int:
        """Largest number of objects that a subject reaches (Identity Bridge §3.2).

        Counted over compositions, trained ones (``two_hop``) and queries alike. 0 where the world
        has none.
        """
        reached: dict[int, set[int]] = {}
        for part, role in ((self.facts, "two_hop"), (self.queries, "composition")):
            if role in part.role_names:
                for row in part.with_role(role).tolist():
                    answers = reached.setdefault(int(part.prompt(row)[0]), set())
                    answers.add(int(part.answer(row)[-1]))
                    answers.update(part.further[part.further[:, 0] == row, 1].tolist())
        return max((len(objects) for objects in reached.values()), default=0)

    def table(self) -> pl.DataFrame:
        """Return every statement in words.

        Returns:
            A row for each: ``part`` (facts or queries), ``role``, ``prompt`` and ``answer`` (names,
            with spaces between), ``out_of_distribution``, ``right_answers`` (how many answers are
            right to this prompt; ``answer`` is the first of them).

        Example:
            >>> from inweights.worlds import TwoHop
            >>> TwoHop(n=3).build().table().rows()[0]
            ('facts', 'first_hop', 'a1 r1', 'b1', False, 1)
        """
        import polars as pl

        rows = [
            (part, role, self.vocabulary.text(prompt), self.vocabulary.text(answer), *rest)
            for part, statements in (("facts", self.facts), ("queries", self.queries))
            for (role, prompt, answer), *rest in zip(
                statements,
                statements.out_of_distribution.tolist(),
                statements.right_counts.tolist(),
                strict=True,
            )
        ]
        words = dict.fromkeys(("part", "role", "prompt", "answer"), pl.String)
        rest = {"out_of_distribution": pl.Boolean, "right_answers": pl.Int64}
        return pl.DataFrame(rows, {**words, **rest}, orient="row")

    def with_facts(self, role: str, prompts: Ids, answers: Ids) -> World:
        """Return this world with more facts of one role: prompts ``[m, T]``, answers ``[m, A]``.

        Example:
            >>> from inweights.worlds import TwoHop
            >>> bare = TwoHop(n=3, identity=False).build()
            >>> bridge = bare.vocabulary["bridge"][:2, None]
            >>> bare.with_facts("identity", bridge, bridge)
            World('two-hop', 11 tokens, 8 facts, 3 queries, seed=0)
        """
        return replace(self, facts=self.facts.joined(Statements.build({role: (prompts, answers)})))

    #: The name that other libraries have for it.
    to_frame = table

    def _repr_html_(self) -> str:
        roles = [
            (part, role, len(indices), column[int(indices[0])])
            for part, column in (("facts", self.facts), ("queries", self.queries))
            for role in column.role_names
            if len(indices := column.with_role(role))
        ]
        words = self.vocabulary.text
        rows = [(*r, f"{words(one.prompt)} → {words(one.answer)}") for *r, one in roles]
        about = {"tokens": len(self.vocabulary), "seed": self.seed}
        return Card(self.name, about, ("part", "role", "number", "first one"), rows).html

    def __repr__(self) -> str:
        asks = f" ({self.asks})" if self.asks else ""
        return (
            f"World({self.name!r}, {plural(len(self.vocabulary), 'token')}, "
            f"{plural(len(self.facts), 'fact')}, {plural(len(self.queries), 'query', 'queries')}"
            f"{asks}, seed={self.seed})"
        )


#: One world for all replicas of a model, or one for each.
Worlds = World | Sequence[World]
