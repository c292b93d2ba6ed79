"""Our experiment: do positions, tied heads and residual streams decide if a geometry is used?

Edges of a path-star and three quarters of its paths are learnt together, as in
Geometric Memory, and one setting of the model is varied at a time. During training, the
recipe measures the norm of position vectors relative to token embeddings, and the share
of the state before the first block that identifies the token. A grid shows how the same
blocks fold a geometry.
"""

from functools import partial

import polars as pl

import inweights as iw
from inweights.config.ranges import PositiveInt
from inweights.experiments import Measure, ModelConfig, Plan, Trial, cosine, share
from inweights.recipes.geometric_memory import common as gm
from inweights.recipes.geometric_memory import paths as ways
from inweights.recipes.shared import derived, derived_paths
from inweights.recipes.shared.position_conditions import (
    ADDS,
    BLOCKS,
    CODE,
    CODE_ADDS,
    GPT,
    LEARNED,
    LONG,
    MAMBA,
    MAMBAS_ON_STAR,
    NONE,
    ON_GRID,
    ON_STAR,
    POSITIONS,
    SMALL,
    UNIT,
    UNTIED,
    WAVES,
    gpt_of,
    mamba_of,
)
from inweights.worlds.families.graphs.graph import Graph

KEYS = ["world", "model", "condition", "seed"]
STAR = "path-star"
GRID = "grid"


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``positions_decide.toml``. A value of the wrong type
    raises a ``ConfigError``; :func:`plan` checks most ranges.

    Attributes:
        arms: Number of arms of the path-star (at least 2), each with three edges.
        layers: Number of blocks of the models on the path-star.
        width: Width of all models.
        steps: Number of updates of a GPT on the path-star.
        mamba_steps: Number of updates of Mamba on the path-star.
        leaves: Number of training paths in each update; 0 for all.
        grid_steps: Maximum number of updates on the grid.
        every: Number of steps between two points of the curves, at least 1.
        draws: Number of random embeddings for the null distribution of the correlation
            on the grid.
    """

    arms: int = 100
    layers: int = 2
    width: int = 32
    steps: int = 500
    mamba_steps: int = 250
    leaves: int = 32
    grid_steps: int = 500
    every: PositiveInt = 50
    draws: PositiveInt = 20


def plan(settings: Settings) -> Plan:
    """Plan training under every condition on the path-star, and under some conditions on a grid.

    Args:
        settings: The recipe's settings, such as ``arms``, ``layers`` and ``width``;
            :class:`Settings` describes each.

    Returns:
        The plan. The label values listed below are those of the default settings.

        - Labels of the trials: ``world`` (path-star, grid), ``model`` (GPT, Mamba), and
          ``condition`` (the one setting that is varied: the kind of positions, ``tokens
          N(0, 1)``, ``untied`` or ``no residual stream`` for a GPT, and the block for
          Mamba; see :func:`~inweights.recipes.shared.position_conditions.gpt_of` and
          :func:`~inweights.recipes.shared.position_conditions.mamba_of`).
        - Measures on the path-star: ``paths`` (:func:`inweights.probes.path_accuracy`)
          and ``share`` (:func:`inweights.probes.token_share.token_share`), both during
          training, and ``navigation`` (:func:`inweights.probes.navigation`).
        - Measures on the grid: ``even`` and ``odd``
          (:func:`inweights.probes.hop_correlation` over such pairs, with ``draws=20``)
          and ``recall`` (:func:`inweights.probes.graph_recall`).

    Raises:
        ConfigError: ``arms`` is below 2, ``every`` is negative, or a value is out of
            range for a model or its training.
    """
    from inweights.probes.token_share import token_share

    on_star = partial(Measure, where={"world": STAR})
    on_grid = partial(Measure, where={"world": GRID}, probe=iw.probes.hop_correlation)
    return Plan(
        trials=[*_stars(settings), *_grids(settings)],
        measures=[
            on_star(name="paths", probe=iw.probes.path_accuracy, every=settings.every),
            on_star(name="share", probe=token_share, every=settings.every),
            on_star(name="navigation", probe=iw.probes.navigation),
            on_grid(name="even", options={"pairs": "even", "draws": settings.draws}),
            on_grid(name="odd", options={"pairs": "odd", "draws": settings.draws}),
            Measure(name="recall", probe=iw.probes.graph_recall, where={"world": GRID}),
        ],
    )


def _stars(settings: Settings) -> list[Trial]:
    """Return the trials on a path-star, whose edges and paths are interleaved."""
    star = partial(
        ways.PathStarTraining, arms=settings.arms, nodes=4, leaves=settings.leaves
    )
    sizes = {"layers": settings.layers, "width": settings.width}
    trials = []
    for name in ON_STAR:
        model = gpt_of(name, heads=2, context=16, **sizes)
        training = star(model=model, together=settings.steps)
        trials.append(training.trial({"world": STAR, "model": GPT, "condition": name}))
    for name in MAMBAS_ON_STAR:
        training = star(model=mamba_of(name, **sizes), together=settings.mamba_steps)
        trials.append(
            training.trial({"world": STAR, "model": MAMBA, "condition": name})
        )
    return trials


def _grids(settings: Settings) -> list[Trial]:
    """Return the trials on the edges of a grid, with models of one block."""
    learner = gm.training(gm.GPT, GRID, most=settings.grid_steps).learner
    width = settings.width
    models: dict[tuple[str, str], ModelConfig] = {
        (GPT, name): gpt_of(name, layers=1, width=width, heads=1) for name in ON_GRID
    }
    models |= {(MAMBA, name): mamba_of(name, layers=1, width=width) for name in BLOCKS}
    return [
        Trial(
            labels={"world": GRID, "model": kind, "condition": name},
            world=Graph(shape="grid"),
            model=model,
            learner=learner,
        )
        for (kind, name), model in models.items()
    ]


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return curves and final values of every run, its geometry, and its initial state.

    Args:
        tables: The tables that result from :func:`plan`, by name: ``paths``
            (:func:`inweights.probes.path_accuracy`: ``part, place, hardest, accuracy,
            exact, statements, chance, step``), ``share``
            (:func:`inweights.probes.token_share.token_share`: ``token, added, ratio,
            share, gradient, step``), ``navigation``
            (:func:`inweights.probes.navigation`: ``depth, hops, nearest, ridge,
            explained, chance``), ``even`` (:func:`inweights.probes.hop_correlation`:
            ``spearman, null_mean, null_low, null_high, p``), ``odd``
            (:func:`inweights.probes.hop_correlation`: ``spearman, null_mean, null_low,
            null_high, p``), and ``recall`` (:func:`inweights.probes.graph_recall`:
            ``recall, worst, recall_others, accuracy, ceiling, loss, floor``). All have
            the columns ``world, model, condition, seed``. The labels are ``world``
            (path-star, grid), ``model`` (GPT, Mamba), and ``condition`` (the one
            setting that is varied: for a GPT, the kind of positions, ``tokens N(0,
            1)``, ``untied`` or ``no residual stream``, as described at
            :func:`~inweights.recipes.shared.position_conditions.gpt_of`; for Mamba, the
            block, as described at
            :func:`~inweights.recipes.shared.position_conditions.mamba_of`). Accuracies
            and recall are fractions from 0 to 1. A missing table raises a ``KeyError``.

    Returns:
        - ``curves``: a row per run on the path-star and step: the accuracies
          ``hardest`` (hardest token, the first after the root, of held-out paths),
          ``exact`` (share of held-out paths that are entirely correct),
          ``easiest_last`` (last token of held-out paths) and ``trained`` (share of
          training paths that are entirely correct); ``chance``, the accuracy of
          guessing the hardest token; ``panel`` names the group of conditions in the
          figure. Columns: ``world, model, condition, seed, step, hardest, exact,
          easiest_last, trained, chance, panel``.
        - ``shares``: a row per run of a GPT and step, with the share of the state
          before the first block that identifies the token
          (:func:`inweights.probes.token_share.token_share`). Columns: all columns of
          ``share``, plus ``panel``.
        - ``final``: a row per run on the path-star at its last step: the columns of
          ``curves``; the ``ratio``, ``gradient`` and ``share`` (as ``began``) of
          :func:`inweights.probes.token_share.token_share` at step 0; ``nearest``, the
          share of leaves whose own first node is nearest; and ``half``, the first step
          at which the accuracy on the hardest token is at least 0.5 (or the last step
          plus 1 if there is no such step). Columns: ``world, model, condition, seed,
          step, hardest, exact, easiest_last, trained, chance, ratio, gradient, began,
          nearest, half``.
        - ``drowned``: the rows of ``final`` for the GPT with N(0, 1) or sinusoidal
          positions, which are longer than the token embeddings. Columns: as in
          ``final``.
        - ``ends``: a row per condition of the GPT, seed and ``what`` (``hardest``,
          ``trained``, ``nearest``), with its value as ``accuracy``. Columns:
          ``condition, seed, what, accuracy``.
        - ``dose``: a row per seed: ``by_ratio``, the rank correlation of ``ratio`` and
          ``half`` over the three initial scales of learned positions (0 if ``half`` is
          the same for all scales). Columns: ``seed, by_ratio``.
        - ``grid``: a row per run on the grid and value of ``pairs`` (even or odd
          distances), with Spearman's ρ between cosine similarity and hops; ``which``
          names the model and the condition. Columns: all columns of ``even``, plus
          ``pairs, which``.
    """
    runs = derived_paths.whole(tables["paths"])
    first = tables["share"].filter(pl.col("step") == 0)
    began = first.select(*KEYS, "ratio", "gradient", began="share")
    nearest = tables["navigation"].filter(pl.col("depth") == 1).select(*KEYS, "nearest")
    when = derived_paths.learnt(tables["paths"], KEYS).unique(
        subset=KEYS, maintain_order=True
    )
    final = (
        derived.at_the_end(runs, KEYS)
        .join(began, on=KEYS)
        .join(nearest, on=KEYS)
        .join(when.select(*KEYS, half="hardest"), on=KEYS)
    )
    # Only the GPT has position embeddings, so the claims about positions exclude Mamba.
    gpt_final = final.filter(pl.col("model") == GPT)
    learned = gpt_final.filter(pl.col("condition").is_in(LEARNED))
    dose = learned.group_by("seed", maintain_order=True).agg(
        by_ratio=pl.corr("ratio", "half", method="spearman").fill_nan(0.0)
    )
    grid = pl.concat(
        [
            tables[pairs].with_columns(pairs=pl.lit(f"{pairs} hops apart"))
            for pairs in ("even", "odd")
        ]
    )
    group = (
        pl.when(pl.col("model") == MAMBA)
        .then(pl.lit(MAMBA))
        .when(pl.col("condition").is_in(POSITIONS))
        .then(pl.lit("GPT, positions"))
        .otherwise(pl.lit("GPT, tokens and ties"))
    )
    return {
        "curves": runs.with_columns(panel=group),
        "shares": tables["share"]
        .filter(pl.col("model") == GPT)
        .with_columns(panel=group),
        "final": final,
        "drowned": gpt_final.filter(pl.col("condition").is_in([UNIT, WAVES])),
        "ends": gpt_final.unpivot(
            on=["hardest", "trained", "nearest"],
            index=["condition", "seed"],
            variable_name="what",
            value_name="accuracy",
        ),
        "dose": dose,
        "grid": grid.with_columns(which=pl.format("{}, {}", "model", "condition")),
    }


