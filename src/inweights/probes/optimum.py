"""Distance of a trained linear model from the optimum that theory predicts.

:func:`direction` compares the model's templates with the solution of the nuclear-norm
program (:class:`inweights.training.Optimum`); :func:`nuclear_norm` measures the
program's objective.
"""

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
    """Compare a linear model's weights with the optimum of program (2) of Identity Bridge.

    The weights are the templates ``W``, a matrix with one row per token; the sum of the
    rows of a prompt's tokens is the vector of its logits. Program (2) (§4.3) minimises
    the nuclear norm of ``W`` subject to a margin of at least 1 for all facts.

    Args:
        model: An Emb-MLP or a deep linear network with ``R`` replicas.
        worlds: One world, or one for each replica.
        gap: Certified relative duality gap at which the solver stops, at least 1e-7 and
            below 1.

    Returns:
        One row per replica, with the columns ``replica``; ``cosine``, the cosine
        between ``W`` and the optimum, both flattened after the mean of each row is
        subtracted; ``least_margin``, the smallest margin of the facts, in logits;
        ``excess``, the nuclear norm of ``W`` scaled to a smallest margin of 1, divided
        by the nuclear norm of the optimum, minus 1; ``query_margin``, the median margin
        of the queries at that scale; and ``expected``, the median margin of the queries
        at the optimum. ``excess`` and ``query_margin`` are NaN if a fact has no
        positive margin.

    Raises:
        ConfigError: The model is neither an Emb-MLP nor a deep linear network; ``gap``
            is outside ``[1e-7, 1)``; or the probe would need more memory than is
            available.
        DataError: The worlds do not fit the model, an answer is not among the head's
            candidates, or no program can be built from a world (an answer has several
            tokens, facts contradict each other, or no output is ever wrong).
        SolverError: No matrix has positive margins for all facts of a world, or none
            was found within the solver's 20,000 iterations.

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
        a = templates - templates.mean(1, keepdims=True)
        b = optimum.templates - optimum.templates.mean(1, keepdims=True)
        norms = np.linalg.norm(a) * np.linalg.norm(b)
        row = {
            "replica": replica,
            "cosine": float((a * b).sum() / max(norms, 1e-300)),
            "least_margin": least,
            "excess": np.nan,
            "query_margin": np.nan,
            "expected": float(np.median(optimum.margins(world.queries))),
        }
        if least > 0:
            scaled = Solution(
                program,
                "not certified",
                templates / least,
                0.0,
                0.0,
                optimum.dual,
                1.0,
                0,
                0.0,
                0,
            )
            norm = float(np.linalg.svd(scaled.templates, compute_uv=False).sum())
            row["excess"] = norm / optimum.optimum - 1.0
            row["query_margin"] = float(np.median(scaled.margins(world.queries)))
        rows.append(row)
    return pl.DataFrame(rows)


@holds(weights=32)
def nuclear_norm(
    model: Model, worlds: Worlds, *, order: Literal["nuc", "fro"] = "nuc"
) -> pl.DataFrame:
    """Compute the nuclear norm of a linear model's templates, scaled to a smallest margin of 1.

    The templates ``W`` are a matrix with one row per token; the sum of the rows of a
    prompt's tokens is the vector of its logits.

    Args:
        model: An Emb-MLP or a deep linear network with ``R`` replicas.
        worlds: One world, or one for each replica.
        order: ``nuc`` for the nuclear norm, ``fro`` for the Frobenius norm, as in
            :func:`numpy.linalg.norm`.

    Returns:
        One row per replica, with the columns ``replica``, ``least_margin`` (the
        smallest margin of the facts, in logits) and ``norm`` (of ``W`` divided by
        ``least_margin``; NaN if a fact has no positive margin).

    Raises:
        ConfigError: The model is neither an Emb-MLP nor a deep linear network, or the
            probe would need more memory than is available.
        ValueError: ``order`` is unknown. This is checked only if a replica has a
            positive ``least_margin``.
        DataError: The worlds do not fit the model, an answer is not among the head's
            candidates, or no program can be built from a world (an answer has several
            tokens, facts contradict each other, or no output is ever wrong).

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
        scaled = (
            float(np.linalg.norm(templates, order)) / least if least > 0 else np.nan
        )
        rows.append({"replica": replica, "least_margin": least, "norm": scaled})
    return pl.DataFrame(rows)


def _templates(model: Model, worlds: Worlds) -> Iterator[tuple[np.ndarray, Program]]:
    """Yield ``W`` of every replica, inputs by outputs of its world, and that world's program."""
    if not isinstance(model, EmbMLP | DeepLinear):
        raise ConfigError(
            "the probes 'direction' and 'nuclear_norm' require an Emb-MLP or a deep linear "
            f"network, whose templates are additive, got {type(model).__name__}; use the "
            "probe 'margins' instead"
        )
    each = as_worlds(worlds, model)
    for replica, w in enumerate(model.templates().cpu().double().numpy()):
        world = each[replica % len(each)]
        columns = model.columns(torch.from_numpy(world.outputs)).tolist()
        yield w[world.inputs][:, columns], _program(world)


@lru_cache(maxsize=256)
def _program(world: World) -> Program:
    """Return the program of a world, cached because observers use it repeatedly during training."""
    return Program.of(world)


@lru_cache(maxsize=256)
def _optimum(world: World, gap: float) -> Solution:
    """Return the optimum of a world, cached because observers use it repeatedly during training."""
    return solve(_program(world), gap=gap)
