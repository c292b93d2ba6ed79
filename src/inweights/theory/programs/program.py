"""Define program (2) of Identity Bridge (§4.3) for facts whose prompts are bags of tokens.

The program is ``min_W ½‖W‖_*²`` such that the correct answer of every fact beats every
other output by a margin of 1. The logits of a prompt are the sum of its tokens' rows of
``W``, as in Emb-MLP. :class:`Program` contains the constraints, created from a world;
:func:`~.nuclear_norm.solve` and :func:`~.soft_program.solve_soft` solve it. Shapes:
``M`` distinct prompts, ``P`` input tokens, ``K`` outputs, ``Q`` statements.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from inweights.errors import DataError, check_names
from inweights.support.limits import check_memory
from inweights.theory.programs.prompts import (
    Answers,
    check_facts,
    check_single_answers,
    count_tokens,
    prompt_groups,
)
from inweights.worlds.arrays import Bool, Bools, Float, Floats, Int
from inweights.worlds.world import Ids, Statements, World

if TYPE_CHECKING:
    from scipy import sparse

_ANSWERS = ("one", "several", "any")


#: Bytes of memory for each pair of a fact and an answer during the solution, and for
#: each pair of a query and an answer when logits are compared. Measured at 1,800 facts
#: and 1,200 answers: 0.94 GB.
_FACT = 430
_QUESTION = 40


@dataclass(frozen=True, eq=False)
class Program:
    """Constraints of program (2).

    Program (2) of Identity Bridge (§4.3) minimises the nuclear norm of the matrix of
    logits ``W`` subject to a margin of at least 1 for every training fact.

    Facts with the same prompt share a row. If a prompt has several correct answers, the
    logit of each has to exceed the logit of every *wrong* output by the margin; correct
    answers are not compared with each other.

    Attributes:
        world: The world whose facts are the constraints.
        counts: Number of times that each input occurs in each distinct prompt, as a
            sparse array ``[M, P]`` (``M`` distinct prompts, ``P`` input tokens).
        pairs: Number of facts that give each output as the answer to each prompt, as a
            sparse array ``[M, K]`` (``K`` outputs).
        row: Index of the row of ``counts`` for each fact's prompt, ``[facts]``.

    Example:
        >>> from inweights.worlds import TwoHop
        >>> program = Program.of(TwoHop(n=3).build())
        >>> program
        Program(9 prompts, 8 inputs, 6 outputs, 45 constraints)
    """

    world: World
    counts: sparse.csr_array
    pairs: sparse.csr_array
    row: Int[Ids, " facts"]

    @classmethod
    def of(
        cls, world: World, answers: Answers = "one", *, held: int = _FACT
    ) -> Program:
        """Create program (2) of Identity Bridge (§4.3) for a world's facts.

        Args:
            world: Facts and queries with answers of one token each.
            answers: How several answers to the same prompt are treated. With ``one``
                (the default), they contradict each other, and an error is raised. With
                ``several``, all of them are correct. With ``any``, all of them are
                correct, and facts that program (2) rejects are accepted as well:
                prompts that differ only in the order of their tokens are treated as one
                prompt, and all outputs may be correct. Use ``any`` for the soft
                program, which always has a solution.
            held: Number of bytes that the solver needs for each pair of a fact and an
                output; used only to check that the arrays fit in memory.

        Returns:
            The constraints; prompts are in the order of their first facts.

        Raises:
            ConfigError: ``answers`` is unknown.
            DataError: An answer has several tokens; the arrays would not fit in memory;
                two facts contradict each other; or no output is ever wrong, so that
                there are no constraints.

        Example:
            >>> from inweights.worlds import TwoHop
            >>> Program.of(TwoHop(n=3, identity=True).build()).shape
            (8, 6)
        """
        from scipy.sparse import csr_array

        check_names("value of answers", [answers], _ANSWERS)
        facts = world.facts
        check_single_answers(facts, "fact")
        check_single_answers(world.queries, "query")
        outputs = len(world.outputs)
        check_memory(
            f"a program of {len(facts):,} facts, {len(world.queries):,} queries and "
            f"{outputs:,} answers",
            (held * len(facts) + min(held, _QUESTION) * len(world.queries)) * outputs,
            error=DataError,
            hint="leave out relations, or divide the facts into parts",
        )
        counts = count_tokens(world, facts)
        _, firsts, place = np.unique(
            prompt_groups(facts), return_index=True, return_inverse=True
        )
        order = np.argsort(firsts)  # prompts in the order of their first fact
        firsts = firsts[order]
        row = np.argsort(order)[place.reshape(-1)]
        answered = np.searchsorted(world.outputs, facts.answers)
        pairs = csr_array(
            (np.ones(len(row)), (row, answered)), shape=(len(firsts), outputs)
        )
        made = cls(world, counts[firsts], pairs, row)
        if answers != "any":
            check_facts(world, row, made.right, answers)
        return made

    @property
    def stated(self) -> Float[Floats, "M K"]:
        """Dense matrix of the number of facts that give each output as the answer to each prompt.

        Its shape is ``[M, K]``, for ``M`` distinct prompts and ``K`` outputs.
        """
        return self.pairs.toarray()

    @cached_property
    def right(self) -> Bool[Bools, "M K"]:
        """Mask of the correct answers to ``M`` distinct prompts among ``K`` outputs, ``[M, K]``."""
        right: Bools = self.pairs.astype(bool).toarray()
        return right

    @cached_property
    def single(self) -> Int[Ids, " M"]:
        """Column of the correct answer of each prompt, ``[M]``; -1 if there are several."""
        return np.where(self.right.sum(1) == 1, self.right.argmax(1), -1)

    @property
    def shape(self) -> tuple[int, int]:
        """Shape ``(P, K)`` of the matrix of logits ``W``: numbers of input tokens and outputs."""
        return self.counts.shape[1], self.stated.shape[1]

    @property
    def constraints(self) -> int:
        """Number of constrained margins: pairs of a correct and a wrong output of any prompt."""
        answers = self.right.sum(1)
        return int((answers * (self.right.shape[1] - answers)).sum())

    def least_margins(self, logits: Float[Floats, "M K"]) -> Float[Floats, " M"]:
        """Return each prompt's smallest margin of a correct answer over a wrong output.

        Args:
            logits: Logits ``[M, K]`` (``M`` distinct prompts, ``K`` outputs), one row
                for each distinct prompt.

        Returns:
            Margins ``[M]``, in units of the logits; infinite if every output is
            correct.

        Example:
            >>> from inweights.worlds import TwoHop
            >>> program = Program.of(TwoHop(n=3).build())
            >>> program.least_margins(2.0 * program.right).tolist()
            [2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0]
        """
        worst = np.where(self.right, logits, np.inf).min(1)
        best: Floats = np.where(self.right, -np.inf, logits).max(1)
        return worst - best

    def logits(
        self, templates: Float[Floats, "P K"], statements: Statements
    ) -> Float[Floats, "Q K"]:
        """Return the logits of the prompts of statements for given templates ``W``.

        Args:
            templates: ``W``, ``[P, K]`` (``P`` input tokens, ``K`` outputs): one row
                for each input token.
            statements: Facts or queries of the program's world.

        Returns:
            Logits ``[Q, K]`` (``Q`` statements): for each prompt, the sum of its
            tokens' rows of ``W``.
        """
        logits: Floats = count_tokens(self.world, statements) @ templates
        return logits

    def margins(
        self, templates: Float[Floats, "P K"], statements: Statements
    ) -> Float[Floats, " Q"]:
        """Return the margin of each statement's best correct answer over its best wrong output.

        Args:
            templates: ``W``, ``[P, K]`` (``P`` input tokens, ``K`` outputs).
            statements: Facts or queries of the program's world.

        Returns:
            Margins ``[Q]`` (``Q`` statements), in units of the logits; infinite if
            every output is correct. Outputs that another statement gives as an answer
            to the same prompt are not treated as wrong.
        """
        margins = [np.zeros(0)]
        for logits, columns, rivals in self.compare_in_parts(templates, statements):
            own = logits[np.arange(len(logits)), columns]
            best = np.where(rivals, logits, -np.inf).max(1, initial=-np.inf)
            margins.append(own - best)
        return np.concatenate(margins)

    def compare(
        self, templates: Float[Floats, "P K"], statements: Statements
    ) -> tuple[Float[Floats, "Q K"], Int[Ids, " Q"], Bool[Bools, "Q K"]]:
        """Return the logits of statements, the column of each answer and the mask of its rivals.

        Args:
            templates: ``W``, ``[P, K]`` (``P`` input tokens, ``K`` outputs).
            statements: Facts or queries of the program's world.

        Returns:
            Logits ``[Q, K]`` (``Q`` statements); the column of the correct answer with
            the largest logit, ``[Q]``; and a mask ``[Q, K]`` of its rivals, which are
            all outputs that no statement gives as an answer to the same prompt.

        Example:
            >>> from inweights.worlds import TwoHop
            >>> program = Program.of(TwoHop(n=3).build())
            >>> templates = np.zeros(program.shape)
            >>> logits, columns, rivals = program.compare(templates, program.world.facts)
            >>> logits.shape, columns.shape, rivals.sum(1).tolist()
            ((9, 6), (9,), [5, 5, 5, 5, 5, 5, 5, 5, 5])
        """
        empty = np.zeros((0, self.shape[1]))
        nothing = empty, np.zeros(0, dtype=np.int64), empty > 0
        whole = max(len(statements), 1)
        return next(self.compare_in_parts(templates, statements, whole), nothing)

    def compare_in_parts(
        self, templates: Float[Floats, "P K"], statements: Statements, most: int = 4096
    ) -> Iterator[tuple[Float[Floats, "Q K"], Int[Ids, " Q"], Bool[Bools, "Q K"]]]:
        """Yield logits, answers and rivals of statements, part by part, to save memory.

        Args:
            templates: ``W``, ``[P, K]`` (``P`` input tokens, ``K`` outputs).
            statements: Facts or queries of the program's world.
            most: Maximum number of statements per part, at least 1.

        Yields:
            Logits ``[Q, K]``, columns of the answers ``[Q]`` and masks of the rivals
            ``[Q, K]``, as returned by :meth:`compare`, for up to ``most`` consecutive
            statements; nothing if there are no statements.
        """
        from scipy import sparse

        outputs = self.world.outputs
        shape = (len(statements), len(outputs))
        places, tokens = statements.right_pairs(np.arange(len(statements)))
        at = (places, np.searchsorted(outputs, tokens))
        # Sparse, since a dense mask would have an entry for each pair of statement and
        # output.
        right = sparse.csr_array((np.ones(len(tokens)), at), shape=shape)
        first = np.searchsorted(outputs, statements.answers)
        further = np.searchsorted(outputs, statements.further[:, 1])
        counts = count_tokens(self.world, statements)
        for start in range(0, len(statements), most):
            rows = slice(start, start + most)
            logits = counts[rows] @ templates
            columns = first[rows].copy()
            own = statements.further[:, 0] - start
            for place in np.flatnonzero((own >= 0) & (own < len(columns))).tolist():
                row = own[place]
                other = further[place]
                if logits[row, other] > logits[row, columns[row]]:
                    columns[row] = other
            yield logits, columns, right[rows].toarray() == 0

    def __repr__(self) -> str:
        return (
            f"Program({self.right.shape[0]} prompts, {self.shape[0]} inputs, "
            f"{self.shape[1]} outputs, {self.constraints} constraints)"
        )
