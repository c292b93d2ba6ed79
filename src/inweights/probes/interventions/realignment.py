"""Realignment: replace the state after a first hop with the state of the bridge token.

After a first hop ``(e1, r1)``, the bridge may be decodable from a state that later
layers, or the next loop, cannot use (Fu et al. 2026, arXiv:2607.00341).
:func:`realignment` tests this on a trained model, without further training. Shapes:
``R`` replicas, ``M`` or ``m`` queries, ``T`` positions, ``D`` width.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl
import torch
from torch import Tensor
from torch.nn.functional import normalize

from inweights.errors import ConfigError, DataError, check_names
from inweights.models.base import Model
from inweights.probes.alignment import passed_bridge
from inweights.probes.interventions.contrasts import last_logits
from inweights.probes.interventions.patching import patch
from inweights.probes.needs import holds
from inweights.probes.states import by_replica, share
from inweights.training.batches.worlds import as_worlds
from inweights.worlds.arrays import Float, Int
from inweights.worlds.world import World, Worlds

METHODS = ("none", "decoded", "ridge", "true")
#: Number of folds of the bridges. The states of each fold are moved by a map that is
#: fitted on all other folds.
_FOLDS = 5


@holds(kept=38, whole=7.5)
def realignment(
    model: Model,
    worlds: Worlds,
    *,
    onto: Literal["embedding", "layer"] = "embedding",
    methods: Sequence[str] = METHODS,
    layers: Sequence[str] | None = None,
    ridge: float = 0.01,
) -> pl.DataFrame:
    """Measure accuracy on two-hop queries when the state after the first relation is replaced.

    Args:
        model: Model with ``R`` replicas.
        worlds: One two-hop world, or one for each replica.
        onto: The replacement state: ``embedding``, the state of the bridge token in the
            first layer, at the position of the first relation; or ``layer``, the state
            of a prompt that consists of the bridge token alone, in the same layer.
        methods: Ways of choosing the bridge or the replacement state: ``none`` does not
            change the state; ``decoded`` uses, as the bridge, the token with the
            largest logit when the layer's state is decoded (logit lens); ``ridge``
            applies a linear map from states after first hops to replacement states of
            bridges, fitted without the bridges to which it is applied; ``true`` uses
            the correct bridge, which gives an upper bound.
        layers: Names of the layers in which the state is replaced, among
            ``model.decodable``; by default all layers except the first and the
            last. If the model has no other layers, the table is empty.
        ridge: Penalty of the linear map, at least 0, as a multiple of the mean squared
            entry of the map's inputs times the number of input vectors. It is used only
            by the method ``ridge``.

    Returns:
        One row per replica, role of queries, layer and method, with the columns
        ``replica``, ``role``, ``layer``, ``depth`` (index of the layer), ``method``,
        ``accuracy`` (share of queries whose answer has the largest logit),
        ``decodable`` (share of queries whose bridge has the largest logit when the
        layer's state is decoded), ``cosine`` (mean cosine of the unchanged state with
        the replacement state of the correct bridge), ``other`` (mean cosine with the
        replacement states of other bridges; NaN if there are none) and ``statements``
        (number of queries).

    Raises:
        ConfigError: A method, ``onto`` or a layer is unknown, a layer cannot be
            decoded, ``ridge`` is negative, ``layers`` or ``methods`` is empty, the
            model has no replica axis or cannot read prompts of this length, or the
            probe would need more memory than is available.
        DataError: The world has no first hops, a query is not of the form ``(e1, r1,
            r2)`` with a first hop ``(e1, r1)``, or the worlds do not fit the model.

    Example:
        >>> from inweights.models import GPTConfig
        >>> from inweights.worlds import TwoHop
        >>> world = TwoHop(n=4).build()
        >>> model = GPTConfig(layers=1, width=8).build(vocabulary=len(world.vocabulary), seeds=[0])
        >>> realignment(model, world)["method"].to_list()
        ['none', 'decoded', 'ridge', 'true']
    """
    check_names("method", methods, METHODS)
    check_names("onto", [onto], ("embedding", "layer"))
    if not ridge >= 0:
        raise ConfigError(f"ridge must be at least 0, got {ridge}")
    each = as_worlds(worlds, model)
    rows: list[dict[str, object]] = []
    for role in each[0].queries.role_names:
        parts = [_read_queries(world, role) for world in each]
        prompts, answers, bridges = (
            torch.from_numpy(np.stack(part))
            .to(model.column.device)
            .expand(model.replicas, *part[0].shape)
            .contiguous()
            for part in zip(*parts, strict=True)
        )
        if not prompts.shape[1]:
            continue
        queries = _Queries(model, prompts, bridges, onto, ridge)
        unchanged = last_logits(model, prompts)
        for layer in layers or model.layer_names[1:-1]:
            state, target = queries.state(layer), queries.target(layer, bridges)
            decoded = queries.decoded(layer, state)
            own, other = queries.cosines(state, target)
            decodable = share(decoded == bridges)
            for method in methods:
                logits = unchanged
                if method != "none":
                    # The state is replaced at the position before the second relation,
                    # as if the model had looked up the bridge again.
                    moved = queries.moved(layer, method, state, target, decoded)
                    logits = patch(
                        model, prompts, moved, layer=layer, position=-2, at="last"
                    )
                right = share(model.candidates[logits.argmax(-1)] == answers)
                rows += by_replica(
                    model.replicas,
                    role=role,
                    layer=layer,
                    depth=model.layer_names.index(layer),
                    method=method,
                    accuracy=right,
                    decodable=decodable,
                    cosine=own,
                    other=other,
                    statements=prompts.shape[1],
                )
    return pl.DataFrame(rows)


@dataclass(frozen=True, eq=False)
class _Queries:
    """Queries of one role, with functions for the states after their first relation.

    Attributes:
        model: Model with ``R`` replicas.
        prompts: Prompts ``(e1, r1, r2)``.
        bridges: Token of the correct bridge of each query.
        onto: ``embedding`` or ``layer``; see :func:`realignment`.
        ridge: Relative penalty of the linear map.
    """

    model: Model
    prompts: Int[Tensor, "R M T"]
    bridges: Int[Tensor, "R M"]
    onto: str
    ridge: float

    def state(self, layer: str) -> Float[Tensor, "R M D"]:
        """Return the state after the first relation, ``[R, M, D]``."""
        return self.model.hidden(self.prompts, layers=[layer], at="all")[layer][
            :, :, -2
        ]

    def decoded(self, layer: str, state: Float[Tensor, "R M D"]) -> Int[Tensor, "R M"]:
        """Return the token with the largest logit when a state is decoded, ``[R, M]``."""
        logits = self.model.decode(layer, state)
        return self.model.candidates[logits.argmax(-1)]

    def target(self, layer: str, tokens: Int[Tensor, "R M"]) -> Float[Tensor, "R M D"]:
        """Return the states by which a query's state is replaced, for the given bridge tokens.

        For ``onto="layer"``, these are the layer's states for prompts that consist of
        the token alone. For ``onto="embedding"``, they are the states of the model's
        first layer at the second-to-last position of the query, where the token is
        inserted.
        """
        if self.onto == "layer":
            alone = tokens.unsqueeze(-1)
            return self.model.hidden(alone, layers=[layer], at="all")[layer][:, :, 0]
        placed = self.prompts.clone()
        placed[..., -2] = tokens
        first = self.model.layer_names[0]
        return self.model.hidden(placed, layers=[first], at="all")[first][:, :, -2]

    def moved(
        self,
        layer: str,
        method: str,
        state: Float[Tensor, "R M D"],
        target: Float[Tensor, "R M D"],
        decoded: Int[Tensor, "R M"],
    ) -> Float[Tensor, "R M D"]:
        """Return the state with which a method replaces a given state.

        Args:
            layer: Name of the layer of the states.
            method: Any method except ``none``.
            state: The state that is replaced.
            target: State of the correct bridges, as returned by :meth:`target`.
            decoded: Tokens that are decoded from ``state``.
        """
        if method == "decoded":
            return self.target(layer, decoded)
        if method == "true":
            return target
        moved = state.clone()
        for replica, bridges in enumerate(self.bridges):
            # Folds consist of bridges rather than queries: a map that was fitted to a
            # bridge in another query would already know its target.
            fold = bridges % _FOLDS
            for part in fold.unique():
                rest = fold != part
                if rest.any():
                    fitted = _ridge(
                        state[replica, rest], target[replica, rest], self.ridge
                    )
                    moved[replica, ~rest] = _with_one(state[replica, ~rest]) @ fitted
        return moved

    def cosines(
        self, state: Float[Tensor, "R M D"], target: Float[Tensor, "R M D"]
    ) -> tuple[Float[Tensor, " R"], Float[Tensor, " R"]]:
        """Return the mean cosines of states with the targets of their own and of other bridges."""
        every = normalize(state, dim=-1) @ normalize(target, dim=-1).mT
        same = self.bridges.unsqueeze(2) == self.bridges.unsqueeze(1)
        own = every.diagonal(dim1=1, dim2=2).mean(1)
        return own, every.masked_fill(same, torch.nan).nanmean((1, 2))


def _with_one(state: Float[Tensor, "m D"]) -> Float[Tensor, "m _"]:
    """Append a column of ones, for the intercept."""
    return torch.cat([state, torch.ones_like(state[:, :1])], 1)


def _ridge(
    inputs: Float[Tensor, "m D"], targets: Float[Tensor, "m D"], penalty: float
) -> Float[Tensor, "_ D"]:
    """Solve least squares with an intercept, and a penalty on all weights but the intercept."""
    x = _with_one(inputs)
    weight = penalty * len(x) * inputs.square().mean() * torch.eye(x.shape[1]).to(x)
    # The intercept is not penalised, so that a shift of all states has no cost.
    weight[-1, -1] = 0.0
    return torch.linalg.lstsq(x.T @ x + weight, x.T @ targets).solution


def _read_queries(world: World, role: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return prompts, answers and bridges of the queries of a role."""
    if "first_hop" not in world.facts.role_names:
        raise DataError(
            "realignment requires a world with first hops and two-hop queries"
        )
    hops, ends = world.facts.matrix(world.facts.with_role("first_hop"))
    starts = map(tuple, hops.tolist())
    reached = dict(zip(starts, ends[:, 0].tolist(), strict=True))
    prompts, answers = world.queries.matrix(world.queries.with_role(role))
    if prompts.shape[1] != 3:
        raise DataError(
            f"realignment requires queries of three tokens, 'e1 r1 r2', got {prompts.shape[1]}"
        )
    passed = np.array(
        [passed_bridge(reached, prompt[:2]) for prompt in prompts.tolist()],
        dtype=np.int64,
    )
    return prompts, answers[:, 0], passed
