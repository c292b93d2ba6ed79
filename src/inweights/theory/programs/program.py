"""Program (2) of Identity Bridge for any set of facts whose prompts are bags of tokens (§4.3).

``min_W ½‖W‖_*²`` such that every fact's right answer beats every other output by a margin of 1,
where a prompt's logits are the sum of its tokens' rows of ``W``, as in Emb-MLP.
Shapes: ``M`` distinct prompts, ``P`` input tokens, ``K`` outputs, ``Q`` statements.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Literal

import numpy as np

from inweights.config import check_size
from inweights.errors import ConfigError, DataError, check_names
from inweights.support.limits import check_memory
from inweights.worlds.arrays import Bool, Bools, Float, Floats, Int
from inweights.worlds.world import Ids, Statements, World

if TYPE_CHECKING:
    from scipy import sparse

Answers = Literal["one", "several", "any"]
_ANSWERS = ("one", "several", "any")


#: Bytes that a fact and a question take with each answer, in the steps of the solution and when
#: logits are compared. Measured at 1,800 facts and 1,200 answers: 0.94 GB.
_FACT, _QUESTION = 430, 40


@dataclass(frozen=True, eq=False)
class Program:
    """The constraints of program (2).

    Two facts with the same prompt are one row. With several right answers each of them has to
    beat every output that is *not* right by the margin; they are not compared with each other.

    Attributes:
        world: What the constraints come from.
        counts: How often each input occurs in each distinct prompt, ``M`` by ``P``.
        stated: How many facts state each output as the answer to each prompt.
        row: The distinct prompt of every fact.

    Example:
        >>> from inweights.worlds import TwoHop
        >>> program = Program.of(TwoHop(n=3).build())
        >>> program
        Program(9 prompts, 8 inputs, 6 outputs, 45 constraints)
    """

    world: World
    counts: sparse.csr_array
    stated: Float[Floats, "M K"]
    row: Int[Ids, " facts"]

    @classmethod
    def of(cls, world: World, answers: Answers = "one") -> Program:
        """Make the program of a world's facts.

        Args:
            world: Facts with answers of one token.
            answers: ``one``: two different answers to one prompt contradict each other.
                ``several``: they are all right. ``any``: so they are, and nothing else is refused
                either: prompts that differ in their order only are one, and nothing need be wrong.
                That is for a soft program, which no facts contradict.

        Raises:
            ConfigError: ``answers`` is none of these.
            DataError: Answers have several tokens; or two facts contradict each other; or no
                output is ever wrong, so that there is nothing to learn.
        """
        check_names("value of answers", [answers], _ANSWERS)
        facts = world.facts
        _single_answers(facts, "fact")
        _single_answers(world.queries, "query")
        outputs = len(world.outputs)
        check_memory(
            f"a program of {len(facts):,} facts, {len(world.queries):,} questions and "
            f"{outputs:,} answers",
            (_FACT * len(facts) + _QUESTION * len(world.queries)) * outputs,
            error=DataError,
            hint="leave out relations, or cut the facts into parts",
        )
        counts = count_tokens(world, facts)
        _, firsts, place = np.unique(_prompt_groups(facts), return_index=True, return_inverse=True)
        order = np.argsort(firsts)  # prompts in the order of their first fact
        firsts, row = firsts[order], np.argsort(order)[place.reshape(-1)]
        stated = np.zeros((len(firsts), len(world.outputs)))
        np.add.at(stated, (row, np.searchsorted(world.outputs, facts.answers)), 1.0)
        if answers != "any":
            _check(world, row, stated > 0, answers)
        return cls(world, counts[firsts], stated, row)

    @cached_property
    def right(self) -> Bool[Bools, "M K"]:
        """Which outputs are right answers of each prompt."""
        return self.stated > 0

    @cached_property
    def single(self) -> Int[Ids, " M"]:
        """The right answer of prompts that have just one, as a column; -1 where they have more."""
        return np.where(self.right.sum(1) == 1, self.right.argmax(1), -1)

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of ``W``: inputs and outputs."""
        return self.counts.shape[1], self.stated.shape[1]

    @property
    def constraints(self) -> int:
        """How many margins are bounded."""
        answers = self.right.sum(1)
        return int((answers * (self.right.shape[1] - answers)).sum())

    def least_margins(self, logits: Float[Floats, "M K"]) -> Float[Floats, " M"]:
        """Least margin of every prompt: worst right answer minus best wrong one."""
        worst = np.where(self.right, logits, np.inf).min(1)
        best: Floats = np.where(self.right, -np.inf, logits).max(1)
        return worst - best

    def logits(
        self, templates: Float[Floats, "P K"], statements: Statements
    ) -> Float[Floats, "Q K"]:
        """Logits that the row-wise templates ``W`` give to prompts."""
        logits: Floats = count_tokens(self.world, statements) @ templates
        return logits

    def margins(
        self, templates: Float[Floats, "P K"], statements: Statements
    ) -> Float[Floats, " Q"]:
        """Margin of the best stated answer against every output that is not stated as right."""
        margins = [
            logits[np.arange(len(logits)), columns]
            - np.where(rivals, logits, -np.inf).max(1, initial=-np.inf)
            for logits, columns, rivals in self.compare_in_parts(templates, statements)
        ]
        return np.concatenate([np.zeros(0), *margins])

    def compare(
        self, templates: Float[Floats, "P K"], statements: Statements
    ) -> tuple[Float[Floats, "Q K"], Int[Ids, " Q"], Bool[Bools, "Q K"]]:
        """Return logits, the column of each answer, and its rivals.

        Rivals are all outputs but those that some statement gives as an answer to the same prompt.
        Of the several right answers of a query it is the one with the largest logit.
        """
        empty = np.zeros((0, self.shape[1]))
        nothing = empty, np.zeros(0, dtype=np.int64), empty > 0
        whole = max(len(statements), 1)
        return next(self.compare_in_parts(templates, statements, whole), nothing)

    def compare_in_parts(
        self, templates: Float[Floats, "P K"], statements: Statements, most: int = 4096
    ) -> Iterator[tuple[Float[Floats, "Q K"], Int[Ids, " Q"], Bool[Bools, "Q K"]]]:
        """Yield what :meth:`compare` returns for ``most`` statements at a time, in their order."""
        from scipy import sparse

        outputs, shape = self.world.outputs, (len(statements), len(self.world.outputs))
        places, tokens = statements.right_pairs(np.arange(len(statements)))
        ones = np.ones(len(tokens))
        right = sparse.csr_array((ones, (places, np.searchsorted(outputs, tokens))), shape=shape)
        first = np.searchsorted(outputs, statements.answers)
        further = np.searchsorted(outputs, statements.further[:, 1])
        counts = count_tokens(self.world, statements)
        for start in range(0, len(statements), most):
            rows = slice(start, start + most)
            logits, columns = counts[rows] @ templates, first[rows].copy()
            own = statements.further[:, 0] - start
            for place in np.flatnonzero((own >= 0) & (own < len(columns))).tolist():
                row, other = own[place], further[place]
                if logits[row, other] > logits[row, columns[row]]:
                    columns[row] = other
            yield logits, columns, right[rows].toarray() == 0

    def __repr__(self) -> str:
        return (
            f"Program({self.right.shape[0]} prompts, {self.shape[0]} inputs, "
            f"{self.shape[1]} outputs, {self.constraints} constraints)"
        )


