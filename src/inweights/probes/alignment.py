"""Alignment of a first hop with its bridge, layer by layer (Identity Bridge §4.4, Figs. 6, 7).

:func:`alignment` compares hidden states at two points of a prompt; :func:`bridge_pairs`
returns the compared prompts, also for other probes. Shapes: ``R`` replicas, ``m`` pairs
of prompts, ``T`` positions, ``D`` width.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
import torch
from torch import Tensor

from inweights.errors import DataError, check_names
from inweights.models.base import Model
from inweights.probes.needs import holds
from inweights.probes.states import by_replica, cosine_blocks, last_states, share
from inweights.training.batches.worlds import as_worlds
from inweights.worlds.arrays import Float, Int
from inweights.worlds.world import Ids, World, Worlds

# Places at which the state of a subject can be aligned with that of its bridge: after
# the first relation, as in the paper, or after the second one, where the answer is
# read.
_PLACES = ("first_hop", "query")


@holds(cosines=12, states=25, kept=16)
def alignment(
    model: Model,
    worlds: Worlds,
    *,
    layers: Sequence[str] | None = None,
    places: Sequence[str] = _PLACES,
) -> pl.DataFrame:
    """Compute, for each layer, the cosine between the states of a subject and of its bridge.

    In a two-hop chain, a subject ``e1`` leads by a first relation ``r1`` to a bridge
    ``e2``, which leads by a second relation ``r2`` to an object. The states of two
    prompts at their last positions are compared: ``(e1, r1)`` and ``(e2)`` for the
    place ``first_hop``, and ``(e1, r1, r2)`` and ``(e2, r2)`` for the place ``query``.
    A high cosine alone is weak evidence, since all states of a layer may have similar
    directions. Therefore the table also contains the mean cosine with *other* bridges.

    Args:
        model: Model with ``R`` replicas.
        worlds: One two-hop world, or one for each replica.
        layers: Names of layers, among ``model.layer_names``; by default all.
        places: ``first_hop``, ``query`` or both.

    Returns:
        One row per replica, place and layer, with the columns ``replica``, ``place``,
        ``layer``, ``depth`` (index of the layer), ``cosine`` (mean over pairs),
        ``other`` (mean cosine of subjects with bridges other than their own; NaN if
        there are none), ``contrast`` (``cosine − other``) and ``nearest`` (share of
        pairs, from 0 to 1, in which the subject's cosine with its own bridge is larger
        than with any other bridge).

    Raises:
        DataError: The world has no first hops or no compositions, their prompts differ
            in length, a composition does not begin with a first hop, or the worlds do
            not fit the model.
        ConfigError: A layer or place is unknown, the model has no replica axis or
            cannot read prompts of this length, or the probe would need more memory than
            is available.

    Example:
        >>> import inweights as iw
        >>> world = iw.TwoHop(n=4).build()
        >>> model = iw.EmbMLPConfig().build(vocabulary=len(world.vocabulary), seeds=[0])
        >>> alignment(model, world, layers=["sum"])["place"].to_list()
        ['first_hop', 'query']
    """
    each = as_worlds(worlds, model)
    rows: list[dict[str, object]] = []
    for place in places:
        pairs = [bridge_pairs(world, place) for world in each]
        subject_states = last_states(
            model, [subject for subject, _, _ in pairs], layers
        )
        bridge_states = last_states(model, [prompt for _, prompt, _ in pairs], layers)
        bridges = np.stack([bridge for _, _, bridge in pairs])
        for layer in subject_states:
            own, other, nearest = _compare(
                subject_states[layer], bridge_states[layer], bridges
            )
            cosine = torch.stack([row.mean() for row in own]).double()
            rest = other.double()
            rows += by_replica(
                model.replicas,
                place=place,
                layer=layer,
                depth=model.layer_names.index(layer),
                cosine=cosine,
                other=rest,
                contrast=cosine - rest,
                nearest=share(nearest > 0),
            )
    return pl.DataFrame(rows)


def _compare(
    ours: Float[Tensor, "R m D"],
    theirs: Float[Tensor, "R m D"],
    bridges: Int[Ids, "_ m"],
) -> tuple[Float[Tensor, "R m"], Float[Tensor, " R"], Float[Tensor, "R m"]]:
    """Return cosines with the correct bridge and with others, and 1 if the former is largest."""
    own, nearest = ours.new_empty(2, *ours.shape[:2])
    total = torch.zeros(len(ours), device=ours.device)
    for rows, cosines, same in cosine_blocks(ours, theirs, bridges):
        own[:, rows] = cosines[:, :, rows].diagonal(dim1=1, dim2=2)
        total = cosines.masked_fill_(same, torch.nan).nansum((1, 2)) + total
        rest = cosines.masked_fill_(same, -torch.inf).amax(-1)
        nearest[:, rows] = (own[:, rows] > rest).float()
    same_pairs = [
        np.square(np.unique(row, return_counts=True)[1]).sum() for row in bridges
    ]
    other_pairs = bridges.shape[1] ** 2 - np.array(same_pairs)
    return own, total / total.new_tensor(other_pairs), nearest


def bridge_pairs(
    world: World, place: str
) -> tuple[Int[Ids, "m T"], Int[Ids, "m _"], Int[Ids, " m"]]:
    """Return the token ids of subjects' prompts, of their bridges' prompts, and of the bridges.

    Args:
        world: A two-hop world with ``m`` first hops or compositions.
        place: ``first_hop`` for the prompts ``(e1, r1)`` and ``(e2)`` of every first
            hop, or ``query`` for the prompts ``(e1, r1, r2)`` and ``(e2, r2)`` of every
            composition (two-hop query).

    Returns:
        Three NumPy arrays of token ids, of shapes ``[m, T]`` (``T`` tokens of a
        prompt), ``[m, T − 1]`` and ``[m]``. Row ``i`` of each array belongs to the
        first hop ``i`` or, for ``query``, to the composition ``i``.

    Raises:
        DataError: The world has no first hops or no compositions; or their prompts
            differ in length or, for ``query``, a composition does not begin with a
            first hop.
        ConfigError: ``place`` is unknown.
    """
    check_names("place", [place], _PLACES)
    if (
        "first_hop" not in world.facts.role_names
        or "composition" not in world.queries.role_names
    ):
        raise DataError(
            "alignment with a bridge requires a world with first hops and compositions"
        )
    hops, bridges = world.facts.matrix(world.facts.with_role("first_hop"))
    if place == "first_hop":
        return hops, bridges, bridges[:, 0]
    starts = map(tuple, hops.tolist())
    reached = dict(zip(starts, bridges[:, 0].tolist(), strict=True))
    queries, _ = world.queries.matrix(world.queries.with_role("composition"))
    passed = np.array(
        [passed_bridge(reached, query[:-1]) for query in queries.tolist()]
    )
    return queries, np.stack([passed, queries[:, -1]], axis=1), passed


def passed_bridge(reached: Mapping[tuple[int, ...], int], start: Sequence[int]) -> int:
    """Return the token id of the bridge to which the first hop of a two-hop query leads.

    Args:
        reached: Token id of the answer to each first hop, keyed by the token ids of the
            first hop's prompt.
        start: Token ids of the query without its last relation.

    Raises:
        DataError: There is no first hop whose prompt is ``start``.
    """
    bridge = reached.get(tuple(start))
    if bridge is None:
        raise DataError(
            f"a two-hop query begins with the tokens {list(start)}, which are not the prompt "
            "of a first hop; for each query 'e1 r1 r2', the world must have a first hop with "
            "the prompt 'e1 r1'"
        )
    return bridge
