"""Appendix E.2 and E.3 of Geometric Memory: succinctness, and associative constructions."""

from functools import cache, partial
from itertools import product

import polars as pl
from msgspec import structs

import inweights as iw
from inweights.config import check_size
from inweights.config.ranges import PositiveInt
from inweights.experiments import Computation, Plan, computed
from inweights.recipes.geometric_memory.common import GRAPHS, Shape
from inweights.theory.geometric_memory.storage_tables import (
    constructions,
    costs,
    squeezed_star,
)
from inweights.worlds.families.graphs.graph import Graph

CYCLE = "cycle"
STAR = "path-star"
COMPLETE = "complete bipartite"


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``e2_e3.toml``. A value of the wrong type raises a
    ``ConfigError``; :func:`plan` checks most ranges.

    Attributes:
        nodes: Numbers of nodes of the cycles, each at least 3. The other graphs have
            approximately as many nodes.
        most: Maximum number of nodes of a complete bipartite graph. The number of its
            edges is a quarter of the square of the number of nodes.
        path: Number of nodes of a path of the stars, including the root; at least 2.
        graphs: Names of the graphs that the constructions store, any of ``path-star``,
            ``grid``, ``cycle`` and ``irregular``.
        arms: Numbers of arms of the stars that are embedded in fewer dimensions than
            they have arms.
            :func:`~inweights.theory.geometric_memory.storage_tables.squeezed_star`
            finds the smallest number of dimensions.
    """

    nodes: tuple[int, ...] = (17, 49, 101, 401, 1001)
    most: PositiveInt = 410
    path: int = 5
    graphs: tuple[Shape, ...] = GRAPHS
    arms: tuple[PositiveInt, ...] = (16, 64, 256, 1024)


def plan(settings: Settings) -> Plan:
    """Plan computations of storage costs by graph size, and checks of associative constructions.

    Args:
        settings: The recipe's settings, such as ``nodes``, ``most`` and ``path``;
            :class:`Settings` describes each.

    Returns:
        The plan, with three computations. The label values listed below are those of
        the default settings.

        - ``costs`` (:func:`~inweights.theory.geometric_memory.storage_tables.costs`),
          with the labels ``graph`` (cycle, path-star, complete bipartite),
          ``directions`` (the directions in which edges are stored: forward, both) and
          ``size`` (approximate number of nodes: 17, 49, 101, 401, 1001).
        - ``constructions``
          (:func:`~inweights.theory.geometric_memory.storage_tables.constructions`), for
          each seed, with the label ``graph`` (path-star, grid, cycle, irregular).
        - ``squeezed``
          (:func:`~inweights.theory.geometric_memory.storage_tables.squeezed_star`),
          with the label ``arms`` (16, 64, 256, 1024).

    Raises:
        ConfigError: ``path`` is below 2, or a value of ``nodes`` is below 3.
    """
    check_size("path", settings.path, least=2)
    stored = []
    for count, edges in product(settings.nodes, ("forward", "both")):
        graphs = _graphs(count, edges, settings.path, settings.most)
        for name, world, dimensions, cells in graphs:
            cost = Computation(
                name="costs",
                labels={"graph": name, "directions": edges, "size": count},
                compute=costs,
                options={"world": world, "dimensions": dimensions, "cells": cells},
            )
            stored.append(cost)
    build = partial(
        Computation, name="constructions", compute=constructions, seeded=True
    )
    built = [
        build(labels={"graph": shape}, options={"world": Graph(shape=shape)})
        for shape in settings.graphs
    ]
    squeezed = [
        Computation(
            name="squeezed",
            labels={"arms": arms},
            compute=squeezed_star,
            options={"arms": arms, "nodes": settings.path},
        )
        for arms in settings.arms
    ]
    return Plan(computations=[*stored, *built, *squeezed])


@cache
def _graphs(
    count: int, edges: str, path: int, most: int
) -> tuple[tuple[str, Graph, int, int], ...]:
    """Return graphs of about ``count`` nodes, with the dimensions and cells of their geometry.

    The result is cached, because every claim requests the plan, and checking the 40,000
    edges of the largest graph takes a second.
    """
    arms = max(1, (count - 1) // (path - 1))
    star = Graph(shape="path-star", arms=arms, nodes=path)
    graphs = [
        (CYCLE, Graph(shape="cycle", n=count), 2, count),
        (STAR, star, arms, path),
    ]
    if count <= most:
        half = range(count // 2)
        pairs = [[f"u{i}", f"w{j}"] for i, j in product(half, half)]
        graphs.append((COMPLETE, Graph(shape="edges", links=pairs), 2, 2))
    return tuple(
        (name, structs.replace(world, edges=edges), dimensions, cells)
        for name, world, dimensions, cells in graphs
    )


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return the costs of geometric and associative storage, and the errors of constructions.

    Args:
        tables: The tables that result from :func:`plan`, by name. All tables have the
            columns ``seed, nodes``. Accuracies and recall are fractions from 0 to 1.

            - ``costs``, from
              :func:`~inweights.theory.geometric_memory.storage_tables.costs`, with the
              additional columns ``graph, directions, size, measure, tied, associations,
              associative, geometric, ratio``.
            - ``constructions``, from
              :func:`~inweights.theory.geometric_memory.storage_tables.constructions`,
              with the additional columns ``graph, construction, edges, width, on_edges,
              off_edges, across, itself, recall, width_over_edges, width_over_nodes``.
            - ``squeezed``, from
              :func:`~inweights.theory.geometric_memory.storage_tables.squeezed_star`,
              with the additional columns ``arms, dimensions, over_log, over_arms,
              associative, geometric, ratio``.

    Returns:
        - ``squeezing``: a row per seed, for the stars that are embedded in fewer
          dimensions than they have arms: ``growth``, the number of dimensions divided
          by the logarithm of the number of arms, for the largest star relative to the
          smallest; ``most``, the largest ratio of the bits of associative storage to
          the bits of geometric storage; ``few`` and ``many``, the number of dimensions
          divided by the number of arms, for the stars with the fewest and with the most
          arms. Columns: ``seed, growth, most, few, many``.
        - ``squeezed``: a row per star and value of ``embedding`` (``dimensions``, or
          ``arms``, the dimensions of an embedding that is not squeezed), with its
          number as ``value``. Columns: ``seed, nodes, embedding, value``.
        - ``sparse``: the rows of ``costs`` of the cycle and the path-star, with
          ``storage`` (a string that states the number of directions and whether storage
          is tied) and ``panel`` (graph and measure). Columns: all columns of ``costs``,
          plus ``storage, panel``.
        - ``ratios``: the rows of ``sparse``, and the rows of the complete bipartite
          graph whose ``measure`` is ``norm``. Columns: as in ``sparse``.
        - ``growth``: a row per graph, measure, directions and tying: ``growth``, the
          ``ratio`` of costs for the largest graph divided by the ``ratio`` for the
          smallest graph. Columns: ``seed, graph, measure, directions, tied, storage,
          growth``.
        - ``built``: a row per construction, with ``error``, the larger of its errors on
          edges and on other pairs. Columns: all columns of ``constructions``, plus
          ``error``.
        - ``three``: the rows of ``built`` for proposition 3. Columns: as in ``built``.
        - ``widths``: a row per construction, with its width divided by the number of
          nodes (``value``). Columns: ``seed, graph, construction, value``.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    words = {"forward": "one direction", "both": "both directions"}
    directions = pl.col("directions").replace_strict(words, return_dtype=pl.String)
    tied = pl.when(pl.col("tied")).then(pl.lit("tied")).otherwise(pl.lit("untied"))
    ratios = tables["costs"].with_columns(
        storage=pl.format("{}, {}", directions, tied),
        panel=pl.format("{}, {}", "graph", "measure"),
    )
    keys = ["seed", "graph", "measure", "directions", "tied", "storage"]
    sizes = ratios.sort("nodes").group_by(keys, maintain_order=True)
    ratio = pl.col("ratio")
    sparse = pl.col("graph") != COMPLETE
    built = tables["constructions"].with_columns(
        error=pl.max_horizontal("on_edges", "off_edges")
    )
    return {
        **_squeezing(tables["squeezed"]),
        "sparse": ratios.filter(sparse),
        "ratios": ratios.filter(sparse | (pl.col("measure") == "norm")),
        "growth": sizes.agg(growth=ratio.last() / ratio.first()),
        "built": built,
        "three": built.filter(pl.col("construction") == "proposition 3"),
        "widths": built.select(
            "seed", "graph", "construction", value="width_over_nodes"
        ),
    }


def _squeezing(squeezed: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Return the growth of dimensions with arms, and a table with dimensions and arms as rows."""
    stars = squeezed.sort("arms").group_by("seed", maintain_order=True)
    over_log = pl.col("over_log")
    over_arms = pl.col("over_arms")
    return {
        "squeezing": stars.agg(
            growth=over_log.last() / over_log.first(),
            most=pl.col("ratio").max(),
            few=over_arms.first(),
            many=over_arms.last(),
        ),
        "squeezed": squeezed.unpivot(
            on=["dimensions", "arms"],
            index=["seed", "nodes"],
            variable_name="embedding",
        ),
    }


