"""What one step of training reads: the :class:`Batch`.

``plans.py`` assembles it, and the loss reads it. Shapes: ``R`` replicas, ``S`` packed
tokens, ``n`` labelled positions, ``m`` labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from inweights.models.packing import Packed
from inweights.worlds.arrays import Float, Int


@dataclass(frozen=True)
class Batch:
    """What a step reads: sequences, and the labels at some of their positions.

    Attributes:
        inputs: The packed sequences.
        at: Index in ``S`` of every labelled position.
        labels: Logit column of every label.
        weights: Weight of every label; they sum to 1 for each replica.
        rows: Index in ``at`` of every label's position; ``None`` if each position has
            one label and they are in order.
    """

    inputs: Packed
    at: Int[Tensor, " n"]
    labels: Int[Tensor, "R m"]
    weights: Float[Tensor, "*_ m"]
    rows: Int[Tensor, "*_ m"] | None = None

    @property
    def tensors(self) -> list[Tensor]:
        """Tensors of the batch, in the order of :meth:`with_tensors`."""
        of_inputs = [self.inputs.tokens, self.inputs.positions]
        of_labels = [self.at, self.labels, self.weights]
        if self.rows is not None:
            of_labels.append(self.rows)
        return of_inputs + of_labels

    def with_tensors(self, tensors: Sequence[Tensor]) -> Batch:
        """Return a batch with other tensors of the same shapes, in the order of :attr:`tensors`."""
        tokens, positions, at, labels, weights, *rows = tensors
        inputs = Packed(tokens, positions, self.inputs.shapes)
        return Batch(inputs, at, labels, weights, rows[0] if rows else None)
