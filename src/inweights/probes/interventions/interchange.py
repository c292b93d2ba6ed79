"""Interchange interventions: find which hidden state carries the bridge, and which the answer.

:func:`carries` replaces states of a base query by states of a source query with a
different bridge and last relation, and counts which of four answers the model then
gives.

Shapes: ``R`` replicas (1 if all share a world), ``m`` pairs of prompts, ``T``
positions, ``D`` width.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import polars as pl
import torch
from torch import Tensor

from inweights.config import check_size
from inweights.errors import DataError
from inweights.models.base import Model
from inweights.models.hooking import Edit
from inweights.models.packing import Packed, pack
from inweights.probes.interventions.spots import Spot, recorded, spot_of
from inweights.probes.needs import holds
from inweights.probes.states import by_replica
from inweights.training.batches.worlds import as_worlds
from inweights.worlds.arrays import Float, Int
from inweights.worlds.world import Ids, World, Worlds

#: The four distinguishable answers, named by what the replaced state carries: the
#: bridge, the last relation, both (``answer``), or neither.
_OUTCOMES = ("bridge", "relation", "answer", "unchanged")
#: Names of the hidden states that are replaced, one or several at once.
Place = str | Sequence[str]


@holds(most=256, states=14, kept=39)
def carries(
    model: Model,
    worlds: Worlds,
    *,
    role: str = "composition",
    places: Sequence[Place] | None = None,
    most: int = 256,
) -> pl.DataFrame:
    """Measure what each hidden state of a two-hop query carries, by interchange interventions.

    The model reads a base query ``(a, r1, r2)``, and one hidden state is replaced with
    the same state of a source query ``(a', r1', r3)`` with another bridge ``b'`` and
    another last relation (Vig et al. 2020, arXiv:2004.12265; Geiger et al. 2021,
    arXiv:2106.02997). The model's answer then shows what the state carries. If it is
    the answer to ``(b', r2)``, the state carries the *bridge*. If it is the answer to
    ``(b, r3)``, the state carries the *relation*. If it is the answer to ``(b', r3)``,
    which is the source's answer, the state carries both, or the *answer* itself. The
    answer to ``(b, r2)`` is counted as *unchanged*. Only pairs of queries for which the
    four answers differ are used. With a single last relation, bridge and answer would
    change together, so that patching could not separate them. Any other answer counts
    as ``other``. The answer to ``(b', r2)``, ``(b, r3)`` or ``(b', r3)`` also counts as
    ``other`` if the model gives it to the base query without an intervention. The same
    applies to the first two of these answers if the model gives them to the source
    query.

    The world needs at least two last relations, as in ``TwoHop(complexity=2,
    first_relations=1, second_relations=2)``.

    Args:
        model: Model with ``R`` replicas.
        worlds: One world, or one for each replica.
        role: Role of the queries, one of ``world.queries.role_names``. The queries have
            three tokens.
        places: Names from the model's ``layer_names`` or ``part_names``, or heads of a
            GPT such as ``block.0.head.1``. If an element is itself a list of names,
            their states are replaced together. By default, each layer is replaced
            separately.
        most: Maximum number of base queries, at least 1. The first ones are used, and
            their sources are chosen among them.

    Returns:
        One row per replica, place and position, with the columns ``replica``, ``place``
        (its name; several names are joined by `` + ``), ``depth`` (index in
        ``places``), ``position`` (from 0 to 2), the shares of base queries by the
        model's answer (``bridge``, ``relation``, ``answer``, ``unchanged`` and
        ``other``, which sum to 1), ``clean`` (share answered correctly without an
        intervention), ``chance`` (one divided by the number of answers of the second
        hop) and ``statements`` (number of base queries with a source).

    Raises:
        ConfigError: A place (layer, part or head) is unknown, ``most`` is below 1, the
            model has no replica axis or cannot read prompts of this length, or the
            probe would need more memory than is available.
        DataError: No query has the role, or none has a source; an answer is not among
            the head's candidates; or the worlds do not fit the model.

    Example:
        >>> import inweights as iw
        >>> world = iw.TwoHop(n=4, complexity=2, first_relations=1, second_relations=2).build()
        >>> model = iw.EmbMLPConfig().build(vocabulary=len(world.vocabulary), seeds=[0])
        >>> table = carries(model, world, places=["embedding"])
        >>> table.columns[4:9]
        ['bridge', 'relation', 'answer', 'unchanged', 'other']
    """
    check_size("most", most, most=np.inf)
    pairs = _pairs(as_worlds(worlds, model), role, most)
    outcomes = _Outcomes(model, pairs)
    clean = outcomes.shares()["unchanged"]
    chosen: Sequence[Place] = model.layer_names if places is None else places
    spots: dict[str, list[Spot]] = {}
    for one in chosen:
        names = (one,) if isinstance(one, str) else tuple(one)
        spots[" + ".join(names)] = [spot_of(model, name) for name in names]
    hooks = {spot.name for spot in chain.from_iterable(spots.values())}
    states = recorded(model, outcomes.source, hooks)
    chance = torch.tensor(pairs.chance, dtype=torch.double).expand(model.replicas)
    rows: list[dict[str, object]] = []
    for depth, (place, own) in enumerate(spots.items()):
        for position in range(pairs.bases.shape[-1]):
            edits: dict[str, Edit] = {}
            for spot in own:
                edit = _put(states[spot.name], position, spot.columns)
                edits[spot.name] = _after(edits.get(spot.name), edit)
            with model.hooks(edits):
                shares = outcomes.shares()
            rows += by_replica(
                model.replicas,
                place=place,
                depth=depth,
                position=position,
                **shares,
                clean=clean,
                chance=chance,
                statements=outcomes.valid.sum(-1).expand(model.replicas),
            )
    return pl.DataFrame(rows)


class _Outcomes:
    """Counts of the outcomes of interventions on base queries.

    Attributes:
        base: Packed prompts of the base queries.
        source: Packed prompts of their sources.
        valid: Whether a base has a source, ``[R, m]``.
    """

    def __init__(self, model: Model, pairs: _Pairs) -> None:
        device = model.column.device
        self.base = pack([pairs.bases.to(device)])
        self.source = pack([pairs.sources.to(device)])
        self.valid = pairs.valid.to(device)
        self._model = model
        self._columns = {
            name: model.columns(tokens) for name, tokens in pairs.answers.items()
        }
        # An answer that the model already gives without an intervention is not counted,
        # since it would be no evidence.
        at_base = self._answers(self.base)
        at_source = self._answers(self.source)
        self._counted = {
            n: self.valid & (at_base != c) for n, c in self._columns.items()
        }
        for name in ("bridge", "relation"):
            self._counted[name] = self._counted[name] & (
                at_source != self._columns[name]
            )
        self._counted["unchanged"] = self.valid

    def _answers(self, batch: Packed) -> Int[Tensor, "R m"]:
        """Return the column of the largest logit after every prompt."""
        return self._model(batch, at=batch.last).argmax(-1)

    def shares(self) -> dict[str, Float[Tensor, " R"]]:
        """Return the share of base queries that get each kind of answer, keyed by the kind."""
        now = self._answers(self.base)
        pairs = self.valid.sum(-1).double()
        found = {}
        for name, counted in self._counted.items():
            found[name] = ((now == self._columns[name]) & counted).sum(-1) / pairs
        return {**found, "other": 1.0 - torch.stack(list(found.values())).sum(0)}


def _put(states: Tensor, position: int, columns: slice) -> Edit:
    """Return an edit that replaces a state ``[R, m, T, D]`` at one position with another state."""

    def replace(own: Tensor) -> Tensor:
        whole = own.clone()
        whole[:, :, position, columns] = states[:, :, position, columns]
        return whole

    return replace


def _after(first: Edit | None, then: Edit) -> Edit:
    """Return an edit that applies two edits of one state, one after the other."""
    return then if first is None else lambda state: then(first(state))


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Base queries ``(a, r1, r2)``, each with a source ``(a', r1', r3)``.

    The axis ``R`` has length 1 if all replicas share a world.

    Attributes:
        bases: Prompts of the base queries.
        sources: Prompts of their sources.
        answers: Answer tokens by outcome: the answers to ``(b', r2)``, ``(b, r3)``,
            ``(b', r3)`` and ``(b, r2)``.
        valid: Whether a base has a source, ``[R, m]``.
        chance: One divided by the number of answers of the second hop, by world.
    """

    bases: Int[Tensor, "R m 3"]
    sources: Int[Tensor, "R m 3"]
    answers: dict[str, Int[Tensor, "R m"]]
    valid: Tensor
    chance: list[float]


def _pairs(worlds: Sequence[World], role: str, most: int) -> _Pairs:
    """Stack the pairs of all worlds, which have the same number of base queries."""
    found = [_pairs_of(world, role, most) for world in worlds]
    if not all(len(part["valid"]) and part["valid"].any() for part, _ in found):
        raise DataError(
            f"no query of the role '{role}' can be paired with a query that has a different "
            "bridge and a different last relation; the probe 'carries' requires two-hop "
            "queries in a world with at least two last relations, such as "
            "TwoHop(complexity=2, first_relations=1, second_relations=2)"
        )
    stacked = {}
    for name in found[0][0]:
        stacked[name] = torch.from_numpy(np.stack([part[name] for part, _ in found]))
    answers = {name: stacked.pop(name) for name in _OUTCOMES}
    return _Pairs(**stacked, answers=answers, chance=[chance for _, chance in found])


def _pairs_of(world: World, role: str, most: int) -> tuple[dict[str, Ids], float]:
    """Return the pairs of one world as columns, and the probability of guessing the answer."""
    hops = _single_answers(world)
    places = world.queries.with_role(role)
    lengths = np.diff(world.queries.prompt_ends, prepend=0)[places]
    answer_lengths = np.diff(world.queries.answer_ends, prepend=0)[places]
    places = places[(lengths == 3) & (answer_lengths == 1)][:most]
    prompts = np.array([world.queries.prompt(int(i)) for i in places]).reshape(-1, 3)
    right = np.array([world.queries.answer(int(i))[0] for i in places], dtype=np.int64)
    bridges = np.array(
        [hops.get((int(a), int(r)), -1) for a, r, _ in prompts], dtype=np.int64
    )
    sources = prompts.copy()
    found = {name: right.copy() for name in _OUTCOMES}
    valid = np.zeros(len(prompts), dtype=bool)
    for base, last in enumerate(prompts[:, 2].tolist()):
        # The source of a base is the nearest suitable query after it, so that sources
        # are spread over all queries.
        for other in (base + np.arange(1, len(prompts))) % len(prompts):
            both = {
                "bridge": hops.get((int(bridges[other]), last), -1),
                "relation": hops.get((int(bridges[base]), int(prompts[other, 2])), -1),
                "answer": int(right[other]),
                "unchanged": int(right[base]),
            }
            if -1 not in both.values() and len(set(both.values())) == len(both):
                sources[base] = prompts[other]
                valid[base] = True
                for name, answer in both.items():
                    found[name][base] = answer
                break
    seconds = {a for (_, r), a in hops.items() if r in set(prompts[:, 2].tolist())}
    columns = {"bases": prompts, "sources": sources, "valid": valid, **found}
    return columns, 1.0 / max(1, len(seconds))


def _single_answers(world: World) -> dict[tuple[int, int], int]:
    """Return the facts of one hop with exactly one answer, ``(entity, relation) → answer``."""
    answers: dict[tuple[int, int], set[int]] = {}
    for fact in world.facts:
        if len(fact.prompt) == 2 and len(fact.answer) == 1:
            answers.setdefault((fact.prompt[0], fact.prompt[1]), set()).add(
                fact.answer[0]
            )
    return {key: next(iter(found)) for key, found in answers.items() if len(found) == 1}