ratio = computed("sparse", "ratio").over("graph", "directions", "tied", "size")
growth = computed("growth", "growth", measure="norm").over("directions", "tied")
error = computed("built", "error").over("graph")
three = computed("three", "error").over("graph")
narrowest = computed("constructions", "width_over_edges", construction="shifted").over(
    "graph"
)

SCORES = {
    "bits-do-not-favour-geometry": ratio.at(measure="bits") <= 1.0 + 1e-9,
    "norms-tie": ratio.at(measure="norm").within(0.66, 1.4143),
    "no-gap-grows-cycle": growth.at(graph=CYCLE).within(0.95, 1.05),
    "no-gap-grows-path-star": growth.at(graph=STAR).within(0.95, 1.05),
    "dense-graphs-are-different": growth.at(graph=COMPLETE) >= 2.0,
    "arms-squeeze-into-their-logarithm": computed("squeezing", "growth") <= 2.0,
    "squeezed-still-costs-more": computed("squeezing", "most") <= 1.0,
    "few-arms-do-not-squeeze": computed("squeezing", "few") >= 1.0,
    "proposition-4": error.at(construction="proposition 4") <= 1e-9,
    "proposition-5": error.at(construction="proposition 5") <= 1e-9,
    "proposition-3-as-printed": three <= 1e-9,
    "proposition-3-across": three.of("across") <= 1e-9,
    "footnote-14": narrowest >= 1.0,
    "narrower-than-nodes": error.at(construction="shifted") <= 1e-9,
}
