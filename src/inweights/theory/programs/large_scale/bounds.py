"""Bound the optimum of a large program from both sides, near a point of the iteration.

:class:`Bounds` stores the best matrix and the best multipliers found so far. Both are
repaired before they are evaluated. The iteration takes long to find how much each
relation favours its range (the answers of its facts). A few numbers determine this, and
:class:`~.relations.Relations` corrects them. Shapes: ``M`` distinct prompts, ``P``
inputs, ``K`` outputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from inweights.theory.programs.large_scale.iteration import Iteration
from inweights.theory.programs.large_scale.mixture import Mixture, Part
from inweights.theory.programs.large_scale.pieces import singular_values
from inweights.theory.programs.large_scale.state_file import (
    State,
    part_of,
    prefixed,
)
from inweights.theory.programs.operators import operator_norm
from inweights.worlds.arrays import Float, Floats, Ids

#: Number of times that missing margins are repaired before the matrix is scaled.
REPAIRS = 3
#: Number of prompts whose multipliers are processed together.
GROUP = 2_000
#: Largest relative difference between the norms of the two solutions.
NEAR = 1e-2


def groups_of(prompts: int) -> list[slice]:
    """Return slices of up to 2,000 prompts, whose multipliers are processed together.

    Args:
        prompts: Number of prompts.
    """
    starts = range(0, prompts, GROUP)
    return [slice(start, min(start + GROUP, prompts)) for start in starts]


class _Kept:
    """Multipliers, stored in half precision, as rows of a sparse matrix.

    Args:
        starts: Position of each row's first entry, and the number of all entries.
        columns: Column of each entry.
        data: The entries.
        outputs: Number of columns.
    """

    def __init__(self, starts: Ids, columns: Ids, data: Floats, outputs: int) -> None:
        self._outputs = outputs
        self._starts, self._columns, self._data = starts, columns, data

    @classmethod
    def of(cls, prices: sparse.csr_array) -> _Kept:
        """Round multipliers to half precision."""
        data: Any = prices.data.astype(np.float16)
        used = data != 0
        before = np.append(0, np.cumsum(used))
        starts, columns = before[prices.indptr], prices.indices[used]
        return cls(starts, columns, data[used], prices.shape[1])

    def state(self) -> State:
        """Return the arguments of the constructor, except for the number of columns."""
        return {"starts": self._starts, "columns": self._columns, "data": self._data}

    def prices(self, rows: slice, dtype: Any) -> sparse.csr_array:
        """Return the multipliers of a slice of prompts in a given precision, ``[m, K]``.

        Args:
            rows: Slice of the prompts.
            dtype: Precision of the result.
        """
        starts = self._starts[rows.start : rows.stop + 1]
        inside = slice(starts[0], starts[-1])
        data = self._data[inside].astype(dtype)
        shape = rows.stop - rows.start, self._outputs
        return sparse.csr_array(
            (data, self._columns[inside], starts - starts[0]), shape=shape
        )


class Bounds:
    """The best bounds found so far on the optimum of a large program.

    Args:
        run: The iteration, whose blocks and relations are used.

    Attributes:
        templates: The best feasible matrix, ``[P, K]``; ``None`` if there is none yet.
        others: Candidates for a second solution, ``[P, K]`` each, the best first.
        another: A second solution, after :meth:`take_another`; ``None`` if there is
            none.
        optimum: Nuclear norm of ``templates``.
        bound: The best lower bound.
        dual: The multipliers that certify ``bound``, after :meth:`check`.
        rank: Numerical rank of ``templates``.
    """

    def __init__(self, run: Iteration) -> None:
        """Begin with an infinite upper bound and the lower bound 0, for the program of ``run``."""
        self.blocks = run.blocks
        self.relations = run.relations
        self._raised = run.raised
        self._shape = run.program.shape
        self.templates: Floats | None = None
        self.others: list[Floats] = []
        self.another: Floats | None = None
        self.optimum = np.inf
        self.bound = 0.0
        self.rank = 0
        self.dual: Floats = np.zeros((1, 1), np.float32)
        self._mixture = Mixture()
        self._turned = run.program.counts.T.tocsc().astype(np.float32)
        self._groups = groups_of(len(run.relations.place))
        self._prices: dict[int, _Kept] = {}
        self._number = 0

    @property
    def gap(self) -> float:
        """Certified relative gap, ``1 - bound / optimum``; infinite if there is no upper bound."""
        return 1.0 - self.bound / self.optimum if np.isfinite(self.optimum) else np.inf

    def take_upper(self, templates: Float[Floats, "P K"]) -> float:
        """Raise margins below 1, and store the corrected matrix if it improves the upper bound.

        Args:
            templates: Any matrix, ``[P, K]`` (``P`` input tokens, ``K`` outputs).

        Returns:
            The nuclear norm of the corrected matrix divided by its smallest margin;
            infinite if the smallest margin is not positive.
        """
        repaired, least = self._repair(templates)
        if not least > 0:
            return np.inf
        values = singular_values(repaired)
        optimum = float(values.sum()) / least
        if optimum < self.optimum:
            self.templates = repaired / np.float32(least)
            self.optimum = optimum
            self.rank = int((values > 1e-4 * values[-1]).sum())
        return optimum

    def take_lower(self, several: Sequence[sparse.csr_array]) -> None:
        """Add multipliers, and combine them with earlier ones to improve the lower bound.

        Multipliers of wrong outputs within the range of a prompt's relation, and of
        those outside the range, are weighted separately.

        Args:
            several: Multipliers of any scale, sparse arrays ``[M, K]`` (``M`` distinct
                prompts), in the form that :meth:`~.relations.Relations.divide` accepts.
        """
        mixture = self._mixture
        new = []
        for prices in several:
            # Rounded first, so that the bounds are those of the stored numbers.
            kept = _Kept.of(prices)
            new += self._parts(self._number, kept)
            self._prices[self._number] = kept
            self._number += 1
        mixture.add(new)
        mixture.mix()
        self.bound = max(self.bound, mixture.bound)
        names = [*(part.name for part in mixture.parts), *mixture.weights]
        needed = {number for number, _ in names}
        self._prices = {n: p for n, p in self._prices.items() if n in needed}

    def _parts(self, number: int, kept: _Kept) -> list[Part]:
        """Return the multipliers of rivals within and outside ranges, as parts of a mixture."""
        slopes: Any = np.zeros((2, *self._shape), np.float32)
        totals = np.zeros(2)
        for rows in self._groups:
            parts = self.relations.divide(kept.prices(rows, np.float32), rows)
            for place, part in enumerate(parts):
                slopes[place] += (self._turned[:, rows] @ part).toarray()
                totals[place] += np.maximum(part.data, 0.0).sum(dtype=float)
        return [
            Part((number, place), slopes[place], total)
            for place, total in enumerate(totals.tolist())
        ]

    def state(self) -> State:
        """Return the arrays, keyed by name, that :meth:`restore` needs to continue later."""
        found = {
            "bound": np.asarray(self.bound),
            "optimum": np.asarray(self.optimum),
            "rank": np.asarray(self.rank),
            "number": np.asarray(self._number),
        } | prefixed("mixture", self._mixture.state())
        if self.templates is not None:
            found["templates"] = self.templates
        for place, other in enumerate(self.others):
            found[f"other {place}"] = other
        for number, kept in self._prices.items():
            found |= prefixed(f"kept {number}", kept.state())
        return found

    def restore(self, state: State) -> None:
        """Restore a state returned by :meth:`state`, to continue from it."""
        self.bound, self.optimum = float(state["bound"]), float(state["optimum"])
        self.rank, self._number = int(state["rank"]), int(state["number"])
        self.templates = state.get("templates")
        others = sorted(name for name in state if name.startswith("other "))
        self.others = [state[name] for name in others]
        mixture = part_of("mixture", state)
        for number in range(self._number):
            kept = part_of(f"kept {number}", state)
            if kept:
                self._prices[number] = _Kept(**kept, outputs=self._shape[1])
        names = [(int(number), int(place)) for number, place in mixture["names"]]
        made: dict[tuple[int, int], Part] = {}
        for number in dict.fromkeys(number for number, _ in names):
            for part in self._parts(number, self._prices[number]):
                made[part.name] = part
        self._mixture.restore(mixture, [made[name] for name in names])

    def _mixed(self, rows: slice) -> sparse.csr_array:
        """Return the best mixture of multipliers for a slice of prompts, in double precision."""
        mixed = sparse.csr_array((rows.stop - rows.start, self._shape[1]))
        for number, kept in self._prices.items():
            parts = self.relations.divide(kept.prices(rows, np.float64), rows)
            for place, part in enumerate(parts):
                weight = self._mixture.weights.get((number, place), 0.0)
                if weight > 0:
                    mixed = mixed + weight * part
        return mixed

    def _repair(self, templates: Floats) -> tuple[Floats, float]:
        """Raise the logits of ranges, then of correct answers, where margins are below 1.

        Args:
            templates: Any matrix, ``[P, K]``.

        Returns:
            The repaired matrix, and its smallest margin.
        """
        templates = templates.copy()
        missing = np.zeros(len(self.relations.inputs))
        for block in self.blocks:
            logits = block.logits(templates)
            found = self.relations.missing(logits, block, 1.0)
            np.maximum(missing, found, out=missing)
        for place, relation in enumerate(self.relations.inputs.tolist()):
            raised = np.float32(missing[place]) * self.relations.ranges[place]
            templates[relation] += raised
        for attempt in range(REPAIRS + 1):
            least = self._least_margins(templates)
            if attempt == REPAIRS or least.min() >= 1:
                break
            prompts, inputs, outputs, share = self._raised
            more = np.zeros_like(templates)
            np.maximum.at(
                more, (inputs, outputs), np.maximum(0, 1 - least)[prompts] * share
            )
            templates += more
        return templates, float(least.min())

    def _least_margins(self, templates: Floats) -> Floats:
        """Return the smallest margin of each prompt, in the precision of the templates."""
        return np.concatenate([block.least_margins(templates) for block in self.blocks])

    def check(self) -> None:
        """Recompute both bounds on the optimum in double precision, and store them."""
        templates = np.array(self.templates, dtype=float)
        templates /= float(self._least_margins(templates).min())
        self.templates = templates
        self.optimum = float(singular_values(self.templates).sum())
        slope = np.zeros(self._shape)
        total = 0.0
        self.dual = np.zeros((len(self.relations.place), self._shape[1]), np.float32)
        for rows in self._groups:
            dual = self._mixed(rows)
            total += float(np.maximum(dual.data, 0.0).sum())
            slope += (self._turned[:, rows].astype(float) @ dual).toarray()
            self.dual[rows] = dual.toarray()
        size = operator_norm(slope)
        self.bound = total / size
        self._mixture.bound = self.bound
        self.dual /= np.float32(size)

    def take_another(self) -> None:
        """Correct the matrices in :attr:`others`, and store the first one near the optimum.

        Its norm exceeds the optimum by at most 1%, or by the gap if that is larger.
        """
        for candidate in self.others:
            another, least = self._repair(candidate)
            norm = float(singular_values(another).sum())
            if least > 0 and norm <= least * self.optimum * (1 + max(self.gap, NEAR)):
                self.another = another / np.float32(least)
                return
