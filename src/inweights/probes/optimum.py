"""What the theory's optimum looks like to a probe, and how close a trained model is to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import polars as pl
import torch

from inweights.errors import ConfigError
from inweights.models.base import Model
from inweights.models.emb_mlp import EmbMLP
from inweights.theory.nuclear_norm import Solution, solve
from inweights.theory.to_model import to_model
from inweights.training.worlds import as_worlds
from inweights.worlds.registry import WorldConfig
from inweights.worlds.world import World

__all__ = ["direction", "of_optimum"]


def of_optimum(
    world: WorldConfig, probe: Callable[..., Any], *, seed: int = 0, gap: float = 1e-4,
    **options: Any,
) -> pl.DataFrame:  # fmt: skip
    """Return what a probe says of the optimum of program (2), without a column ``replica``.

    Args:
        world: Config of the world.
        probe: Any probe of trained models.
        seed: Root seed of the world.
        gap: Certified gap of the optimum.
        options: Keyword arguments of the probe.

    Example:
        >>> from inweights.probes import accuracy
        >>> from inweights.worlds import TwoHop
        >>> table = of_optimum(TwoHop(n=3, identity=True), accuracy)
        >>> table.filter(part="queries")["accuracy"].to_list()
        [1.0]
    """
    built = world.build(seed)
    table: pl.DataFrame = probe(to_model(_optimum(built, gap)), built, **options)
    return table.drop("replica")


@torch.no_grad()
def direction(model: Model, worlds: World | Sequence[World], *, gap: float = 1e-4) -> pl.DataFrame:
    """How close the weights of an Emb-MLP are to the optimum of program (2), in direction.

    Args:
        model: ``R`` replicas of an Emb-MLP.
        worlds: One world, or one a replica.
        gap: Certified gap of the optimum.

    Returns:
        A row a replica: ``replica``; ``cosine`` of ``W`` and the optimum, both centred by row;
        ``least_margin`` of the facts, in logits; and, where that is positive, ``excess``: the
        nuclear norm at a least margin of 1 over the optimum's, minus 1; ``query_margin``: median
        margin of the queries at a least margin of the facts of 1; ``expected``: the optimum's.

    Raises:
        ConfigError: The model is no Emb-MLP: only its logits are sums of its tokens' rows.

    Example:
        >>> from inweights.models import EmbMLPConfig
        >>> from inweights.worlds import TwoHop
        >>> world = TwoHop(n=3).build()
        >>> outputs = world.outputs.tolist()
        >>> model = EmbMLPConfig().build(vocabulary=11, seeds=[0], candidates=outputs)
        >>> direction(model, world).columns
        ['replica', 'cosine', 'least_margin', 'excess', 'query_margin', 'expected']
    """
    if not isinstance(model, EmbMLP):
        raise ConfigError(
            f"the direction is that of an Emb-MLP, whose templates add up; this is a "
            f"{type(model).__name__}. Probe its margins instead"
        )
    rows = []
    each = as_worlds(worlds, model.replicas)
    for replica, (w, world) in enumerate(
        zip(model.templates().cpu().double().numpy(), _cycle(each, model.replicas), strict=True)
    ):
        optimum = _optimum(world, gap)
        program = optimum.program
        columns = model.column[torch.from_numpy(world.outputs).to(model.column.device)].tolist()
        templates = w[world.inputs][:, columns]
        least = float(program.least_margins(program.counts @ templates).min())
        row = {
            "replica": replica,
            "cosine": _cosine(templates, optimum.templates),
            "least_margin": least,
            "excess": np.nan,
            "query_margin": np.nan,
            "expected": float(np.median(optimum.margins(world.queries))),
        }
        if least > 0:
            mine = Solution(
                program, "not certified", templates / least, 0.0, 0.0, optimum.dual, 1.0, 0, 0.0, 0
            )
            norm = float(np.linalg.svd(mine.templates, compute_uv=False).sum())
            row["excess"] = norm / optimum.optimum - 1.0
            row["query_margin"] = float(np.median(mine.margins(world.queries)))
        rows.append(row)
    return pl.DataFrame(rows)


@lru_cache(maxsize=256)
def _optimum(world: World, gap: float) -> Solution:
    """The optimum of a world; observers ask for it again and again while a model trains."""
    return solve(world, gap=gap)


def _cycle(worlds: Sequence[World], count: int) -> list[World]:
    return [worlds[k % len(worlds)] for k in range(count)]


def _cosine(one: np.ndarray, other: np.ndarray) -> float:
    a, b = (m - m.mean(1, keepdims=True) for m in (one, other))
    return float((a * b).sum() / max(np.linalg.norm(a) * np.linalg.norm(b), 1e-300))
