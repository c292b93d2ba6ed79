"""The :class:`Batch`: the data of one training step.

``plans.py`` assembles batches, and the loss reads them. Shapes: ``R`` replicas, ``S``
packed tokens, ``n`` labelled positions, ``m`` labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from inweights.models.packing import Packed
from inweights.worlds.arrays import Float, Int


@dataclass(frozen=True)
class Batch:
    """Data of one training step: sequences, and the labels at some of their positions.

    Shapes: ``R`` replicas, ``S`` packed tokens, ``n`` labelled positions, ``m`` labels.

    Attributes:
        inputs: The packed sequences.
        at: Index of each labelled position among the ``S`` packed tokens, ``[n]``.
        labels: Logit column of each label, ``[R, m]``.
        weights: Weight of each label, ``[m]`` or ``[R, m]``; the weights of each
            replica sum to 1.
        rows: Index in ``at`` of each label's position, ``[m]`` or ``[R, m]``; ``None``
            if each position has one label and labels are in the order of positions.
    """

    inputs: Packed
    at: Int[Tensor, " n"]
    labels: Int[Tensor, "R m"]
    weights: Float[Tensor, "*_ m"]
    rows: Int[Tensor, "*_ m"] | None = None

    @property
    def selected(self) -> Int[Tensor, " n"] | None:
        """Indices of the labelled positions among the ``S`` packed tokens, ``[n]``.

        This is the argument ``at`` of a model's call. It is ``None``, which means all
        positions, if every sequence is a single token and every token is labelled.
        """
        single = all(length == 1 for _, length in self.inputs.shapes)
        return None if single and len(self.at) == self.inputs.size else self.at

    @property
    def tensors(self) -> list[Tensor]:
        """Tensors of the batch: tokens, positions, ``at``, labels, weights, and ``rows`` if set."""
        of_inputs = [self.inputs.tokens, self.inputs.positions]
        of_labels = [self.at, self.labels, self.weights]
        if self.rows is not None:
            of_labels.append(self.rows)
        return of_inputs + of_labels

    def with_tensors(self, tensors: Sequence[Tensor]) -> Batch:
        """Return a batch with new tensors and the sequence lengths of this batch.

        Args:
            tensors: Tokens, positions, ``at``, labels, weights and, if this batch has
                them, ``rows``, in the order and with the shapes of :attr:`tensors`.
        """
        tokens, positions, at, labels, weights, *rows = tensors
        inputs = Packed(tokens, positions, self.inputs.shapes)
        return Batch(inputs, at, labels, weights, rows[0] if rows else None)
