"""Program (2) of Identity Bridge for any set of facts whose prompts are bags of tokens (§4.3).

``min_W ½‖W‖_*²`` such that every fact's right answer beats every other output by a margin of 1,
where a prompt's logits are the sum of its tokens' rows of ``W``, as in Emb-MLP.
Shapes: ``M`` distinct prompts, ``P`` input tokens, ``K`` outputs, ``Q`` statements.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from inweights.errors import ConfigError, DataError, unknown_name
from inweights.limits import check_memory
from inweights.worlds.world import Ids, Statements, World

if TYPE_CHECKING:
    from scipy import sparse

__all__ = ["Answers", "Program"]

Answers = Literal["one", "several"]
Array = NDArray[np.float64]


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
        counts: How often each input occurs in each distinct prompt, ``[M, P]``.
        right: Which outputs are right answers of each prompt, ``[M, K]``.
        row: The distinct prompt of every fact, ``[facts]``.

    Example:
        >>> from inweights.worlds import TwoHop
        >>> program = Program.of(TwoHop(n=3).build())
        >>> program
        Program(9 prompts, 8 inputs, 6 outputs, 45 constraints)
    """

    world: World
    counts: sparse.csr_array
    right: NDArray[np.bool_]
    row: Ids

    @classmethod
    def of(cls, world: World, answers: Answers = "one") -> Program:
        """Make the program of a world's facts.

        Args:
            world: Facts with answers of one token.
            answers: ``one``: two different answers to one prompt contradict each other.
                ``several``: they are all right.

        Raises:
            ConfigError: ``answers`` is neither.
            DataError: Answers have several tokens; or two facts contradict each other; or no
                output is ever wrong, so that there is nothing to learn.
        """
        if answers not in ("one", "several"):
            raise unknown_name("value of answers", answers, ("one", "several"), error=ConfigError)
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
        bags: dict[bytes, int] = {}
        firsts: list[int] = []
        row = np.empty(len(facts), dtype=np.int64)
        for fact, bag in enumerate(_keys(facts)):
            if bag not in bags:
                bags[bag] = len(firsts)
                firsts.append(fact)
            row[fact] = bags[bag]
        right = np.zeros((len(firsts), len(world.outputs)), dtype=bool)
        right[row, np.searchsorted(world.outputs, facts.answers)] = True
        _check(world, row, right, answers)
        return cls(world, counts[firsts], right, row)

    @cached_property
    def single(self) -> Ids:
        """The right answer of prompts that have just one, as a column; -1 where they have more."""
        return np.where(self.right.sum(1) == 1, self.right.argmax(1), -1)

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of ``W``: inputs and outputs."""
        return self.counts.shape[1], self.right.shape[1]

    @property
    def constraints(self) -> int:
        """How many margins are bounded."""
        answers = self.right.sum(1)
        return int((answers * (self.right.shape[1] - answers)).sum())

    def least_margins(self, logits: Array) -> Array:
        """Least margin of every prompt, ``[M]``: worst right answer minus best wrong one."""
        worst = np.where(self.right, logits, np.inf).min(1)
        best: Array = np.where(self.right, -np.inf, logits).max(1)
        return worst - best

    def logits(self, templates: Array, statements: Statements) -> Array:
        """Logits ``[Q, K]`` that the row-wise templates ``W`` ``[P, K]`` give to prompts."""
        logits: Array = count_tokens(self.world, statements) @ templates
        return logits

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


def _keys(statements: Statements) -> list[bytes]:
    """A key of every prompt as a bag of tokens."""
    return [np.sort(statements.prompt(i)).tobytes() for i in range(len(statements))]


def _single_answers(statements: Statements, kind: str) -> None:
    lengths = np.diff(statements.answer_ends, prepend=0)
    if (lengths != 1).any():
        bad = int(np.flatnonzero(lengths != 1)[0])
        role = statements.role_names[statements.roles[bad]]
        raise DataError(
            f"the theory covers answers of one token; {kind} {bad} (role '{role}') has an answer "
            f"of {lengths[bad]}. Leave that role out, or ask for its first token only"
        )


def _check(world: World, row: Ids, right: NDArray[np.bool_], answers: Answers) -> None:
    """Refuse facts that contradict each other, and facts that demand nothing."""
    facts, name = world.facts, world.vocabulary.text

    def told(fact: int) -> str:
        return f"({name(facts.prompt(fact))}) → {name(facts.answer(fact))}"

    for m in np.flatnonzero(right.sum(1) > 1):
        same = np.flatnonzero(row == m)
        first = int(same[0])
        others = [f for f in same.tolist() if facts.answer(f)[0] != facts.answer(first)[0]]
        turned = [f for f in others if not np.array_equal(facts.prompt(f), facts.prompt(first))]
        if turned:
            raise DataError(
                f"facts {first} {told(first)} and {turned[0]} {told(turned[0])} differ in the "
                "order of their prompts only, which a bag of tokens does not see; give the two "
                "directions relations of their own"
            )
        if answers == "one":
            raise DataError(
                f"facts {first} {told(first)} and {others[0]} {told(others[0])} contradict each "
                "other: one prompt, two answers. If both are right, ask for answers='several' "
                "(--answers several); if not, remove one"
            )
    if right.all():
        raise DataError("no output is ever a wrong answer, so that the facts demand nothing")
