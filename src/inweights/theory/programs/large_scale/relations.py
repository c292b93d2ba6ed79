"""Find the relation of each fact and the answers of each relation, to repair large programs.

The own input of a prompt is its rarest input, usually the subject of a fact. Its
relation is the most frequent of its other inputs, and the range of a relation is the
set of outputs that are correct for at least one of its prompts. A few numbers, which
all facts of a relation share, determine whether the relation favours its range enough.
:class:`Relations` corrects these numbers in the matrix (:meth:`Relations.missing`) and
in the multipliers (:meth:`Relations.divide`).

Shapes: ``M`` distinct prompts, ``m`` prompts of a block, ``P`` inputs, ``K`` outputs.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from inweights.theory.programs.large_scale.blocks import Block
from inweights.theory.programs.program import Program
from inweights.worlds.arrays import Bool, Bools, Float, Floats, Ids


class Relations:
    """The relation of each prompt, and the range of each relation.

    The relation of a prompt is the most frequent of its inputs, excluding its rarest
    input. The range of a relation is the set of outputs that are correct for at least
    one of its prompts.

    Args:
        program: Program (2), whose constraints come from the facts.

    Attributes:
        inputs: Inputs that are the relation of a prompt, in ascending order.
        place: Index in ``inputs`` of each prompt's relation, ``[M]`` (``M`` distinct
            prompts); -1 if a prompt has only one input.

    Example:
        >>> from inweights.worlds import TwoHop
        >>> relations = Relations(Program.of(TwoHop(n=3).build()))
        >>> relations.inputs.tolist(), relations.place.tolist()
        ([6, 7], [0, 0, 0, 1, 1, 1, -1, -1, -1])
    """

    def __init__(self, program: Program) -> None:
        """Find the relation of each prompt of a program.

        The relation is the most frequent token of the prompt apart from its rarest
        token.

        Args:
            program: Facts as constraints, with their distinct prompts.
        """
        self.program = program
        counts = program.counts.tocsr()
        use = np.bincount(counts.indices, minlength=counts.shape[1])
        prompts = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
        # Ranked by number of uses, then by index, so that each prompt has exactly one
        # input of its own.
        rank = np.empty(len(use), dtype=np.int64)
        rank[np.lexsort((np.arange(len(use)), use))] = np.arange(len(use))
        ranks = rank[counts.indices]
        least = np.minimum.reduceat(ranks, counts.indptr[:-1])
        most = np.maximum.reduceat(ranks, counts.indptr[:-1])
        #: Inputs that are the own input of every prompt in which they occur.
        shared = np.zeros(len(use), dtype=bool)
        shared[counts.indices[ranks > least[prompts]]] = True
        self.own = ~shared
        by_rank = np.argsort(rank)
        relation = np.where(most > least, by_rank[most], -1)
        self.inputs = np.unique(relation[relation >= 0])
        self.place: Ids = np.searchsorted(self.inputs, relation)
        self.place[relation < 0] = -1

    @cached_property
    def ranges(self) -> Bool[Bools, "rows K"]:
        """Boolean mask of the outputs that are correct for at least one prompt with each relation.

        Its shape is ``[relations + 1, K]`` (``K`` outputs). The last row, which belongs
        to prompts without a relation, is true for all outputs.
        """
        known = np.flatnonzero(self.place >= 0)
        size = len(self.inputs) + 1, self.program.shape[0]
        member = sparse.csr_array(
            (np.ones(len(known)), (self.place[known], known)),
            shape=(size[0], len(self.place)),
        )
        found: Bools = (member @ self.program.pairs).toarray() > 0
        found[-1] = True
        return found

    @cached_property
    def _right_at(self) -> tuple[Ids, Ids]:
        """Indices of the prompts and columns of all correct answers, in order."""
        rows, columns = self.program.pairs.nonzero()
        return rows, columns

    def shares(self, gains: Float[Floats, " M"]) -> Float[Floats, "rows K"]:
        """Return the fraction of each relation's gains that belongs to each output.

        The relation of a prompt is its most frequent token, excluding its rarest token.

        Args:
            gains: Gain of each of ``M`` distinct prompts, ``[M]``: any number of at
                least 0, which is divided equally among the correct answers to the
                prompt.

        Returns:
            Fractions ``[relations + 1, K]`` (``K`` outputs); rows sum to 1, or are 0 if
            there are no gains. The last row refers to prompts with one input.
        """
        rows, outputs = self._right_at
        each = gains[rows] / np.bincount(rows)[rows]
        total: Any = np.zeros(self.ranges.shape, np.float32)
        np.add.at(total, (self.place[rows], outputs), each)
        least = np.finfo(np.float32).tiny
        found: Floats = total / np.maximum(total.sum(1, keepdims=True), least)
        return found

    def missing(
        self, logits: Float[Floats, "m K"], block: Block, wanted: float
    ) -> Float[Floats, " relations"]:
        """Return the amount by which the logits of each relation's range have to be raised.

        Args:
            logits: Logits of the prompts, ``[m, K]`` (``K`` outputs); changed in place.
            block: The block of these prompts. The range of a relation is the set of
                outputs that are correct for at least one of its prompts.
            wanted: Required margin over outputs outside the range.

        Returns:
            One number for each relation, at least 0. If the logits of the relation's
            range are raised by this number, the correct answers have at least the
            margin ``wanted`` over all outputs outside the range.
        """
        worst = block.worst_right(logits)
        logits[self.ranges[self.place[block.rows]]] = -np.inf
        best = logits.max(1)
        found = np.zeros(len(self.inputs) + 1)
        np.maximum.at(found, self.place[block.rows], wanted - (worst - best))
        return found[:-1]

    def divide(
        self, prices: sparse.csr_array, rows: slice
    ) -> tuple[sparse.csr_array, sparse.csr_array]:
        """Split multipliers by whether the wrong output is within or outside the relation's range.

        The range of a prompt's relation is the set of outputs that are correct for a
        prompt with this relation. The rows of both parts sum to 0 and have the signs of
        multipliers, so that every combination with non-negative weights is a dual
        matrix as well.

        Args:
            prices: Multipliers, a sparse array ``[m, K]`` (``K`` outputs), negative at
                correct answers; entries with a wrong sign are set to 0.
            rows: Slice of the prompts to which the ``m`` rows of ``prices`` belong.

        Returns:
            The part within the range, and the part outside it, each a sparse array
            ``[m, K]``.
        """
        size = prices.shape[0]
        prompts, outputs = self._right_at
        first, last = np.searchsorted(prompts, [rows.start, rows.stop])
        prompts, outputs = prompts[first:last] - rows.start, outputs[first:last]
        gains = np.maximum(-prices[prompts, outputs], 0.0)
        none = np.bincount(prompts, gains, size) == 0
        gains[none[prompts]] = 1.0
        gains /= np.bincount(prompts, gains)[prompts].astype(gains.dtype)
        of = np.repeat(np.arange(size), np.diff(prices.indptr))
        right = self.program.right[rows][of, prices.indices]
        losses = np.where(right, 0.0, np.maximum(prices.data, 0.0))
        near = self.ranges[self.place[rows][of], prices.indices]
        found = []
        for kind in (near, ~near):
            used = kind & (losses > 0)
            lost, where, what = losses[used], of[used], prices.indices[used]
            sums = np.bincount(where, lost, size)[prompts]
            numbers = np.concatenate([gains * sums, -lost]).astype(prices.dtype)
            places = np.append(prompts, where), np.append(outputs, what)
            found.append(sparse.csr_array((numbers, places), shape=prices.shape))
        return found[0], found[1]
