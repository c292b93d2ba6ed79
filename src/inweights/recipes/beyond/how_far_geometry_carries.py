"""Our experiment: over how long a path does the geometry of edges reach? A law with three factors.

A leaf's own first node can be found from embeddings that were trained on edges alone, up
to some length of the path. Thirty times the usual weight decay during training on edges
removes what distinguishes near nodes, and preserves what all nodes of an arm share. Some
steps at the usual decay then restore the edges. A model needs enough training paths
to use this geometry. With few arms, it memorises the paths instead.
"""

from functools import partial
from itertools import product

import polars as pl
from msgspec import structs

import inweights as iw
from inweights.experiments import Plan, Value, number, share
from inweights.recipes.beyond.geometry_first import measures
from inweights.recipes.geometric_memory.paths import (
    ALONE,
    GEOMETRY,
    MINI,
    PathStarTraining,
)
from inweights.recipes.shared.derived_paths import path_ends
from inweights.recipes.shared.linear_law import linear_law

#: Methods that find the first node of a held-out leaf: an affine map from leaf to first
#: node that is fitted on the trained arms, or the nearest first node.
AFFINE = "affine map"
NEAREST = "nearest"
#: Stages of training: edges alone (as in all cells of the law), or paths after them.
EDGES = "edges"
PATHS = "paths"
#: Columns of the variables of the law, of which it uses base-2 logarithms. A
#: combination of their values is a cell.
CELL = ["arms", "width", "decay"]
KEYS = [*CELL, "nodes", "seed"]
#: Fraction of first nodes that must be found for a path length to count as reached.
FOUND = 0.9


