"""Statements ``prompt → answer`` with roles, in columns: what facts and queries are made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from inweights.errors import DataError, check_names
from inweights.worlds.arrays import Bools
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
    out_of_distribution: Bools

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
        )

    def equals(self, other: Statements) -> bool:
        """Whether both hold the same statements in the same order."""
        return self.role_names == other.role_names and all(
            np.array_equal(getattr(self, column), getattr(other, column))
            for column in self.__dataclass_fields__
            if column != "role_names"
        )
