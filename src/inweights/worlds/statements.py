"""Statements ``prompt → answer`` with roles, in columns: what facts and queries are made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from inweights.errors import DataError, check_names
from inweights.worlds.arrays import Bools, Int
from inweights.worlds.right_answers import RightAnswers, merged_rows, nothing_further
from inweights.worlds.vocabulary import Ids, counted

#: Roles that facts of the built-in worlds have. A world of one's own may use others.
FACT_ROLES = (
    "first_hop", "second_hop", "identity", "two_hop", "chain", "category", "similarity",
    "attribution", "edge", "reverse_edge", "self_edge", "moved_edge", "moved_reverse_edge", "path",
    "triple", "turned", "counter_example",
)  # fmt: skip
#: Roles that queries of the built-in worlds have.
QUERY_ROLES = (
    "composition", "chain", "reversal", "implication", "unstated", "conclusion", "path",
)  # fmt: skip


class Statement(NamedTuple):
    """One statement, in token ids.

    Attributes:
        role: Its role.
        prompt: Ids of the prompt.
        answer: Ids of the answer; where several are right, of the first
            (:meth:`Statements.right_answers` has all).
    """

    role: str
    prompt: tuple[int, ...]
    answer: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Statements:
    """Many statements ``prompt tokens → answer tokens``, each with a role, in columns.

    They can be walked through and picked one by one; :meth:`World.table` has them in words. A fact
    is a prompt with one answer, since that is what is trained. A query is a prompt with the set of
    its right answers.

    Attributes:
        prompts: All prompt tokens, one statement after another.
        prompt_ends: Where each statement's prompt ends in ``prompts``, ``[M]``.
        answers: All answer tokens, likewise.
        answer_ends: Where each statement's answer ends, ``[M]``.
        roles: Role of each statement, an index into ``role_names``, ``[M]``.
        role_names: Names of the roles.
        out_of_distribution: Whether a query is out of distribution, ``[M]``.
        further: Right answers of a query besides its first: its index and a token, ``[F, 2]``.

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
    out_of_distribution: Bools
    further: Int[Ids, "F 2"] = field(default_factory=nothing_further)

    @classmethod
    def build(
        cls, parts: Mapping[str, tuple[Any, Any]], out_of_distribution: Bools | bool = False
    ) -> Statements:
        """Build from one pair of matrices a role: prompts ``[m, T]`` and answers ``[m, A]``.

        Roles without statements are left out. Whether they are out of distribution is said of each
        statement, or of all.

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
        ood = np.asarray(out_of_distribution)
        ood = ood if ood.ndim else np.full(len(roles), ood)
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

    @cached_property
    def _right(self) -> RightAnswers:
        return RightAnswers.of(self)

    def right_answers(self, index: int) -> Int[Ids, " k"]:
        """First tokens of all right answers to the prompt of statement ``index``, its own first.

        They are those that any of these statements gives to the same prompt. Roles that begin with
        ``moved_`` state other things than the rest, and are compared with each other only.

        Example:
            >>> borders = Statements.build({"edge": ([[0], [1], [0]], [[1], [2], [3]])})
            >>> borders.right_answers(2).tolist(), borders.right_answers(1).tolist()
            ([3, 1], [2])
        """
        own, found = self.answer(index)[:1], self._right.tokens_of(index)
        return np.concatenate([own, found[found != own]])

    @property
    def right_counts(self) -> Int[Ids, " M"]:
        """How many answers are right to the prompt of each statement, ``[M]``."""
        return self._right.counts

    def right_pairs(self, indices: Int[Ids, " m"]) -> tuple[Int[Ids, " P"], Int[Ids, " P"]]:
        """Every right answer of some statements: the place in ``indices`` and the token."""
        return self._right.pairs(indices)

    def by_prompt(self) -> Statements:
        """Return these statements with one for each role and prompt, which has all right answers.

        Statements that answer in several tokens stay as they are.

        Example:
            >>> two = Statements.build({"composition": ([[0, 5], [0, 5]], [[1], [2]])}).by_prompt()
            >>> len(two), two.right_answers(0).tolist()
            (1, [1, 2])
        """
        kept, further = merged_rows(self)
        return self if len(kept) == len(self) else replace(self.take(kept), further=further)

    def take(self, rows: Int[Ids, " m"]) -> Statements:
        """Return some statements, in the order of ``rows``."""

        def cut(tokens: Ids, ends: Ids) -> tuple[Ids, Ids]:
            lengths = np.diff(ends, prepend=0)
            new = np.cumsum(lengths[rows])
            shift = np.repeat(ends[rows] - new, lengths[rows])
            return tokens[np.arange(len(shift)) + shift], new

        place = np.full(len(self), -1, dtype=np.int64)
        place[rows] = np.arange(len(rows))
        further = np.stack([place[self.further[:, 0]], self.further[:, 1]], axis=1)
        return Statements(
            *cut(self.prompts, self.prompt_ends),
            *cut(self.answers, self.answer_ends),
            self.roles[rows],
            self.role_names,
            self.out_of_distribution[rows],
            further[further[:, 0] >= 0],
        )

    def with_role(self, role: str) -> Ids:
        """Indices of the statements with a role.

        Raises:
            DataError: No statement has it; says which roles there are.
        """
        check_names("role", [role], self.role_names, error=DataError)
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
            np.concatenate([self.further, other.further + np.array([len(self), 0])]),
        )

    def equals(self, other: Statements) -> bool:
        """Whether both hold the same statements in the same order."""
        return self.role_names == other.role_names and all(
            np.array_equal(getattr(self, column), getattr(other, column))
            for column in self.__dataclass_fields__
            if column != "role_names"
        )
