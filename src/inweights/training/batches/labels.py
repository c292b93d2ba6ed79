"""Labels of sequences, including sequences that several facts share.

:class:`~inweights.training.batches.sequences.Sequences` returns the :class:`Labels` of
a batch. A :class:`Pool` contains the labels of sequences with several labels each.
Shapes: ``R`` replicas, ``n`` labels, ``P`` labelled positions of a sequence, ``b``
sequences of a batch.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from inweights.worlds.arrays import Float, Int


@dataclass(frozen=True)
class Labels:
    """Labels of selected sequences, concatenated in the order of the sequences.

    Shapes: ``R`` replicas, ``n`` labels.

    Attributes:
        columns: Logit column of each label, ``[n]``, or ``[R, n]`` if replicas differ.
        weights: Weight of each label, ``[n]`` or ``[R, n]``, not normalised.
        rows: Index of each label's position among all labelled positions of these
            sequences; ``None`` if each position has one label and labels are in the
            order of positions.
    """

    columns: Int[Tensor, "*R n"]
    weights: Float[Tensor, "*_ n"]
    rows: Int[Tensor, "*R n"] | None = None


@dataclass(frozen=True)
class Pool:
    """Labels of sequences that several facts share.

    Shapes: ``n`` labels of all sequences; ``W`` is 1 if replicas share their world, and
    otherwise the number of replicas.

    Attributes:
        starts: Index of the first label of each sequence. Its last entry is the total
            number of labels, so that sequence ``i`` has the labels from ``starts[i]``
            to below ``starts[i + 1]``.
        places: Index of each label's position among the labelled positions of its
            sequence, ``[W, n]``.
        columns: Logit column of each label, ``[W, n]``.
        weights: Weight of each label, ``[W, n]``.
        most: Entry ``b - 1`` is the largest total number of labels that any ``b``
            sequences have.
    """

    starts: Int[Tensor, "W _"]
    places: Int[Tensor, "W n"]
    columns: Int[Tensor, "W n"]
    weights: Float[Tensor, "W n"]
    most: tuple[int, ...]

    def labels(self, picks: Int[Tensor, "R b"] | None, positions: int) -> Labels:
        """Return the labels of selected sequences; several facts may share a sequence.

        Args:
            picks: Indices of ``b`` sequences for each replica, ``[R, b]``; ``None`` for
                all sequences.
            positions: Number ``P`` of labelled positions of a sequence.

        Returns:
            Columns, weights and rows of the labels, ``[R, n]`` each, or ``[W, n]``
            without ``picks``, where ``W`` is 1 if replicas share their world, and ``R``
            otherwise. If a replica has fewer labels than another, its row is padded
            with labels of weight 0.
        """
        if picks is None:
            picks = torch.arange(self.starts.shape[1] - 1, device=self.starts.device)
            picks = picks.expand(len(self.starts), -1)
        replicas, batch = picks.shape
        first = self.starts.expand(replicas, -1).gather(1, picks)
        counts = self.starts.expand(replicas, -1).gather(1, picks + 1) - first
        ends = counts.cumsum(1)
        # On an accelerator, this must neither wait for a number nor change shapes from
        # step to step.
        width = self.most[batch - 1]
        if picks.device.type == "cpu":
            width = int(ends[:, -1].max())
        slots = torch.arange(width, device=picks.device).expand(replicas, -1)
        # Replicas have different numbers of labels in a batch. Rows are padded with
        # labels of weight 0.
        which = torch.searchsorted(ends, slots.contiguous(), right=True)
        which.clamp_(max=batch - 1)
        offset = slots - (ends - counts).gather(1, which)
        inside = slots < ends[:, -1:]
        at = torch.where(inside, first.gather(1, which) + offset, 0)
        places = self.places.expand(replicas, -1).gather(1, at)
        columns = self.columns.expand(replicas, -1).gather(1, at)
        weights = self.weights.expand(replicas, -1).gather(1, at)
        weights = torch.where(inside, weights, 0.0)
        return Labels(columns, weights, which * positions + places)
