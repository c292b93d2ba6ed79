"""How close a trained model is to the theory's optimum (:class:`inweights.training.Optimum`)."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Literal

import numpy as np
import polars as pl
import torch

from inweights.errors import ConfigError
from inweights.models.base import Model
from inweights.models.deep_linear import DeepLinear
from inweights.models.emb_mlp import EmbMLP
from inweights.probes.needs import holds
from inweights.theory.programs.nuclear_norm import Solution, solve
from inweights.theory.programs.program import Program
from inweights.training.batches.worlds import as_worlds
from inweights.worlds.world import World, Worlds


@holds(weights=460)
def direction(model: Model, worlds: Worlds, *, gap: float = 1e-4) -> pl.DataFrame:
    """How close the templates of a linear model are to the optimum of program (2), in direction.

    Args:
        model: ``R`` replicas of an Emb-MLP or a deep linear network.
        worlds: One world, or one a replica.
        gap: Certified gap of the optimum.

    Returns:
        A row a replica: ``replica``; ``cosine`` of ``W`` and the optimum, both centred by row;
        ``least_margin`` of the facts, in logits; and, where that is positive, ``excess``: the
        nuclear norm at a least margin of 1 over the optimum's, minus 1; ``query_margin``: median
        margin of the queries at a least margin of the facts of 1; ``expected``: the optimum's.

    Raises:
        ConfigError: The model is neither: only their logits are sums of their tokens' rows.

    Example:
        >>> import inweights as iw
        >>> world = iw.TwoHop(n=3).build()
        >>> outputs = world.outputs.tolist()
        >>> model = iw.EmbMLPConfig().build(vocabulary=11, seeds=[0], candidates=outputs)
        >>> direction(model, world).columns
        ['replica', 'cosine', 'least_margin', 'excess', 'query_margin', 'expected']
    """
    rows = []
    for replica, (templates, program) in enumerate(_templates(model, worlds)):
        world = program.world
        optimum = _optimum(world, gap)
        least = float(program.least_margins(program.counts @ templates).min())
        a, b = (m - m.mean(1, keepdims=True) for m in (templates, optimum.templates))
        row = {
            "replica": replica,
            "cosine": float((a * b).sum() / max(np.linalg.norm(a) * np.linalg.norm(b), 1e-300)),
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


@holds(weights=32)
def nuclear_norm(
    model: Model, worlds: Worlds, *, order: Literal["nuc", "fro"] = "nuc"
) -> pl.DataFrame:
    """Nuclear norm of a linear model's templates at a least margin of the facts of 1.

    Args:
        model: ``R`` replicas of an Emb-MLP or a deep linear network.
        worlds: One world, or one a replica.
        order: ``fro`` gives the Frobenius norm in its place, as for :func:`numpy.linalg.norm`.

    Returns:
        A row a replica: ``replica``, ``least_margin`` of the facts in logits, and ``norm``; not a
        number where a fact has no positive margin.

    Raises:
        ConfigError: The model is neither.

    Example:
        >>> import inweights as iw
        >>> world = iw.TwoHop(n=3, identity=False).build()
        >>> table = nuclear_norm(iw.Optimum().learn(world), world)
        >>> round(table["norm"].item(), 3)  # 2 (n - 1) + 1 / √(n + 1)
        4.5
    """
    rows = []
    for replica, (templates, program) in enumerate(_templates(model, worlds)):
        least = float(program.least_margins(program.counts @ templates).min())
        scaled = float(np.linalg.norm(templates, order)) / least if least > 0 else np.nan
        rows.append({"replica": replica, "least_margin": least, "norm": scaled})
    return pl.DataFrame(rows)


def _templates(model: Model, worlds: Worlds) -> Iterator[tuple[np.ndarray, Program]]:
    """``W`` of every replica, inputs by outputs of its world, and the program of that world."""
    if not isinstance(model, EmbMLP | DeepLinear):
        raise ConfigError(
            "the direction is that of an Emb-MLP or a deep linear network, whose templates are "
            f"additive; this is a {type(model).__name__}. Probe its margins instead"
        )
    each = as_worlds(worlds, model)
    for replica, w in enumerate(model.templates().cpu().double().numpy()):
        world = each[replica % len(each)]
        columns = model.column[torch.from_numpy(world.outputs).to(model.column.device)].tolist()
        yield w[world.inputs][:, columns], _program(world)


@lru_cache(maxsize=256)
def _program(world: World) -> Program:
    """The program of a world; an observer asks for it again and again while a model trains."""
    return Program.of(world)


@lru_cache(maxsize=256)
def _optimum(world: World, gap: float) -> Solution:
    """The optimum of a world, which is asked for as often."""
    return solve(_program(world), gap=gap)