def count_tokens(world: World, statements: Statements) -> sparse.csr_array:
    """Return how often each of ``world.inputs`` occurs in each prompt, ``[Q, P]``."""
    from scipy import sparse

    lengths = np.diff(statements.prompt_ends, prepend=0)
    rows = np.repeat(np.arange(len(statements)), lengths)
    columns = np.searchsorted(world.inputs, statements.prompts)
    shape = (len(statements), len(world.inputs))
    return sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)


def _prompt_groups(statements: Statements) -> Ids:
    """The number of every statement's prompt, the same for all with the same tokens."""
    lengths = np.diff(statements.prompt_ends, prepend=0)
    starts = statements.prompt_ends - lengths
    padded = np.full((len(statements), int(lengths.max(initial=0))), -1, dtype=np.int64)
    rows = np.repeat(np.arange(len(statements)), lengths)
    padded[rows, np.arange(len(rows)) - starts[rows]] = statements.prompts
    group: Ids = np.unique(np.sort(padded, axis=1), axis=0, return_inverse=True)[1].reshape(-1)
    return group


def in_words(world: World, statements: Statements, index: int) -> str:
    """A fact or query of a world, as people read it."""
    prompt, answer = statements.prompt(index), statements.answer(index)
    return f"({world.vocabulary.text(prompt)}) → {world.vocabulary.text(answer)}"


def _single_answers(statements: Statements, kind: str) -> None:
    lengths = np.diff(statements.answer_ends, prepend=0)
    if (lengths != 1).any():
        bad = int(np.flatnonzero(lengths != 1)[0])
        role = statements.role_names[statements.roles[bad]]
        raise DataError(
            f"the theory covers answers of one token; {kind} {bad} (role '{role}') has an answer "
            f"of {lengths[bad]}. Leave that role out, or use its first token only"
        )


def _check(world: World, row: Ids, right: Bools, answers: Answers) -> None:
    """Refuse facts that contradict each other, and facts that demand nothing."""
    facts, told = world.facts, partial(in_words, world, world.facts)

    for m in np.flatnonzero(right.sum(1) > 1):
        same = np.flatnonzero(row == m)
        first = int(same[0])
        others = [f for f in same.tolist() if facts.answer(f)[0] != facts.answer(first)[0]]
        turned = [f for f in others if not np.array_equal(facts.prompt(f), facts.prompt(first))]
        if turned:
            raise DataError(
                f"facts {first} {told(first)} and {turned[0]} {told(turned[0])} differ in the "
                "order of their prompts only, which a sum over tokens cannot represent; use "
                "different relations for the two directions"
            )
        if answers == "one":
            raise DataError(
                f"facts {first} {told(first)} and {others[0]} {told(others[0])} contradict each "
                "other: one prompt, two answers. If both are right, use answers='several' "
                "(--answers several); if not, remove one"
            )
    if right.all():
        raise DataError(
            "every output is a right answer of every fact, so that there are no constraints"
        )


def check_limits(
    program: Program,
    gap: float,
    iterations: int,
    seconds: float | None,
    start: Float[Floats, "P K"] | None,
) -> None:
    """Reject invalid limits of a solver."""
    if not 1e-7 <= gap < 1:
        raise ConfigError(f"gap must be at least 1e-7 and below 1, got {gap}")
    check_size("iterations", iterations, most=np.inf)
    if seconds is not None:
        check_size("seconds", seconds, least=0, most=np.inf)
    if start is not None and start.shape != program.shape:
        raise ConfigError(f"start has shape {start.shape}, but the templates have {program.shape}")
