"""Look up the correct answers to a prompt: the answers of all statements with this prompt.

:class:`RightAnswers` lists them for facts, each of which states one answer.
:func:`merged_rows` merges queries with the same prompt into one query with a set of
correct answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from inweights.worlds.arrays import Bools, Int
from inweights.worlds.vocabulary import Ids

if TYPE_CHECKING:
    from inweights.worlds.statements import Statements

#: Prefix of the roles of facts that belong to a different graph from other facts; see
#: :meth:`.Statements.right_answers`.
_MOVED = "moved_"
#: Largest number that encodes a prompt; longer prompts are compared token by token.
_LARGEST = 2**62


@dataclass(frozen=True)
class RightAnswers:
    """The correct answers to each of ``K`` distinct prompts of ``M`` statements.

    The answers to prompt ``k`` are ``tokens[ends[k - 1] : ends[k]]``; for the first
    prompt, the start is 0.

    Attributes:
        prompt: For each statement, the index ``k`` of its prompt among the ``K``
            distinct prompts, ``[M]``.
        tokens: First tokens of all ``P`` correct answers, sorted by prompt, then by
            token, ``[P]``.
        ends: For each distinct prompt, the end (exclusive) of its answers in
            ``tokens``, ``[K]``.
    """

    prompt: Int[Ids, " M"]
    tokens: Ids
    ends: Ids

    @classmethod
    def of(cls, statements: Statements) -> RightAnswers:
        """Return the correct answers to the prompts of statements.

        Statements whose role begins with ``moved_`` describe a different graph, and are
        compared only with each other.

        Args:
            statements: ``M`` statements; each has at least one answer token.
        """
        moved = [name.startswith(_MOVED) for name in statements.role_names]
        apart = np.array([*moved, False], dtype=np.int64)[statements.roles]
        prompt = prompt_numbers(statements, apart)
        owners = np.concatenate([prompt, prompt[statements.further[:, 0]]])
        tokens = np.concatenate([first_tokens(statements), statements.further[:, 1]])
        # Sorted by prompt, then by token, so that the answers to a prompt are adjacent.
        pairs = np.unique(np.stack([owners, tokens], axis=1), axis=0)
        count = int(prompt.max(initial=-1)) + 1
        ends = np.cumsum(np.bincount(pairs[:, 0], minlength=count))
        return cls(prompt, pairs[:, 1], ends)

    @property
    def counts(self) -> Int[Ids, " M"]:
        """Number of distinct correct answers to each statement's prompt, ``[M]``."""
        return np.diff(self.ends, prepend=0)[self.prompt]

    def tokens_of(self, index: int) -> Int[Ids, " k"]:
        """Return the first tokens of all correct answers to the prompt of one statement.

        Args:
            index: Index of the statement, from 0 to ``M - 1``. A negative index counts
                from the end.

        Returns:
            First token ids of the ``k`` correct answers, in ascending order, ``[k]``.

        Raises:
            IndexError: There is no such statement.
        """
        number = self.prompt[index]
        start = self.ends[number - 1] if number else 0
        return self.tokens[start : self.ends[number]]

    def pairs(self, indices: Int[Ids, " m"]) -> tuple[Int[Ids, " P"], Int[Ids, " P"]]:
        """Return all correct answers to the prompts of some statements.

        Args:
            indices: Indices of ``m`` statements, ``[m]``.

        Returns:
            Two arrays ``[P]``, with one entry for each of ``P`` correct answers. The
            first array contains the position in ``indices`` of the statement to which
            the answer belongs, in ascending order. The second array contains the first
            token of the answer.
        """
        numbers = self.prompt[indices]
        lengths = np.diff(self.ends, prepend=0)[numbers]
        places = np.repeat(np.arange(len(indices)), lengths)
        starts = np.cumsum(lengths) - lengths
        within = np.arange(len(places)) - np.repeat(starts, lengths)
        first = self.ends[numbers] - lengths
        return places, self.tokens[first[places] + within]


def nothing_further() -> Int[Ids, "0 2"]:
    """Return an empty array of further correct answers, ``[0, 2]``."""
    return np.zeros((0, 2), dtype=np.int64)


def first_tokens(statements: Statements) -> Int[Ids, " M"]:
    """Return the first token of the answer of each of ``M`` statements, ``[M]``.

    Args:
        statements: The statements, whose answers all have at least one token.
    """
    starts = statements.answer_ends - np.diff(statements.answer_ends, prepend=0)
    return statements.answers[starts]


def prompt_numbers(statements: Statements, apart: Int[Ids, " M"]) -> Int[Ids, " M"]:
    """Number the distinct prompts of statements; equal prompts have the same number.

    Args:
        statements: ``M`` statements.
        apart: Number of the group of each statement, ``[M]``. Equal prompts in
            different groups get different numbers.

    Returns:
        Number of each statement's prompt, from 0, ``[M]``.
    """
    lengths = np.diff(statements.prompt_ends, prepend=0)
    starts = statements.prompt_ends - lengths
    rows = np.repeat(np.arange(len(statements)), lengths)
    width = int(lengths.max(initial=0)) + 1
    padded = np.zeros((len(statements), width), dtype=np.int64)
    places = np.arange(len(rows)) - starts[rows] + 1
    # Token ids are increased by 1, so that 0 can pad shorter prompts.
    padded[rows, places] = statements.prompts + 1
    padded[:, 0] = apart
    # A prompt is encoded as one number if it fits, since np.unique of rows takes ten
    # times as long.
    base = int(padded.max(initial=0)) + 1
    if base ** padded.shape[1] < _LARGEST:
        codes = padded @ (base ** np.arange(padded.shape[1]))
        numbers = np.unique(codes, return_inverse=True)[1]
    else:
        numbers = np.unique(padded, axis=0, return_inverse=True)[1]
    return np.asarray(numbers.reshape(-1), dtype=np.int64)


def merged_rows(statements: Statements) -> tuple[Int[Ids, " m"], Int[Ids, "F 2"]]:
    """Merge statements with the same role and prompt into one with several correct answers.

    Statements whose answer has several tokens are not merged.

    Args:
        statements: The statements to merge.

    Returns:
        Two arrays. First, the index of the first statement of each of ``m`` pairs of
        role and prompt, ascending, ``[m]``. Second, ``F`` further correct answers,
        ``[F, 2]``: the position of the merged statement among these ``m``, and a token.
    """
    number = prompt_numbers(statements, statements.roles.astype(np.int64))
    single: Bools = np.diff(statements.answer_ends, prepend=0) == 1
    # Each of the others gets a number of its own, so that it is not merged.
    alone = number.max(initial=0) + 1 + np.arange(len(number))
    number = np.where(single, number, alone)
    _, first, owner = np.unique(number, return_index=True, return_inverse=True)
    firsts = np.sort(first)
    if len(firsts) == len(statements):
        return firsts, statements.further
    place = np.searchsorted(firsts, first)[owner.reshape(-1)]
    tokens = first_tokens(statements)
    others = np.setdiff1d(np.arange(len(statements)), firsts)
    given = np.concatenate([place[others], place[statements.further[:, 0]]])
    answers = np.concatenate([tokens[others], statements.further[:, 1]])
    new = answers != tokens[firsts][given]
    pairs = np.stack([given[new], answers[new]], axis=1)
    _, order = np.unique(pairs, axis=0, return_index=True)
    distinct = pairs[np.sort(order)]
    return firsts, distinct[np.argsort(distinct[:, 0], kind="stable")]