found = share("final", "hardest", model=GPT)
known = share("final", "trained", model=GPT)
nearest = share("final", "nearest", model=GPT)
drowned = share("drowned", "trained").over("condition")
mamba = share("final", "hardest", model=MAMBA)
even = cosine("grid", "spearman", pairs="even hops apart")
odd = cosine("grid", "spearman", pairs="odd hops apart")

SCORES = {
    "small-positions-find": found.at(condition=SMALL) >= 0.9,
    "no-positions-find": found.at(condition=NONE) >= 0.9,
    "unit-positions-find-fewer": found.at(condition=UNIT) - found.at(condition=SMALL)
    <= -0.3,
    "waves-find-fewer": found.at(condition=WAVES) - found.at(condition=SMALL) <= -0.3,
    "larger-positions-later": cosine("dose", "by_ratio") >= 0.8,
    "drowned-are-memorised": drowned >= 0.9,
    "drowned-are-geometric": drowned.of("nearest") >= 0.9,
    "tokens-drown": drowned.of("began") <= 0.01,
    "long-tokens-are-seen": share("final", "began", condition=LONG) >= 0.3,
    "long-tokens-have-no-geometry": nearest.at(condition=LONG) <= 0.3,
    "untied-fails": found.at(condition=UNTIED) <= 0.1,
    "untied-memorises": known.at(condition=UNTIED) >= 0.9,
    "untied-is-geometric": nearest.at(condition=UNTIED) >= 0.9,
    "mamba-finds": mamba.at(condition=ADDS) >= 0.9,
    "mamba-of-the-code-fails": mamba.at(condition=CODE) <= 0.5,
    "mamba-of-the-code-memorises": mamba.of("trained").at(condition=CODE) >= 0.9,
    "unit-positions-do-not-fold": odd.at(model=GPT, condition=UNIT) <= -0.5,
    "untied-folds": odd.at(model=GPT, condition=UNTIED) >= -0.4,
    "mamba-of-the-code-folds": odd.at(model=MAMBA, condition=CODE) >= -0.4,
    "mamba-of-the-code-keeps-even": even.at(model=MAMBA, condition=CODE) <= -0.5,
    "mamba-does-not-fold": odd.at(model=MAMBA, condition=ADDS) <= -0.5,
    "stream-unfolds": odd.at(model=MAMBA, condition=CODE_ADDS) <= -0.5,
}
