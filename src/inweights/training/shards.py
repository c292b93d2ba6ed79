"""One model on several devices: data-parallel training with a sharded optimizer.

Every process (a *rank*) has the whole model and reads its part of each batch. Gradients
are summed over ranks, and each rank gets the sum for its own columns of the ``[R, P]``
matrix. The rank updates only these columns, and stores the optimizer's state only for
them. Then all ranks exchange their columns. This is stage 1 of ZeRO (Rajbhandari et al.
2020, arXiv:1910.02054, §5.1) on one flat parameter. Labels keep their weights in the
whole batch, so that the sum over ranks equals the loss and gradient of one process, up
to rounding. :func:`inweights.train` accepts a :class:`Shards`.

Shapes: ``R`` replicas, ``P`` parameters of one replica, ``p`` of them on one rank,
``S`` packed tokens, ``n`` labelled positions.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn import functional as F

from inweights.errors import ConfigError
from inweights.models.packing import Packed
from inweights.training.batches.batch import Batch
from inweights.training.checkpoint import Checkpoint, ReplicaState
from inweights.worlds.arrays import Float


class Shards:
    """The position of this process among the processes that train one model together.

    The process group of ``torch.distributed`` must already be initialised.

    Attributes:
        rank: Index of this process, counted from 0.
        ranks: Number of processes.

    Raises:
        ValueError: The process group is not initialised.
    """

    def __init__(self) -> None:
        """Read the rank of this process and the number of processes from ``torch.distributed``.

        Raises:
            ValueError: The process group is not initialised.
        """
        self.rank = dist.get_rank()
        self.ranks = dist.get_world_size()
        self._at: Tensor | None = None

    def columns(self, count: int) -> tuple[int, int]:
        """Return this process's range of parameter columns: the first, and the one after the last.

        A rank is one of the processes that train the model together. If no column is
        left for this rank, the two numbers are equal.

        Args:
            count: Total number of columns over all ranks, which is the number of
                parameters of a replica.
        """
        width = -(-count // self.ranks)
        return min(count, self.rank * width), min(count, (self.rank + 1) * width)

    def part(self, batch: Batch) -> Batch:
        """Return the sequences of a batch that this process (rank) reads, with labels and weights.

        Labels keep their weights in the whole batch, so that weights sum to 1 only over
        all ranks. If several labels share a position, the labels of other ranks are
        included with weight 0.

        Args:
            batch: The whole batch, which must be the same on every rank.

        Raises:
            ConfigError: The batch has fewer sequences than there are ranks, or none of
                them is assigned to this rank.
        """
        # Shapes and places are the same at every step of a phase.
        if batch.at is not self._at:
            self._at = batch.at
            self._split(batch)
        packed = Packed(
            tokens=batch.inputs.tokens.index_select(-1, self._tokens),
            positions=batch.inputs.positions.index_select(-1, self._tokens),
            shapes=self._shapes,
        )
        if batch.rows is None:
            labels = batch.labels.index_select(-1, self._labelled)
            weights = batch.weights.index_select(-1, self._labelled)
            return Batch(packed, self._own_at, labels, weights)
        own = self._own_rows[batch.rows]
        weights = torch.where(own < 0, 0.0, batch.weights)
        return Batch(packed, self._own_at, batch.labels, weights, own.clamp(min=0))

    def _split(self, batch: Batch) -> None:
        """Divide the sequences of each shape among the ranks; store this rank's indices."""
        chosen = []
        shapes = []
        start = 0
        for count, length in batch.inputs.shapes:
            first = count * self.rank // self.ranks
            last = count * (self.rank + 1) // self.ranks
            chosen.append(torch.arange(start + first * length, start + last * length))
            if last > first:
                shapes.append((last - first, length))
            start += count * length
        if sum(count for count, _ in batch.inputs.shapes) < self.ranks or not shapes:
            raise ConfigError(
                f"a batch of {', '.join(f'{b} sequences of {t}' for b, t in batch.inputs.shapes)} "
                f"tokens leaves one of {self.ranks} processes without data; start fewer processes"
            )
        device = batch.at.device
        self._tokens = torch.cat(chosen).to(device)
        self._shapes = tuple(shapes)
        place = torch.full((start,), -1, device=device)
        place[self._tokens] = torch.arange(len(self._tokens), device=device)
        at = place[batch.at]
        self._labelled = (at >= 0).nonzero().flatten()
        self._own_at = at[self._labelled]
        self._own_rows = torch.full_like(at, -1)
        self._own_rows[self._labelled] = torch.arange(
            len(self._labelled), device=device
        )

    def reduce(
        self, losses: Float[Tensor, " R"], gradients: Float[Tensor, "R P"]
    ) -> None:
        """Sum losses and gradients over all processes (ranks), in place.

        All ranks must call this method together.

        Args:
            losses: Losses of the replicas, ``[R]``; every rank receives the sum.
            gradients: Gradients of the ``P`` parameters of ``R`` replicas, ``[R, P]``;
                this rank's columns are set to the sum, and other columns do not change.
        """
        dist.all_reduce(losses)
        parts = self._parts(gradients)
        own = torch.empty_like(parts[0])
        dist.reduce_scatter(own, list(parts))
        start, end = self.columns(gradients.shape[1])
        gradients[:, start:end] = own[:, : end - start]

    def gather(
        self, matrices: Mapping[str, Float[Tensor, "R P"] | Float[Tensor, ""]]
    ) -> None:
        """Copy the columns of matrices, in place, from the processes (ranks) that update them.

        All ranks must call this method together, with matrices of the same shapes in
        the same order.

        Args:
            matrices: Mapping from name to matrix: parameters or states of the
                optimizer, ``[R, P]`` each (``R`` replicas, ``P`` parameters). Names are
                not compared, and scalars do not change.
        """
        for matrix in matrices.values():
            if matrix.dim():
                parts = self._parts(matrix)
                dist.all_gather(list(parts), parts[self.rank].clone())
                matrix.copy_(parts.transpose(0, 1).flatten(1)[:, : matrix.shape[1]])

    def _parts(self, matrix: Float[Tensor, "R P"]) -> Float[Tensor, "ranks R p"]:
        """Return the columns by rank, padded with zeros to equal width."""
        padded = F.pad(matrix, (0, -matrix.shape[1] % self.ranks))
        split = padded.unflatten(1, (self.ranks, -1))
        return split.transpose(0, 1).contiguous()

    def keep(self, checkpoint: Checkpoint | None) -> Checkpoint:
        """Return a checkpoint for all processes; only the first one reads and writes the file.

        Args:
            checkpoint: The checkpoint, which has an effect only on the first process
                (rank 0); ``None`` to store nothing.

        Returns:
            An object with the methods ``due``, ``write`` and ``read`` of a checkpoint.
            All ranks must call ``due`` and ``read`` together. ``read`` requires its
            argument ``device``, and returns empty tables on all ranks but the first.
        """
        return _SharedCheckpoint(self, checkpoint)  # type: ignore[return-value]  # has the same methods

    def tell(self, words: bytes = b"") -> bytes:
        """Send bytes from the first process (rank 0) to all processes, and return them on each.

        All ranks must call this method together.

        Args:
            words: Bytes that the first rank sends. Other ranks ignore the argument.
        """
        # Other ranks must know the size before they can receive the bytes.
        size = torch.tensor([len(words)])
        dist.broadcast(size, 0)
        letters = torch.tensor(list(words) or [0] * int(size), dtype=torch.uint8)
        if len(letters):
            dist.broadcast(letters, 0)
        return letters.numpy().tobytes()


