"""A world: its vocabulary, facts to train on, and queries that are never trained on.

Families of worlds build :class:`World` objects; curricula and probes use them. All
columns are NumPy arrays, so that a million facts need little memory. This module does
not import torch.
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
from inweights.worlds.statements import Statement, Statements
from inweights.worlds.vocabulary import Ids, Vocabulary

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "FACT_ROLES",
    "QUERY_ROLES",
    "Ids",
    "Statement",
    "Statements",
    "Vocabulary",
    "World",
    "Worlds",
]

#: Roles of the facts of built-in worlds. A user's world may have others.
FACT_ROLES = (
    "first_hop",
    "second_hop",
    "identity",
    "two_hop",
    "chain",
    "category",
    "similarity",
    "attribution",
    "edge",
    "reverse_edge",
    "self_edge",
    "moved_edge",
    "moved_reverse_edge",
    "path",
    "triple",
    "turned",
    "counter_example",
    "further",
)
#: Roles of the queries of built-in worlds.
QUERY_ROLES = (
    "composition",
    "chain",
    "reversal",
    "implication",
    "unstated",
    "conclusion",
    "path",
    "first_unseen",
    "second_unseen",
    "both_unseen",
)


@dataclass(frozen=True, eq=False)
class World:
    """A vocabulary, with facts and queries about its tokens.

    Attributes:
        name: Name of the world's family, such as ``two-hop``.
        vocabulary: All tokens.
        facts: Statements on which a model is trained; each is a prompt with one answer.
        queries: Statements on which a model is never trained; each is a prompt with the
            set of its correct answers. Queries with the same role and prompt are
            merged.
        settings: The resolved config from which the world was built, with its ``kind``;
            empty if there is none.
        seed: Root seed with which the world was built.
        why_out_of_distribution: Explanation of why the queries are out of distribution;
            may be empty.
        asks: Text that says which kinds of queries were generated, and how to generate
            others; may be empty.

    Raises:
        DataError: A token id is not in the vocabulary.
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
                if tokens.size and not 0 <= tokens.min() <= tokens.max() < len(
                    self.vocabulary
                ):
                    raise DataError(
                        f"the token ids of a {kind} must be from 0 to {len(self.vocabulary) - 1}"
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
        """Build the world of a config, from statements or from matrices for each role.

        Args:
            config: Config of the world; its tag becomes the name of the world, and its
                fields become the settings.
            seed: Root seed. It is only recorded; this method draws no random numbers.
            vocabulary: All tokens.
            facts: Statements; or a dictionary that maps the name of a role to a pair of
                prompts ``[m, T]`` and answers ``[m, A]``, as token ids.
            queries: Queries, in one of the forms that ``facts`` can have.
            why: Explanation of why the queries are out of distribution.
            out_of_distribution: Whether each query is out of distribution: one value
                per query, or a single value for all. It has no effect if ``queries`` is
                :class:`Statements`, which contains this information.

        Raises:
            DataError: Prompts and answers of a role are not matrices of integers with
                the same number of rows, the length of ``out_of_distribution`` differs
                from the number of queries, or a token id is not in the vocabulary.

        """
        if not isinstance(facts, Statements):
            facts = Statements.build(facts)
        if not isinstance(queries, Statements):
            queries = Statements.build(queries, out_of_distribution)
        name = str(config.__struct_config__.tag)
        return cls(name, vocabulary, facts, queries, to_plain(config), seed, why)

    @cached_property
    def inputs(self) -> Ids:
        """Ids of all tokens that occur in prompts, ascending: ``V_in`` of Identity Bridge §3.3."""
        return np.unique(np.concatenate([self.facts.prompts, self.queries.prompts]))

    @cached_property
    def outputs(self) -> Ids:
        """Ids of all tokens that occur in answers, ascending: ``V_out`` of Identity Bridge §3.3."""
        further = self.queries.further[:, 1]
        return np.unique(
            np.concatenate([self.facts.answers, self.queries.answers, further])
        )

    @cached_property
    def chances(self) -> Float[Floats, " Q"]:
        """Probability that a random token of :attr:`outputs` is correct for each query, ``[Q]``.

        Example:
            >>> from inweights.worlds import TwoHop
            >>> world = TwoHop(n=3).build()
            >>> len(world.outputs), world.chances.round(2).tolist()
            (6, [0.17, 0.17, 0.17])
        """
        return self.queries.right_counts / max(len(self.outputs), 1)

    @cached_property
    def complexity(self) -> int:
        """Largest number of objects that a single subject reaches (Identity Bridge §3.2).

        A subject is the first token of a prompt, and an object is the last token of a
        correct answer. Facts with the role ``two_hop`` and queries with the role
        ``composition`` are considered. The value is 0 if the world has neither.
        """
        reached: dict[int, set[int]] = {}
        for part, role in ((self.facts, "two_hop"), (self.queries, "composition")):
            if role not in part.role_names:
                continue
            for row in part.with_role(role).tolist():
                answers = reached.setdefault(int(part.prompt(row)[0]), set())
                answers.add(int(part.answer(row)[-1]))
                answers.update(part.further[part.further[:, 0] == row, 1].tolist())
        return max(map(len, reached.values()), default=0)

    def table(self) -> pl.DataFrame:
        """Return a table of all facts and queries, with the names of their tokens.

        Returns:
            One row per statement, facts first: ``part`` (``facts`` or ``queries``),
            ``role``, ``prompt`` and ``answer`` (names of tokens, joined by spaces),
            ``out_of_distribution`` (whether the query is out of distribution; False for
            facts of the built-in worlds), ``right_answers`` (number of correct answers
            to this prompt; ``answer`` is one of them).

        Example:
            >>> from inweights.worlds import TwoHop
            >>> TwoHop(n=3).build().table().rows()[0]
            ('facts', 'first_hop', 'a1 r1', 'b1', False, 1)
        """
        import polars as pl

        text = self.vocabulary.text
        rows: list[tuple[str | bool | int, ...]] = []
        for part, statements in (("facts", self.facts), ("queries", self.queries)):
            outside = statements.out_of_distribution.tolist()
            counts = statements.right_counts.tolist()
            for statement, out, count in zip(statements, outside, counts, strict=True):
                prompt = text(statement.prompt)
                answer = text(statement.answer)
                rows.append((part, statement.role, prompt, answer, out, count))
        schema = {
            "part": pl.String,
            "role": pl.String,
            "prompt": pl.String,
            "answer": pl.String,
            "out_of_distribution": pl.Boolean,
            "right_answers": pl.Int64,
        }
        return pl.DataFrame(rows, schema, orient="row")

    def with_facts(self, role: str, prompts: Ids, answers: Ids) -> World:
        """Return a copy of this world with additional facts of one role, after the existing ones.

        Args:
            role: Role of the new facts: one of ``world.facts.role_names``, or a new
                name.
            prompts: Token ids of ``m`` prompts, ``[m, T]``.
            answers: Token ids of their answers, ``[m, A]``.

        Raises:
            DataError: Prompts and answers are not matrices of integers with the same
                number of rows, or a token id is not in the vocabulary.

        Example:
            >>> from inweights.worlds import TwoHop
            >>> bare = TwoHop(n=3, identity=False).build()
            >>> bridge = bare.vocabulary["bridge"][:2, None]
            >>> bare.with_facts("identity", bridge, bridge)
            World('two-hop', 11 tokens, 8 facts, 3 queries, seed=0)
        """
        return replace(
            self, facts=self.facts.joined(Statements.build({role: (prompts, answers)}))
        )

    #: :meth:`table` under the name that other libraries use.
    to_frame = table

    def _repr_html_(self) -> str:
        text = self.vocabulary.text
        rows = []
        for part, statements in (("facts", self.facts), ("queries", self.queries)):
            for role in statements.role_names:
                indices = statements.with_role(role)
                if len(indices):
                    first = statements[int(indices[0])]
                    words = f"{text(first.prompt)} → {text(first.answer)}"
                    rows.append((part, role, len(indices), words))
        about = {"tokens": len(self.vocabulary), "seed": self.seed}
        return Card(
            self.name, about, ("part", "role", "number", "first one"), rows
        ).html

    def __repr__(self) -> str:
        asks = f" ({self.asks})" if self.asks else ""
        return (
            f"World({self.name!r}, {plural(len(self.vocabulary), 'token')}, "
            f"{plural(len(self.facts), 'fact')}, {plural(len(self.queries), 'query', 'queries')}"
            f"{asks}, seed={self.seed})"
        )


#: One world for all replicas of a model, or one world for each replica.
Worlds = World | Sequence[World]