_star = partial(
    PathStarTraining,
    nodes=8,
    pressure=3.0,
    settle=60,
    task_tokens=False,
)
#: Settings of a run on edges alone, for one cell of the law.
CELLS = _star(
    edges=200,
    model=iw.GPTConfig(
        layers=2,
        width=32,
        heads=2,
        context=16,
    ),
)
FEW = _star(arms=200, edges=300, paths=1000)
MANY = structs.replace(
    FEW,
    arms=1000,
    edges=500,
    settle=200,
    paths=2000,
    sources=1000,
    rehearsed=300,
)
#: Settings of a run on paths after edges, with next to no training.
MINI_READ = _star(
    edges=2,
    settle=2,
    paths=2,
    leaves=4,
    sources=32,
    rehearsed=8,
    model=MINI.model,
)


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``how_far_geometry_carries.toml``. A value of the
    wrong type raises a ``ConfigError``; :func:`plan` checks most ranges.

    Attributes:
        course: Settings of the path-star and of training on its edges. The number of
            arms, the width, the weight decay (the field ``pressure``) and the path
            length are replaced by the values below.
        read: Settings of the graphs on which a model learns paths after edges. Two
            models are trained on each graph: one with the weight decay ``pressure``
            while edges are learnt, and one with the usual weight decay.
        nodes: Lengths of the paths, in nodes (at least 3).
        fitted: Numbers of arms (at least 2) for fitting the law of usable path lengths.
        judged: Numbers of arms (at least 2) for testing the predictions of this law.
        widths: Widths of the model; each is combined with every number of arms.
        decays: Weight decays while edges are learnt; each is combined with every width.
    """

    course: PathStarTraining = CELLS
    read: tuple[PathStarTraining, ...] = (FEW, MANY)
    nodes: tuple[int, ...] = (4, 5, 6, 7, 8, 9)
    fitted: tuple[int, ...] = (50, 200)
    judged: tuple[int, ...] = (100, 400)
    widths: tuple[int, ...] = (32, 64)
    decays: tuple[float, ...] = (0.1, 3.0)


def plan(settings: Settings) -> Plan:
    """Plan training on edges alone for all settings, and training on edges and then on paths.

    Args:
        settings: The recipe's settings, such as ``course``, ``read`` and ``nodes``;
            :class:`Settings` describes each.

    Returns:
        The plan. The label values listed below are those of the default settings.

        - Labels of the trials: ``arms`` (50, 200, 100, 400; 1000), ``width`` (32, 64),
          ``decay`` (weight decay during training on edges: 0.1, 3), ``nodes`` (number of
          nodes of a path: 4 to 9), ``stage`` (``edges``: training on edges alone;
          ``paths``: on edges, then on paths), and ``fitted`` (Boolean: whether the run
          is used to fit the law).
        - Measures: ``places`` (:func:`inweights.probes.stepwise` with ``roles=("edge",
          "reverse_edge", "path")``) and ``navigation``
          (:func:`inweights.probes.navigation`).

    Raises:
        ConfigError: A length is below 3, a number of arms is below 2, or a value is out
            of range for the model or its training.
    """
    trials = []
    cells = product(
        (*settings.fitted, *settings.judged), settings.widths, settings.decays
    )
    for (arms, width, decay), nodes in product(cells, settings.nodes):
        star = structs.replace(
            settings.course,
            arms=arms,
            nodes=nodes,
            pressure=decay,
            model=structs.replace(settings.course.model, width=width),
        )
        about = {"arms": arms, "width": width, "decay": decay, "nodes": nodes}
        fitted = arms in settings.fitted
        trials.append(
            star.trial({**about, "stage": EDGES, "fitted": fitted}, how=ALONE)
        )
    for star in settings.read:
        for decay in (star.weight_decay, star.pressure):
            labels: dict[str, Value] = {"arms": star.arms, "width": star.model.width}
            labels |= {
                "decay": decay,
                "nodes": star.nodes,
                "stage": PATHS,
                "fitted": False,
            }
            trials.append(
                structs.replace(star, pressure=decay).trial(labels, how=GEOMETRY)
            )
    return Plan(trials=trials, measures=measures())


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return the longest usable path lengths, a law that predicts them, and accuracies on paths.

    Args:
        tables: The tables that result from :func:`plan`, by name (a run is one trial
            with one seed): ``places`` (:func:`inweights.probes.stepwise`: ``part, role,
            place, statements, accuracy, recall, exact``) and ``navigation``
            (:func:`inweights.probes.navigation`: ``depth, hops, nearest, ridge,
            explained, chance``). Both have the columns ``arms, width, decay, nodes,
            stage, fitted, seed``. The labels are ``arms`` (50, 200, 100, 400; 1000),
            ``width`` (32, 64), ``decay`` (weight decay during training on edges: 0.1,
            3), ``nodes`` (number of nodes of a path: 4 to 9), ``stage`` (``edges``:
            training on edges alone; ``paths``: on edges, then on paths), and ``fitted``
            (Boolean: whether the law is fitted to the cell, a combination of ``arms``,
            ``width`` and ``decay``). Accuracies and recall are fractions from 0 to 1.

    Returns:
        - ``judged``: a row per seed, method of finding the first node (``by``: ``affine
          map`` or ``nearest``) and cell to which the law was not fitted: ``reach`` (the
          largest length, in nodes, such that at this and all smaller lengths the first
          node is found for at least 90% of held-out leaves; the smallest length minus 1
          if there is no such length), the reach that the law predicts (``foretold``,
          limited to the range of lengths tried), ``error`` (``reach`` minus
          ``foretold``), and ``gain``, the absolute error of predicting the mean reach
          of the fitted cells, minus the absolute ``error``. Columns: ``arms, width,
          decay, fitted, by, seed, reach, foretold, per_arms, per_width, per_decay,
          error, gain``.
        - ``law``: a row per ``by`` and seed: the change of the reach when the number of
          arms, the width or the decay is doubled (``per_arms``, ``per_width``,
          ``per_decay``). The other columns belong to one cell and are not used.
          Columns: ``arms, width, decay, fitted, by, seed, reach, foretold, per_arms,
          per_width, per_decay, error``.
        - ``hits``: a row per ``by`` and seed: the share of the judged cells whose reach
          is ``within`` one node of the predicted one, and the mean ``gain``. Columns:
          ``by, seed, gain, within``.
        - ``cells``: a row per run on edges alone: accuracies on paths (``exact``,
          ``hardest``, ``trained``), recall of ``edges``, and shares of leaves whose own
          first node is the nearest (``nearest``) or is found by ridge regression
          (``ridge``) (:func:`~inweights.recipes.shared.derived_paths.path_ends`).
          Columns: ``arms, width, decay, nodes, seed, stage, fitted, exact, hardest,
          trained, edges, nearest, ridge, chance``.
        - ``read``: a row per run that learns paths after edges. Columns: as in
          ``cells``.
        - ``shown``: a row per cell, seed and value of ``what`` (``reach`` or
          ``predicted``), with its ``value`` for the affine map; ``panel`` names the
          width and the decay. Columns: ``arms, panel, seed, what, value``.
        - ``profile``: a row per length, seed, ``of`` (``affine map``, ``nearest``,
          ``edges``) and cell at the largest width, with the share as ``value``.
          Columns: ``nodes, cell, seed, of, value``.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    runs = path_ends(tables, [*KEYS, "stage", "fitted"])
    cells = runs.filter(pl.col("stage") == EDGES)
    readers = {"ridge": AFFINE, "nearest": NEAREST}
    found = cells.unpivot(
        list(readers), index=[*KEYS, "fitted"], variable_name="by", value_name="found"
    ).with_columns(pl.col("by").replace_strict(readers))
    # A length is reached only if all shorter ones are: a lucky longer one does not
    # count.
    everywhere = (pl.col("found") >= FOUND).cast(pl.Int8).cum_min().cast(pl.Boolean)
    reach = (
        found.sort("nodes", maintain_order=True)
        .group_by([*CELL, "fitted", "by", "seed"], maintain_order=True)
        .agg(
            reach=pl.col("nodes")
            .filter(everywhere)
            .max()
            .fill_null(pl.col("nodes").min() - 1)
            .cast(pl.Float64)
        )
    )
    law = linear_law(reach, "reach", CELL, ["by", "seed"])
    # Clipped, since no measured reach can be outside the lengths that were tried.
    tried = cells["nodes"].to_list()
    law = law.with_columns(pl.col("foretold").clip(min(tried) - 1, max(tried)))
    law = law.with_columns(error=pl.col("reach") - pl.col("foretold"))
    mean = pl.col("reach").filter("fitted").mean().over("by", "seed")
    judged = law.with_columns(
        gain=(pl.col("reach") - mean).abs() - pl.col("error").abs()
    ).filter(~pl.col("fitted"))
    within = (pl.col("error").abs() <= 1).cast(pl.Float64)
    return {
        "judged": judged,
        "law": law.unique(["by", "seed"], maintain_order=True),
        "hits": judged.group_by("by", "seed", maintain_order=True).agg(
            pl.col("gain").mean(), within=within.mean()
        ),
        "cells": cells,
        "read": runs.filter(pl.col("stage") == PATHS),
        "shown": law.filter(pl.col("by") == AFFINE)
        .with_columns(
            panel=pl.format("width {}, decay {}", "width", "decay"),
            predicted="foretold",
        )
        .unpivot(
            ["reach", "predicted"],
            index=["arms", "panel", "seed"],
            variable_name="what",
        ),
        "profile": cells.filter(pl.col("width") == pl.col("width").max())
        .with_columns(cell=pl.format("{} arms, decay {}", "arms", "decay"))
        .rename(readers)
        .unpivot(
            [*readers.values(), "edges"],
            index=["nodes", "cell", "seed"],
            variable_name="of",
        ),
    }


law = number("law", "per_arms", by=AFFINE)
judged = number("judged", "error").over(*CELL)
read = share("read", "hardest", nodes=8)
nearest = read.of("nearest")

SCORES = {
    "foretold": judged.at(by=AFFINE).within(-1.0, 1.0),
    "foretold-mostly": share("hits", "within", by=AFFINE) >= 0.8,
    "foretold-nearest": judged.at(by=NEAREST).within(-1.0, 1.0),
    "better-than-one-number": number("hits", "gain", by=AFFINE) >= 0.3,
    "arms-carry": law >= 0.25,
    "width-costs": law.of("per_width") <= -0.25,
    "decay-carries": law.of("per_decay") >= 0.1,
    "edges-are-known": share("cells", "edges", decay=0.1).over("arms", "width", "nodes")
    >= 0.9,
    "eight-nodes": read.at(arms=1000, decay=3.0) >= 0.9,
    "none-without": read.at(arms=1000, decay=0.1) <= 0.05,
    "nor-is-it-the-facts": read.of("edges").at(arms=1000).over("decay") >= 0.95,
    "few-arms-lie-right": nearest.at(arms=200, decay=3.0) >= 0.9,
    "few-arms-are-memorised": read.at(arms=1000, decay=3.0)
    - read.at(arms=200, decay=3.0)
    >= 0.5,
}
