"""Say which facts share a relation, and which outputs it has: what large programs repair by.

A prompt's rarest input is its own, the subject of a fact; the one of the others that
most prompts have is its relation, and the range of a relation is all outputs that are
right for one of its prompts. Whether a relation favours its range enough is a matter of
a few numbers that all its facts share. :class:`Relations` corrects them at once: in the
matrix (:meth:`Relations.missing`) and in its multipliers (:meth:`Relations.divide`).

Shapes: ``M`` distinct prompts, ``P`` inputs, ``K`` outputs.
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
    """Relation of each prompt and the range of each relation.

    Args:
        program: Constraints.

    Attributes:
        inputs: Inputs that are the relation of a prompt, in ascending order.
        place: Place of each prompt's relation in ``inputs``, ``[M]``; -1 where a prompt
            has one input only.

    Example:
        >>> from inweights.worlds import TwoHop
        >>> relations = Relations(Program.of(TwoHop(n=3).build()))
        >>> relations.inputs.tolist(), relations.place.tolist()
        ([6, 7], [0, 0, 0, 1, 1, 1, -1, -1, -1])
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        counts = program.counts.tocsr()
        use = np.bincount(counts.indices, minlength=counts.shape[1])
        prompts = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
        # By use, then by number, so that exactly one input of a prompt is its own.
        rank = np.empty(len(use), dtype=np.int64)
        rank[np.lexsort((np.arange(len(use)), use))] = np.arange(len(use))
        ranks = rank[counts.indices]
        least = np.minimum.reduceat(ranks, counts.indptr[:-1])
        most = np.maximum.reduceat(ranks, counts.indptr[:-1])
        #: Inputs that are the own one of every prompt that has them.
        shared = np.zeros(len(use), dtype=bool)
        shared[counts.indices[ranks > least[prompts]]] = True
        self.own = ~shared
        by_rank = np.argsort(rank)
        relation = np.where(most > least, by_rank[most], -1)
        self.inputs = np.unique(relation[relation >= 0])
        self.place: Ids = np.searchsorted(self.inputs, relation)
        self.place[relation < 0] = -1

    @cached_property
    def ranges(self) -> Bool[Bools, "relations K"]:
        """Mask of the outputs in the range of each relation; the last row has all outputs."""
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
        """Prompts and columns of all right answers, in order."""
        rows, columns = self.program.pairs.nonzero()
        return rows, columns

    def shares(self, gains: Float[Floats, " M"]) -> Float[Floats, "relations K"]:
        """Return which share of the gains of a relation's prompts each output has.

        Args:
            gains: One number for each prompt; several right answers share it equally.
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
        """Return by how much each range has to be raised against all outputs beyond it.

        Args:
            logits: Logits of the prompts, ``[m, K]``; changed.
            block: Which prompts.
            wanted: Margin over outputs beyond the range.
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
        """Return ``U(Λ)`` as a sum: rivals within the range of the relation, and beyond it.

        Each part has rows that sum to 0 and the signs of multipliers, so that every
        combination with weights of at least 0 is one.

        Args:
            prices: Multipliers up to signs that are wrong, sparse ``[m, K]``: negative
                at right answers.
            rows: Which prompts.
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
