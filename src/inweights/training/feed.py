"""The batches of a phase. A batch is a pure function of the seeds, the phase and the step.

Since random streams are counters (:mod:`inweights.seeds`), a resumed run needs no more than its
step to go on with the same data. Shapes: ``R`` replicas, ``S`` packed tokens, ``n`` labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from inweights.errors import ConfigError, DataError
from inweights.models.base import Model
from inweights.models.packing import Packed, pack
from inweights.seeds import DATA_ORDER, Streams
from inweights.training.curriculum import Phase
from inweights.training.worlds import ShapeGroup, shape_groups
from inweights.worlds.world import Ids, World

__all__ = ["Batch", "Feed"]

# Offsets are drawn for this many steps at once.
_CHUNK = 64


@dataclass(frozen=True)
class Batch:
    """Inputs, and where and what the labels are.

    Attributes:
        inputs: Packed tokens.
        at: Index in ``S`` of every labelled position, ``[n]``.
        labels: Logit column of every label, ``[R, n]``.
        weights: Weight of every label, summing to 1, ``[n]``.
    """

    inputs: Packed
    at: Tensor
    labels: Tensor
    weights: Tensor


class Feed:
    """Gives the batch of any step of one phase.

    Args:
        model: Says which columns labels have and how many positions there are.
        worlds: One world, or one a replica.
        phase: Which facts, and where the loss is.
        seeds: Root seed of each replica; the stream is ``data order``.
        index: Place of the phase in the curriculum.

    Raises:
        DataError: The phase names a role that the world lacks, or has no facts.
    """

    def __init__(
        self, model: Model, worlds: Sequence[World], phase: Phase, seeds: Sequence[int], index: int
    ) -> None:
        self._model, self._phase, self._index = model, phase, index
        self._streams = [Streams(seed) for seed in seeds]
        self.facts, weights = _chosen(worlds[0], phase)
        self._groups = [_sequences(g, phase) for g in shape_groups(worlds, "facts", self.facts)]
        lookup = dict(zip(self.facts.tolist(), weights.tolist(), strict=True))
        self._weights = [
            torch.tensor([lookup[i] for i in group.facts], dtype=torch.float32)
            for group in self._groups
        ]
        total = len(self.facts)
        size = phase.batch if 0 < phase.batch < total else total
        self._sizes = [max(1, round(size * len(g.facts) / total)) for g in self._groups]
        self._whole = size == total
        self._orders: dict[tuple[int, int, int], Ids] = {}
        self._offsets: tuple[int, np.ndarray] | None = None
        self._static = self._assemble([g.tokens for g in self._groups], self._picked(None))

    def batch(self, step: int) -> Batch:
        """Return the batch of ``step`` (0-based within the phase)."""
        if self._whole:
            static = self._static
        else:
            picks = [self._pick(step, g) for g in range(len(self._groups))]
            tokens = [_take(g.tokens, p) for g, p in zip(self._groups, picks, strict=True)]
            static = self._assemble(tokens, self._picked(picks))
        if not self._phase.random_offset:
            return static
        lengths = torch.tensor([t for b, t in static.inputs.shapes for _ in range(b)])
        offsets = torch.from_numpy(self._offset(step, lengths.numpy()))
        spread = offsets.repeat_interleave(lengths, dim=1).to(static.inputs.positions.device)
        inputs = Packed(
            static.inputs.tokens, static.inputs.positions + spread, static.inputs.shapes
        )
        return Batch(inputs, static.at, static.labels, static.weights)

    def _picked(self, picks: list[Tensor] | None) -> list[tuple[Tensor, Tensor]]:
        """Targets and weights of each group, of the picked facts or of all."""
        if picks is None:
            return [(g.targets, w) for g, w in zip(self._groups, self._weights, strict=True)]
        return [
            (_take(g.targets, p), w[p])
            for g, w, p in zip(self._groups, self._weights, picks, strict=True)
        ]

    def _assemble(self, tokens: list[Tensor], labels: list[tuple[Tensor, Tensor]]) -> Batch:
        device = self._model.column.device
        inputs = pack([t.to(device) for t in tokens])
        at, targets, weights, start = [], [], [], 0
        for group, (target, weight), (b, t) in zip(
            self._groups, labels, inputs.shapes, strict=True
        ):
            rows = start + t * torch.arange(b).unsqueeze(1)
            at.append((rows + group.places).flatten())
            targets.append(target.flatten(-2))
            weights.append(weight.repeat_interleave(len(group.places), dim=-1))
            start += b * t
        column = self._model.column[torch.cat(targets, dim=-1).to(device)]
        if (column < 0).any():
            raise DataError(
                f"phase '{self._phase.name}': a label is outside the model's candidates; "
                "take the loss at the last position, or give the model a head over all tokens"
            )
        share = torch.cat(weights, dim=-1).to(device)
        return Batch(
            inputs,
            torch.cat(at).to(device),
            column.expand(self._model.replicas, -1),
            share / share.sum(-1, keepdim=True),
        )

    def _pick(self, step: int, group: int) -> Tensor:
        """Facts of a group that are in the batch of ``step``, ``[R, b]``, epoch after epoch."""
        size, count = self._sizes[group], len(self._groups[group].facts)
        epochs, places = np.divmod(np.arange(step * size, (step + 1) * size), count)
        rows = []
        for replica in range(len(self._streams)):
            orders = {e: self._order(replica, group, e, count) for e in np.unique(epochs).tolist()}
            rows.append(
                [orders[e][p] for e, p in zip(epochs.tolist(), places.tolist(), strict=True)]
            )
        return torch.tensor(rows)

    def _order(self, replica: int, group: int, epoch: int, count: int) -> Ids:
        key = (replica, group, epoch)
        if key not in self._orders:
            self._orders.pop((replica, group, epoch - 2), None)
            rng = self._streams[replica].numpy(DATA_ORDER, self._index, "order", group, epoch)
            self._orders[key] = rng.permutation(count)
        return self._orders[key]

    def _offset(self, step: int, lengths: np.ndarray) -> np.ndarray:
        """Random start of every sequence at ``step``, ``[R, sequences]``."""
        chunk, row = divmod(step, _CHUNK)
        if self._offsets is None or self._offsets[0] != chunk:
            context = self._model.context
            if context is None:
                raise ConfigError(
                    f"phase '{self._phase.name}': random_offset has no effect on a model without "
                    "positions; leave it out"
                )
            if lengths.max() > context:
                raise ConfigError(
                    f"phase '{self._phase.name}': a sequence of {lengths.max()} tokens does not "
                    f"fit a context of {context}"
                )
            high = context - lengths + 1
            drawn = [
                s.numpy(DATA_ORDER, self._index, "offset", chunk).integers(
                    0, high, size=(_CHUNK, len(lengths))
                )
                for s in self._streams
            ]
            self._offsets = (chunk, np.stack(drawn, axis=1))
        return self._offsets[1][row]


@dataclass(frozen=True)
class _Sequences:
    """Input tokens, labelled places and targets of the facts of one shape."""

    facts: list[int]
    tokens: Tensor
    places: Tensor
    targets: Tensor


def _chosen(world: World, phase: Phase) -> tuple[Ids, np.ndarray]:
    """Places and weights of the facts that the phase trains."""
    facts = world.facts
    if not len(facts):
        raise DataError("the world has no facts to train on")
    roles = phase.roles or dict.fromkeys(facts.role_names, 1.0)
    parts = [(facts.with_role(role), weight) for role, weight in roles.items()]
    indices = np.concatenate([index for index, _ in parts])
    weights = np.concatenate([np.full(len(index), weight) for index, weight in parts])
    order = np.argsort(indices, kind="stable")
    return indices[order], weights[order]


def _sequences(group: ShapeGroup, phase: Phase) -> _Sequences:
    whole = torch.cat([group.prompts, group.answers], dim=-1)
    prompt, answer = group.prompts.shape[-1], group.answers.shape[-1]
    last = prompt + answer - 2
    if phase.loss == "every":
        places = torch.arange(last + 1)
    elif phase.loss == "last":
        places = torch.tensor([last])
    elif phase.loss == "answer":
        places = torch.arange(prompt - 1, last + 1)
    else:
        outside = [p for p in phase.loss if not 0 <= p < answer]
        if outside:
            raise ConfigError(
                f"phase '{phase.name}': an answer of {answer} token(s) has no place {outside[0]}"
            )
        places = torch.tensor([prompt - 1 + p for p in phase.loss])
    return _Sequences(group.indices.tolist(), whole[..., :-1], places, whole[..., places + 1])


def _take(tokens: Tensor, picks: Tensor) -> Tensor:
    """Pick rows ``[R, b]`` of ``[m, T]`` or ``[R, m, T]``; returns ``[R, b, T]``."""
    if tokens.dim() == 2:
        return tokens[picks]
    return tokens.gather(1, picks.unsqueeze(-1).expand(-1, -1, tokens.shape[-1]))
