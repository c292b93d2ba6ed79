"""Statements ``prompt → answer`` with roles: the facts and queries of a world, stored in columns.

:class:`Statements` stores many statements as NumPy arrays; :class:`Statement` is a
single one. A :class:`~inweights.worlds.World` has one :class:`Statements` for its facts
and one for its queries.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from inweights.errors import DataError, check_names
from inweights.worlds.arrays import Bools, Int, as_matrix, cut_rows, flatten_rows
from inweights.worlds.right_answers import RightAnswers, merged_rows, nothing_further
from inweights.worlds.vocabulary import Ids, counted


class Statement(NamedTuple):
    """One statement, as token ids.

    Attributes:
        role: Name of the role.
        prompt: Token ids of the prompt.
        answer: Token ids of the answer; for a query with several correct answers, those
            of the first answer.
    """

    role: str
    prompt: tuple[int, ...]
    answer: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Statements:
    """``M`` statements ``prompt tokens → answer tokens``, each with a role, stored in columns.

    Iterating and indexing return individual statements. A fact is a prompt with one
    answer, for training. A query is a prompt with a set of correct answers.

    Attributes:
        prompts: Tokens of all prompts, one statement after another.
        prompt_ends: End (exclusive) of each statement's prompt in ``prompts``, ``[M]``.
        answers: Tokens of all answers, one statement after another.
        answer_ends: End (exclusive) of each statement's answer, ``[M]``.
        roles: Role of each statement, as an index into ``role_names``, ``[M]``.
        role_names: Names of the roles.
        out_of_distribution: Whether each query is out of distribution, ``[M]``.
        further: ``F`` further correct answers to queries, each as the index of the
            query and the token, ``[F, 2]``.

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
        cls,
        parts: Mapping[str, tuple[Any, Any]],
        out_of_distribution: Bools | bool = False,
    ) -> Statements:
        """Build statements from one matrix of prompts and one of answers for each role.

        Args:
            parts: For each role, prompts ``[m, T]`` and answers ``[m, A]`` of ``m``
                statements, as token ids. Roles without statements are left out.
            out_of_distribution: Whether each statement is out of distribution: one
                value per statement, or a single value for all.

        Raises:
            DataError: Prompts and answers of a role are not matrices of integers with
                equal numbers of rows, or ``out_of_distribution`` has the wrong length.

        Example:
            >>> hops = Statements.build({"edge": ([[0], [1]], [[1], [2]])})
            >>> len(hops), hops.role_names
            (2, ('edge',))
        """
        prompts_of: dict[str, Ids] = {}
        answers_of: dict[str, Ids] = {}
        for role, (given_prompts, given_answers) in parts.items():
            if not len(given_prompts) and not len(given_answers):
                continue
            prompts = as_matrix(given_prompts, f"role '{role}': prompts")
            answers = as_matrix(given_answers, f"role '{role}': answers")
            if len(prompts) != len(answers):
                raise DataError(
                    f"role '{role}': prompts and answers must be matrices with one row per "
                    f"statement, got shapes {prompts.shape} and {answers.shape}"
                )
            prompts_of[role] = prompts
            answers_of[role] = answers
        counts = list(map(len, prompts_of.values()))
        roles = np.repeat(np.arange(len(prompts_of), dtype=np.int16), counts)
        outside = np.asarray(out_of_distribution)
        if not outside.ndim:
            outside = np.full(len(roles), outside)
        if outside.shape != roles.shape:
            raise DataError(
                f"'out_of_distribution' must have {len(roles)} entries, got shape {outside.shape}"
            )
        return cls(
            *flatten_rows(prompts_of.values()),
            *flatten_rows(answers_of.values()),
            roles,
            tuple(prompts_of),
            outside,
        )

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
            raise IndexError(f"index {index} is out of range ({len(self)} statements)")
        place = index % len(self)
        return Statement(
            self.role_names[self.roles[place]],
            tuple(self.prompt(place).tolist()),
            tuple(self.answer(place).tolist()),
        )

    def __repr__(self) -> str:
        counts = np.bincount(self.roles, minlength=len(self.role_names))
        roles = list(map(counted, counts, self.role_names))
        if not len(self):
            return "Statements(0)"
        return f"Statements({len(self):,}: {', '.join(roles)})"

    def prompt(self, index: int) -> Ids:
        """Return the token ids of the prompt of statement ``index`` (counted from 0), ``[T]``."""
        start = self.prompt_ends[index - 1] if index else 0
        return self.prompts[start : self.prompt_ends[index]]

    def answer(self, index: int) -> Ids:
        """Return the token ids of the answer of statement ``index`` (counted from 0), ``[A]``."""
        start = self.answer_ends[index - 1] if index else 0
        return self.answers[start : self.answer_ends[index]]

    @cached_property
    def _right(self) -> RightAnswers:
        return RightAnswers.of(self)

    def right_answers(self, index: int) -> Int[Ids, " k"]:
        """Return the first tokens of all ``k`` correct answers to a statement's prompt, ``[k]``.

        These are the answers of all statements with the same prompt, beginning with
        that of statement ``index`` (from 0). Statements whose roles begin with
        ``moved_`` describe a different graph, and are only compared with each other.

        Example:
            >>> borders = Statements.build({"edge": ([[0], [1], [0]], [[1], [2], [3]])})
            >>> borders.right_answers(2).tolist(), borders.right_answers(1).tolist()
            ([3, 1], [2])
        """
        own = self.answer(index)[:1]
        found = self._right.tokens_of(index)
        return np.concatenate([own, found[found != own]])

    @property
    def right_counts(self) -> Int[Ids, " M"]:
        """Number of distinct correct answers to the prompt of each statement, ``[M]``."""
        return self._right.counts

    def right_pairs(
        self, indices: Int[Ids, " m"]
    ) -> tuple[Int[Ids, " P"], Int[Ids, " P"]]:
        """Return all correct answers to the prompts of ``m`` statements.

        Returns:
            Two arrays ``[P]``, with one entry for each correct answer: the position in
            ``indices`` of its statement, and the first token of the answer.
        """
        return self._right.pairs(indices)

    def by_prompt(self) -> Statements:
        """Return statements that combine all answers to the same prompt in the same role.

        Statements whose answer has several tokens are not merged.

        Example:
            >>> two = Statements.build({"composition": ([[0, 5], [0, 5]], [[1], [2]])}).by_prompt()
            >>> len(two), two.right_answers(0).tolist()
            (1, [1, 2])
        """
        firsts, further = merged_rows(self)
        if len(firsts) == len(self):
            return self
        return replace(self.take(firsts), further=further)

    def take(self, rows: Int[Ids, " m"]) -> Statements:
        """Return the statements with the given indices, in this order; no index may be repeated."""
        # Further answers stay with their statement; those of omitted ones are dropped.
        place = np.full(len(self), -1, dtype=np.int64)
        place[rows] = np.arange(len(rows))
        further = np.stack([place[self.further[:, 0]], self.further[:, 1]], axis=1)
        return Statements(
            *cut_rows(self.prompts, self.prompt_ends, rows),
            *cut_rows(self.answers, self.answer_ends, rows),
            self.roles[rows],
            self.role_names,
            self.out_of_distribution[rows],
            further[further[:, 0] >= 0],
        )

    def with_role(self, role: str) -> Ids:
        """Return the indices of the ``m`` statements with the role named ``role``, ``[m]``.

        Raises:
            DataError: ``role`` is not in :attr:`role_names`; the message lists them.
        """
        check_names("role", [role], self.role_names, error=DataError)
        return np.flatnonzero(self.roles == self.role_names.index(role))

    def matrix(self, indices: Ids) -> tuple[Ids, Ids]:
        """Return prompts ``[m, T]`` and answers ``[m, A]`` of the statements at given indices.

        Raises:
            DataError: The prompts differ in length (``T``), the answers differ in
                length (``A``), or ``indices`` is empty.
        """
        shapes = list(self.by_shape(indices))
        if len(shapes) != 1:
            raise DataError(f"statements must have one shape, got {len(shapes)} shapes")
        return shapes[0][1:]

    def by_shape(self, indices: Ids | None = None) -> Iterator[tuple[Ids, Ids, Ids]]:
        """Yield the statements in groups of the same shape, shortest prompts first.

        Args:
            indices: Indices of the statements; by default all.

        Yields:
            ``(indices [m], prompts [m, T], answers [m, A])`` for each pair of a prompt
            length ``T`` and an answer length ``A``.
        """
        chosen = np.arange(len(self)) if indices is None else indices
        lengths = np.diff(self.prompt_ends, prepend=0)[chosen]
        widths = np.diff(self.answer_ends, prepend=0)[chosen]
        shapes = set(zip(lengths.tolist(), widths.tolist(), strict=True))
        for length, width in sorted(shapes):
            rows = chosen[(lengths == length) & (widths == width)]
            prompt_starts = self.prompt_ends[rows] - length
            answer_starts = self.answer_ends[rows] - width
            prompts = self.prompts[prompt_starts[:, None] + np.arange(length)]
            answers = self.answers[answer_starts[:, None] + np.arange(width)]
            yield rows, prompts, answers

    def joined(self, other: Statements) -> Statements:
        """Return these statements followed by those of ``other``; roles are matched by name."""
        names = tuple(dict.fromkeys([*self.role_names, *other.role_names]))
        # A role is an index into the names, which are now those of both.
        renumbered = list(map(names.index, other.role_names))
        places = np.array(renumbered, dtype=np.int16)
        return Statements(
            np.concatenate([self.prompts, other.prompts]),
            np.concatenate([self.prompt_ends, other.prompt_ends + len(self.prompts)]),
            np.concatenate([self.answers, other.answers]),
            np.concatenate([self.answer_ends, other.answer_ends + len(self.answers)]),
            np.concatenate([self.roles, places[other.roles]]),
            names,
            np.concatenate([self.out_of_distribution, other.out_of_distribution]),
            np.concatenate([self.further, other.further + np.array([len(self), 0])]),
        )

    def equals(self, other: Statements) -> bool:
        """Return whether ``other`` has the same statements and role names, in the same order."""
        if self.role_names != other.role_names:
            return False
        columns = [name for name in self.__dataclass_fields__ if name != "role_names"]
        return all(np.array_equal(getattr(self, c), getattr(other, c)) for c in columns)
