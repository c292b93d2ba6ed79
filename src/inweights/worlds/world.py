"""What is true: a vocabulary, facts that are trained and queries that never are.

All columns are NumPy arrays, so that a million facts are cheap. Nothing here imports torch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from inweights.errors import DataError, unknown_name
from inweights.support.progress import plural
from inweights.worlds.vocabulary import Ids, Vocabulary, counted

if TYPE_CHECKING:
    import polars as pl

__all__ = ["FACT_ROLES", "QUERY_ROLES", "Ids", "Statement", "Statements", "Vocabulary", "World"]

#: Roles that facts of the built-in worlds have. A world of one's own may use others.
FACT_ROLES = (
    "first_hop",
    "second_hop",
    "identity",
    "two_hop",
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
)
#: Roles that queries of the built-in worlds have.
QUERY_ROLES = (
    "composition",
    "chain",
    "reversal",
    "implication",
    "unstated",
    "conclusion",
    "path",
)


class Statement(NamedTuple):
    """One statement, in token ids.

    Attributes:
        role: Its role.
        prompt: Ids of the prompt.
        answer: Ids of the answer.
    """

    role: str
    prompt: tuple[int, ...]
    answer: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Statements:
    """Many statements ``prompt tokens → answer tokens``, each with a role, in columns.

    They can be walked through and picked one by one; :meth:`World.table` has them in words.

    Attributes:
        prompts: All prompt tokens, one statement after another.
        prompt_ends: Where each statement's prompt ends in ``prompts``, ``[M]``.
        answers: All answer tokens, likewise.
        answer_ends: Where each statement's answer ends, ``[M]``.
        roles: Role of each statement, an index into ``role_names``, ``[M]``.
        role_names: Names of the roles.
        out_of_distribution: Whether a query is out of distribution, ``[M]``.

    Example:
        >>> hops = Statements.build({"edge": ([[0], [1]], [[1], [2]])})
        >>> hops
        Statements(2: 2 edge)
        >>> hops[-1]
        Statement(role='edge', prompt=(1,), answer=(2,))
        >>> [fact.answer for fact in hops]
        [(1,), (2,)]
    """

    prompts: Ids
    prompt_ends: Ids
    answers: Ids
    answer_ends: Ids
    roles: NDArray[np.int16]
    role_names: tuple[str, ...]
    out_of_distribution: NDArray[np.bool_]

    @classmethod
    def build(
        cls,
        parts: Mapping[str, tuple[Any, Any]],
        out_of_distribution: NDArray[np.bool_] | None = None,
    ) -> Statements:
        """Build from one pair of matrices a role: prompts ``[m, T]`` and answers ``[m, A]``.

        Roles without statements are left out.

        Example:
            >>> hops = Statements.build({"edge": ([[0], [1]], [[1], [2]])})
            >>> len(hops), hops.role_names
            (2, ('edge',))
        """
        pairs = {
            role: (np.asarray(p, dtype=np.int64), np.asarray(a, dtype=np.int64))
            for role, (p, a) in parts.items()
            if len(p)
        }
        for role, (prompt, answer) in pairs.items():
            if prompt.ndim != 2 or answer.ndim != 2 or len(prompt) != len(answer):
                raise DataError(
                    f"role '{role}': prompts and answers must be matrices with one row per "
                    f"statement, got shapes {prompt.shape} and {answer.shape}"
                )
        counts = [len(p) for p, _ in pairs.values()]
        empty = np.zeros(0, dtype=np.int64)

        def flat(side: int) -> tuple[Ids, Ids]:
            columns = [pair[side] for pair in pairs.values()]
            lengths = [np.full(len(c), c.shape[1]) for c in columns]
            tokens = np.concatenate([empty, *(c.ravel() for c in columns)])
            return tokens, np.cumsum(np.concatenate([empty, *lengths]))

        prompts, prompt_ends = flat(0)
        answers, answer_ends = flat(1)
        roles = np.repeat(np.arange(len(pairs), dtype=np.int16), counts)
        ood = (
            np.zeros(len(roles), dtype=bool) if out_of_distribution is None else out_of_distribution
        )
        if ood.shape != roles.shape:
            raise DataError(
                f"out_of_distribution has shape {ood.shape}; there are {len(roles)} statements"
            )
        return cls(prompts, prompt_ends, answers, answer_ends, roles, tuple(pairs), ood)

    def __len__(self) -> int:
        return len(self.roles)

    def __iter__(self) -> Iterator[Statement]:
        return (self[index] for index in range(len(self)))

    @overload
    def __getitem__(self, index: int) -> Statement: ...
    @overload
    def __getitem__(self, index: slice) -> list[Statement]: ...
    def __getitem__(self, index: int | slice) -> Statement | list[Statement]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(f"there is no statement {index}; there are {len(self)}")
        place = index % len(self)
        return Statement(
            self.role_names[self.roles[place]],
            tuple(self.prompt(place).tolist()),
            tuple(self.answer(place).tolist()),
        )

    def __repr__(self) -> str:
        counts = np.bincount(self.roles, minlength=len(self.role_names))
        roles = (counted(n, role) for n, role in zip(counts, self.role_names, strict=True))
        return f"Statements({len(self):,}{': ' * bool(len(self))}{', '.join(roles)})"

    def prompt(self, index: int) -> Ids:
        """Prompt tokens of statement ``index``."""
        return self.prompts[self.prompt_ends[index - 1] if index else 0 : self.prompt_ends[index]]

    def answer(self, index: int) -> Ids:
        """Answer tokens of statement ``index``."""
        return self.answers[self.answer_ends[index - 1] if index else 0 : self.answer_ends[index]]

    def with_role(self, role: str) -> Ids:
        """Indices of the statements with a role.

        Raises:
            DataError: No statement has it; says which roles there are.
        """
        if role not in self.role_names:
            raise unknown_name("role", role, self.role_names, error=DataError)
        return np.flatnonzero(self.roles == self.role_names.index(role))

    def matrix(self, indices: Ids) -> tuple[Ids, Ids]:
        """Prompts ``[m, T]`` and answers ``[m, A]`` of statements that all have one shape."""
        rows = [(self.prompt(int(i)), self.answer(int(i))) for i in indices]
        return np.stack([p for p, _ in rows]), np.stack([a for _, a in rows])

    def by_shape(self, indices: Ids | None = None) -> Iterator[tuple[Ids, Ids, Ids]]:
        """Yield ``(indices, prompts [m, T], answers [m, A])`` for every pair of lengths."""
        chosen = np.arange(len(self)) if indices is None else indices
        t = np.diff(self.prompt_ends, prepend=0)[chosen]
        a = np.diff(self.answer_ends, prepend=0)[chosen]
        for length, width in sorted({(int(x), int(y)) for x, y in zip(t, a, strict=True)}):
            rows = chosen[(t == length) & (a == width)]
            prompts = self.prompts[(self.prompt_ends[rows] - length)[:, None] + np.arange(length)]
            answers = self.answers[(self.answer_ends[rows] - width)[:, None] + np.arange(width)]
            yield rows, prompts, answers

    def joined(self, other: Statements) -> Statements:
        """These statements, then those of ``other``."""
        names = tuple(dict.fromkeys([*self.role_names, *other.role_names]))
        places = np.array([names.index(name) for name in other.role_names], dtype=np.int16)
        ends = [
            np.concatenate([mine, theirs + (mine[-1] if len(mine) else 0)])
            for mine, theirs in (
                (self.prompt_ends, other.prompt_ends),
                (self.answer_ends, other.answer_ends),
            )
        ]
        return Statements(
            np.concatenate([self.prompts, other.prompts]),
            ends[0],
            np.concatenate([self.answers, other.answers]),
            ends[1],
            np.concatenate([self.roles, places[other.roles]]),
            names,
            np.concatenate([self.out_of_distribution, other.out_of_distribution]),
        )

    def equals(self, other: Statements) -> bool:
        """Whether both hold the same statements in the same order."""
        return self.role_names == other.role_names and all(
            np.array_equal(getattr(self, column), getattr(other, column))
            for column in self.__dataclass_fields__
            if column != "role_names"
        )


@dataclass(frozen=True, eq=False)
class World:
    """A vocabulary, facts and queries.

    Attributes:
        name: Name of the world's family.
        vocabulary: All tokens.
        facts: What is trained.
        queries: What is never trained.
        settings: The resolved config that made the world, with its ``kind``.
        seed: Root seed that made it.
        why_out_of_distribution: By what rule a query is out of distribution.
    """

    name: str
    vocabulary: Vocabulary
    facts: Statements
    queries: Statements
    settings: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    why_out_of_distribution: str = ""

    def __post_init__(self) -> None:
        for kind, part in (("fact", self.facts), ("query", self.queries)):
            for tokens in (part.prompts, part.answers):
                if tokens.size and not 0 <= tokens.min() <= tokens.max() < len(self.vocabulary):
                    raise DataError(
                        f"a {kind} has a token id outside 0 to {len(self.vocabulary) - 1}"
                    )

    @cached_property
    def inputs(self) -> Ids:
        """Tokens that occur in a prompt, sorted: ``V_in`` of Identity Bridge §3.3."""
        return np.unique(np.concatenate([self.facts.prompts, self.queries.prompts]))

    @cached_property
    def outputs(self) -> Ids:
        """Tokens that occur in an answer, sorted: ``V_out`` of Identity Bridge §3.3."""
        return np.unique(np.concatenate([self.facts.answers, self.queries.answers]))

    @cached_property
    def complexity(self) -> int:
        """Largest number of objects that a subject reaches (Identity Bridge §3.2).

        Counted over compositions, trained ones (``two_hop``) and queries alike. 0 where the world
        has none.
        """
        reached: dict[int, set[int]] = {}
        for part, role in ((self.facts, "two_hop"), (self.queries, "composition")):
            if role in part.role_names:
                prompts, answers = part.matrix(part.with_role(role))
                for subject, answer in zip(prompts[:, 0], answers[:, -1], strict=True):
                    reached.setdefault(int(subject), set()).add(int(answer))
        return max((len(objects) for objects in reached.values()), default=0)

    def table(self) -> pl.DataFrame:
        """Return every statement in words.

        Returns:
            A row for each: ``part`` (facts or queries), ``role``, ``prompt`` and ``answer`` (names,
            with spaces between), ``out_of_distribution``.

        Example:
            >>> from inweights.worlds import TwoHop
            >>> TwoHop(n=3).build().table().rows()[0]
            ('facts', 'first_hop', 'a1 r1', 'b1', False)
        """
        import polars as pl

        parts = (("facts", self.facts), ("queries", self.queries))
        rows = [
            (part, role, self.vocabulary.text(prompt), self.vocabulary.text(answer), bool(out))
            for part, statements in parts
            for (role, prompt, answer), out in zip(
                statements, statements.out_of_distribution, strict=True
            )
        ]
        words = dict.fromkeys(("part", "role", "prompt", "answer"), pl.String)
        return pl.DataFrame(rows, {**words, "out_of_distribution": pl.Boolean}, orient="row")

    def with_facts(self, role: str, prompts: Ids, answers: Ids) -> World:
        """Return this world with more facts of one role: prompts ``[m, T]``, answers ``[m, A]``.

        Example:
            >>> from inweights.worlds import TwoHop
            >>> bare = TwoHop(n=3, identity=False).build()
            >>> bridge = bare.vocabulary["bridge"][:2, None]
            >>> bare.with_facts("identity", bridge, bridge)
            World('two-hop', 11 tokens, 8 facts, 3 queries, seed=0)
        """
        more = Statements.build({role: (prompts, answers)})
        return replace(self, facts=self.facts.joined(more))

    def __repr__(self) -> str:
        return (
            f"World({self.name!r}, {plural(len(self.vocabulary), 'token')}, "
            f"{plural(len(self.facts), 'fact')}, {plural(len(self.queries), 'query', 'queries')}, "
            f"seed={self.seed})"
        )