class _Where(msgspec.Struct):
    """Part of a state that the first rank sends in addition to the tensors."""

    phase: int
    step: int
    total: int
    shapes: dict[str, tuple[int, ...]]


class _SharedCheckpoint:
    """A checkpoint of the whole model, from which any number of ranks can continue."""

    def __init__(self, shards: Shards, file: Checkpoint | None) -> None:
        self._shards = shards
        self._file = None if shards.rank else file

    def due(self, total: int) -> bool:
        now = self._file is not None and self._file.due(total)
        return bool(self._shards.tell(b"1" if now else b""))

    def write(self, state: ReplicaState) -> None:
        if self._file:
            self._file.write(state)

    def read(self, device: torch.device | str) -> ReplicaState | None:
        """Return the state that the first rank reads; on other ranks, it contains no tables."""
        state = self._file.read(device) if self._file else None
        tensors: dict[str, Tensor] = {}
        words = b""
        if state:
            tensors = {"values": state.values, "stopped": state.stopped}
            tensors |= state.optimizer
            shapes = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
            place = _Where(state.phase, state.step, state.total, shapes)
            words = msgspec.json.encode(place)
        words = self._shards.tell(words)
        if not words:
            return None
        where = msgspec.json.decode(words, type=_Where)
        for name, shape in where.shapes.items():
            if name not in tensors and name == "stopped":
                tensors[name] = torch.zeros(shape, dtype=torch.long)
            elif name not in tensors:
                tensors[name] = torch.zeros(shape, device=device)
            dist.broadcast(tensors[name], 0)
        values = tensors.pop("values")
        stopped = tensors.pop("stopped")
        return state or ReplicaState(
            phase=where.phase,
            step=where.step,
            total=where.total,
            values=values,
            stopped=stopped,
            optimizer=tensors,
            tables={"losses": []},
        )
