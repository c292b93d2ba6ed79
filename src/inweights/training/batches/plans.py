"""The batches of a phase: :class:`Batches` returns the batch of any step.

A batch is a pure function of the seeds, the phase and the step. Since random streams
are counters (:mod:`inweights.seeds`), a resumed run needs only its step to continue
with the same data. All data are stored on the model's device, where each step selects
its sequences. The order of an epoch is copied to the device once. Shapes: ``R``
replicas, ``S`` packed tokens, ``n`` labelled positions, ``m`` labels or sequences,
``b`` sequences of a batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from inweights.errors import ConfigError, DataError
from inweights.models.base import Model
from inweights.models.packing import Packed
from inweights.seeds import DATA_ORDER, Streams
from inweights.training.batches.batch import Batch
from inweights.training.batches.labels import Labels
from inweights.training.batches.sequences import Sequences, sequences_of, stacked, take
from inweights.training.batches.worlds import shape_groups
from inweights.training.curriculum import Phase
from inweights.worlds.arrays import Floats, Int
from inweights.worlds.world import Ids, World

# Number of steps whose random offsets are drawn at once.
_CHUNK = 64


@dataclass
class _Draw:
    """Sequences of one shape; each step uses ``size`` of them, or all if ``whole`` is true."""

    group: Sequences
    size: int
    whole: bool


class Batches:
    """The batches of one phase of training, one for each step.

    Args:
        model: The model that is trained. Its candidates (the tokens with a logit) and
            its device are used.
        worlds: Sequence that contains one world for all replicas, or one world per
            replica.
        phase: Settings of the phase, such as its roles, batch size and loss positions.
        seeds: Root seed of each replica, which determines the order of its data.
        index: Index of the phase in the curriculum, which also determines the order.

    Attributes:
        facts: Indices, in ``world.facts``, of the training facts, in increasing order.

    Raises:
        DataError: The world has no facts, or lacks a role or token that the phase
            names; the model has no logit for a label; or replicas have different
            numbers of distinct inputs to pool.
        ConfigError: The phase's loss names a token by an index that an answer does not
            have, or a seed is negative.
    """

    def __init__(
        self,
        model: Model,
        worlds: Sequence[World],
        phase: Phase,
        seeds: Sequence[int],
        index: int,
    ) -> None:
        """Find the facts of a phase; :class:`Batches` lists the arguments and errors.

        There is one world, or one per replica; ``seeds`` are the replicas' root seeds,
        and ``index`` is the index of the phase in its curriculum.
        """
        self._model = model
        self._phase = phase
        self._index = index
        self._device = model.column.device
        self._streams = list(map(Streams, seeds))
        self.facts, weights = _chosen(worlds[0], phase)
        self._draws: list[_Draw] = []
        for indices, size in _sampling_groups(worlds[0], phase, self.facts):
            self._draws += self._drawn_together(worlds, indices, size, weights)
        self._orders: dict[tuple[int, int], Tensor] = {}
        self._offsets: tuple[int, Tensor] | None = None
        # Shapes and the positions of labels are the same at every step.
        shapes = tuple((d.size, d.group.tokens.shape[-1]) for d in self._draws)
        self._shapes = shapes
        positions = []
        for count, length in shapes:
            positions.append(torch.arange(length, device=self._device).repeat(count))
        self._positions = torch.cat(positions)
        counts, lengths = zip(*shapes, strict=True)
        self._lengths = np.repeat(lengths, counts)
        owner = np.repeat(np.arange(len(self._lengths)), self._lengths)
        # Index of the sequence of each token, [S].
        self._owner = torch.from_numpy(owner).to(self._device)
        self._at = torch.cat(_labelled(self._draws)).to(self._device)
        self._share: Tensor | None = None
        # Full batches are the same at every step, and are assembled once.
        self._static: Batch | None = None
        if all(draw.whole for draw in self._draws):
            self._static = self._assemble([None] * len(self._draws))

    @property
    def tokens(self) -> int:
        """Number ``S`` of tokens in a batch, over all of its sequences, packed along one axis."""
        return len(self._positions)

    def at(self, step: int) -> Batch:
        """Return the batch of a step.

        Args:
            step: The step, counted from 0 within the phase.

        Raises:
            ConfigError: The phase has random offsets, but the model has no position
                embeddings, or the longest sequence has more tokens than the model has
                positions.
        """
        batch = self._static
        if batch is None:
            picks: list[Tensor | None] = []
            for i, draw in enumerate(self._draws):
                picks.append(None if draw.whole else self._pick(step, i))
            batch = self._assemble(picks)
        if not self._phase.random_offset:
            return batch
        inputs = batch.inputs
        positions = inputs.positions + self._offset(step)
        return replace(batch, inputs=replace(inputs, positions=positions))

    def _drawn_together(
        self, worlds: Sequence[World], indices: Ids, size: int, weights: Floats
    ) -> list[_Draw]:
        """Return one draw per shape; together they use ``size`` sequences per step.

        Each shape gets a share of ``size`` in proportion to the number of its
        sequences, but at least one sequence.
        """
        groups = []
        token = self._phase.teacherless
        blank = worlds[0].vocabulary.id(token) if token else None
        for group in shape_groups(worlds, "facts", indices):
            counts = weights[np.searchsorted(self.facts, group.indices)]
            column = self._model.column
            groups.append(sequences_of(group, counts, self._phase, column, blank))
        total = sum(map(len, groups))
        whole = not 0 < size < total
        draws = []
        for sequences in groups:
            own = len(sequences)
            if not whole:
                # Each step contains at least one sequence of every shape.
                own = max(1, round(size * own / total))
            draws.append(_Draw(sequences, own, whole))
        return draws

    def _assemble(self, picks: Sequence[Tensor | None]) -> Batch:
        """Return the batch of selected sequences of each draw; ``None`` selects all."""
        replicas = self._model.replicas
        tokens: list[Tensor] = []
        labels: list[Labels] = []
        rows: list[Tensor] = []
        passed = 0  # number of labelled positions in earlier draws
        pooled = any(draw.group.pool is not None for draw in self._draws)
        for draw, pick in zip(self._draws, picks, strict=True):
            group = draw.group
            picked = group.tokens if pick is None else take(group.tokens, pick)
            tokens.append(picked.flatten(-2))
            labels.append(group.labels(pick))
            if pooled:
                rows.append(passed + _rows(labels[-1]))
            passed += draw.size * len(group.places)
        columns = stacked([one.columns for one in labels], replicas)
        share = self._share
        if share is None:
            weights = stacked([one.weights for one in labels], replicas)
            share = weights / weights.sum(-1, keepdim=True)
            if all(draw.group.even for draw in self._draws):
                self._share = share  # the same at every step
        return Batch(
            Packed(stacked(tokens, replicas), self._positions, self._shapes),
            self._at,
            columns.expand(replicas, -1),
            share,
            stacked(rows, replicas) if pooled else None,
        )

    def _pick(self, step: int, draw: int) -> Int[Tensor, "R b"]:
        """Return the indices of the sequences of a draw in the batch of a step."""
        size = self._draws[draw].size
        count = len(self._draws[draw].group)
        start = step * size
        end = start + size
        parts = []
        while start < end:
            epoch, first = divmod(start, count)
            part = self._order(draw, epoch)[:, first : min(count, first + end - start)]
            parts.append(part)
            start += part.shape[1]
        return torch.cat(parts, dim=1) if len(parts) > 1 else parts[0]

    def _order(self, draw: int, epoch: int) -> Int[Tensor, "R m"]:
        """Return the random order of a draw's sequences in an epoch; two epochs are cached."""
        key = (draw, epoch)
        if key not in self._orders:
            self._orders.pop((draw, epoch - 2), None)
            count = len(self._draws[draw].group)
            path = (DATA_ORDER, self._index, "order", draw, epoch)
            drawn = [s.numpy(*path).permutation(count) for s in self._streams]
            self._orders[key] = torch.from_numpy(np.stack(drawn)).to(self._device)
        return self._orders[key]

    def _offset(self, step: int) -> Int[Tensor, "R S"]:
        """Return the random offset of each token's position at a step."""
        chunk, row = divmod(step, _CHUNK)
        lengths = self._lengths
        if self._offsets is None or self._offsets[0] != chunk:
            context = self._model.context
            if context is None:
                raise ConfigError(
                    f"phase '{self._phase.name}': random_offset has no effect on a model without "
                    "position embeddings; leave it out"
                )
            if lengths.max() > context:
                raise ConfigError(
                    f"phase '{self._phase.name}': a sequence of {lengths.max()} tokens is "
                    f"longer than the model's context of {context}"
                )
            high = context - lengths + 1
            shape = (_CHUNK, len(lengths))
            drawn = []
            for stream in self._streams:
                generator = stream.numpy(DATA_ORDER, self._index, "offset", chunk)
                drawn.append(generator.integers(0, high, size=shape))
            offsets = torch.from_numpy(np.stack(drawn, axis=1))
            self._offsets = (chunk, offsets.to(self._device))
        return self._offsets[1][row].index_select(1, self._owner)


