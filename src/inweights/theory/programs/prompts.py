"""Prompts as bags of tokens: counts of tokens, groups of equal prompts, and checks of facts.

:class:`~inweights.theory.programs.program.Program` uses these functions;
:func:`check_facts` rejects facts that no matrix of logits can represent. Shapes: ``Q``
statements, ``M`` distinct prompts, ``P`` input tokens, ``K`` outputs.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np

from inweights.errors import DataError
from inweights.worlds.arrays import Bools
from inweights.worlds.world import Ids, Statements, World

if TYPE_CHECKING:
    from scipy import sparse

#: Meaning of several answers to one prompt; :meth:`.Program.of` explains the values.
Answers = Literal["one", "several", "any"]


def count_tokens(world: World, statements: Statements) -> sparse.csr_array:
    """Return the number of times that each input token occurs in each prompt.

    Args:
        world: The world; its ``inputs`` are the columns.
        statements: Facts or queries of the world; their prompts are the rows.

    Returns:
        Sparse array ``[Q, P]`` of floats, for ``Q`` statements and ``P`` input tokens.

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
    """Return a group number for each prompt; prompts with the same tokens share a number.

    Args:
        statements: ``Q`` facts or queries.

    Returns:
        Numbers from 0, ``[Q]``. The order of tokens in a prompt does not matter.
    """
    lengths = np.diff(statements.prompt_ends, prepend=0)
    starts = statements.prompt_ends - lengths
    # Prompts are bags: their sorted rows, padded with -1 in front, are equal for equal
    # bags.
    padded = np.full((len(statements), int(lengths.max(initial=0))), -1, dtype=np.int64)
    rows = np.repeat(np.arange(len(statements)), lengths)
    padded[rows, np.arange(len(rows)) - starts[rows]] = statements.prompts
    bags = np.sort(padded, axis=1)
    _, group = np.unique(bags, axis=0, return_inverse=True)
    numbers: Ids = group.reshape(-1)
    return numbers


def in_words(world: World, statements: Statements, index: int) -> str:
    """Return a fact or query as readable text: ``(prompt) → answer``.

    Args:
        world: The world, whose vocabulary names the tokens.
        statements: Facts or queries of the world.
        index: Index of the statement.

    Returns:
        The text, with tokens separated by spaces.

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
    """Raise an error if the answer of a statement does not have exactly one token.

    Args:
        statements: Facts or queries.
        kind: Name of the statements in messages: ``fact`` or ``query``.

    Raises:
        DataError: An answer has no token or several tokens.
    """
    lengths = np.diff(statements.answer_ends, prepend=0)
    if (lengths != 1).any():
        bad = int(np.flatnonzero(lengths != 1)[0])
        role = statements.role_names[statements.roles[bad]]
        raise DataError(
            f"answers must have one token each; {kind} {bad} (role '{role}') has an answer of "
            f"{lengths[bad]} tokens. Leave that role out, or use only the first token of its "
            "answers"
        )


def check_facts(world: World, row: Ids, right: Bools, answers: Answers) -> None:
    """Raise an error if facts contradict each other, or if there are no constraints.

    Args:
        world: The world with the facts.
        row: Index of each fact's prompt among the distinct bags of tokens, ``[facts]``.
        right: Mask of the outputs that are correct answers to each such bag, ``[M, K]``
            (``M`` distinct prompts, ``K`` outputs).
        answers: Whether a prompt may have several correct answers: ``one``, ``several``
            or ``any``, as in :meth:`.Program.of`.

    Raises:
        DataError: The prompts of two facts with different answers differ only in the
            order of their tokens, a prompt has several answers although ``answers`` is
            ``one``, or every output is a correct answer to every prompt.
    """
    facts = world.facts
    named = partial(in_words, world, facts)

    for m in np.flatnonzero(right.sum(1) > 1):
        first, *same = np.flatnonzero(row == m).tolist()
        answer = facts.answer(first)[0]
        prompt = facts.prompt(first)
        others = [fact for fact in same if facts.answer(fact)[0] != answer]
        turned = [
            one for one in others if not np.array_equal(facts.prompt(one), prompt)
        ]
        if turned:
            raise DataError(
                f"facts {first} {named(first)} and {turned[0]} {named(turned[0])} have "
                "different answers, but their prompts differ only in the order of the tokens. "
                "A model that computes its logits as a sum over the tokens of the prompt cannot "
                "distinguish these prompts; use different relations for the two directions"
            )
        if answers == "one":
            raise DataError(
                f"facts {first} {named(first)} and {others[0]} {named(others[0])} "
                "contradict each other: the same prompt has two answers. If both are "
                "correct, use answers='several' (--answers several); if not, remove one"
            )
    if right.all():
        raise DataError(
            "every output is a correct answer to every fact, so there are no constraints"
        )
