"""Prompts as bags of tokens: how often each token occurs, and which prompts are one.

:class:`~inweights.theory.programs.program.Program` is made of these. Shapes: ``Q``
statements, ``P`` input tokens.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from inweights.errors import DataError
from inweights.worlds.world import Ids, Statements, World

if TYPE_CHECKING:
    from scipy import sparse


def count_tokens(world: World, statements: Statements) -> sparse.csr_array:
    """Return how often each input token occurs in each prompt.

    Args:
        world: Its ``inputs`` are the columns.
        statements: Facts or queries of the world; their prompts are the rows.

    Returns:
        Sparse ``[Q, P]``.

    Example:
        >>> from inweights.worlds import TwoHop
        >>> world = TwoHop(n=3).build()
        >>> count_tokens(world, world.facts).sum(axis=1).tolist()  # the last three are identities
        [2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 1.0, 1.0, 1.0]
    """
    from scipy import sparse

    lengths = np.diff(statements.prompt_ends, prepend=0)
    rows = np.repeat(np.arange(len(statements)), lengths)
    columns = np.searchsorted(world.inputs, statements.prompts)
    shape = (len(statements), len(world.inputs))
    return sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)


def prompt_groups(statements: Statements) -> Ids:
    """Return a number for every statement's prompt, the same for all with the same tokens."""
    lengths = np.diff(statements.prompt_ends, prepend=0)
    starts = statements.prompt_ends - lengths
    # Prompts are bags: sorted rows, filled up with -1 in front, are equal for equal bags.
    padded = np.full((len(statements), int(lengths.max(initial=0))), -1, dtype=np.int64)
    rows = np.repeat(np.arange(len(statements)), lengths)
    padded[rows, np.arange(len(rows)) - starts[rows]] = statements.prompts
    bags = np.sort(padded, axis=1)
    _, group = np.unique(bags, axis=0, return_inverse=True)
    numbers: Ids = group.reshape(-1)
    return numbers


def in_words(world: World, statements: Statements, index: int) -> str:
    """Return a fact or query as text that people read: ``(prompt) → answer``.

    Args:
        world: Its vocabulary names the tokens.
        statements: Facts or queries of the world.
        index: Which of the statements.

    Example:
        >>> from inweights.worlds import TwoHop
        >>> world = TwoHop(n=3).build()
        >>> in_words(world, world.facts, 0)
        '(a1 r1) → b1'
    """
    prompt = statements.prompt(index)
    answer = statements.answer(index)
    return f"({world.vocabulary.text(prompt)}) → {world.vocabulary.text(answer)}"


def check_single_answers(statements: Statements, kind: str) -> None:
    """Refuse statements with answers of several tokens, or of none.

    Args:
        statements: Facts or queries.
        kind: What messages call them: ``fact`` or ``query``.

    Raises:
        DataError: There is one.
    """
    lengths = np.diff(statements.answer_ends, prepend=0)
    if (lengths != 1).any():
        bad = int(np.flatnonzero(lengths != 1)[0])
        role = statements.role_names[statements.roles[bad]]
        raise DataError(
            f"the theory covers answers of one token; {kind} {bad} (role '{role}') has an answer "
            f"of {lengths[bad]}. Leave that role out, or use its first token only"
        )