def _chosen(world: World, phase: Phase) -> tuple[Ids, Floats]:
    """Return the indices of the facts that a phase trains on, in order, and their weights."""
    facts = world.facts
    if not len(facts):
        raise DataError("the world has no facts to train on")
    roles = phase.roles or dict.fromkeys(facts.role_names, 1.0)
    parts = []
    part_weights = []
    for role, weight in roles.items():
        parts.append(facts.with_role(role))
        part_weights.append(np.full(len(parts[-1]), weight))
    indices = np.concatenate(parts)
    weights = np.concatenate(part_weights)
    order = np.argsort(indices, kind="stable")
    return indices[order], weights[order]


def _sampling_groups(world: World, phase: Phase, chosen: Ids) -> list[tuple[Ids, int]]:
    """Return groups of facts that are drawn together, each with the number drawn per step.

    Facts whose roles ``phase.batch`` does not name form the first group. Its number is
    0, so that all of them are in every step.
    """
    if not isinstance(phase.batch, dict):
        return [(chosen, phase.batch)]
    groups = []
    for key, size in phase.batch.items():
        parts = list(map(world.facts.with_role, key.split("+")))
        groups.append((np.sort(np.concatenate(parts)), size))
    rest = chosen
    for named, _ in groups:
        rest = rest[~np.isin(rest, named)]
    return [(rest, 0), *groups] if len(rest) else groups


def _labelled(draws: Sequence[_Draw]) -> list[Tensor]:
    """Return the indices of each draw's labelled positions in the packed axis."""
    positions = []
    start = 0
    for draw in draws:
        length = draw.group.tokens.shape[-1]
        rows = start + length * torch.arange(draw.size).unsqueeze(1)
        positions.append((rows + draw.group.places).flatten())
        start += draw.size * length
    return positions


def _rows(labels: Labels) -> Tensor:
    """Return the index of the labelled position of each label."""
    if labels.rows is not None:
        return labels.rows
    return torch.arange(labels.columns.shape[-1], device=labels.columns.device)
