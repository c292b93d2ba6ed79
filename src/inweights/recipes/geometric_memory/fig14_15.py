"""Figures 14 and 15 of Geometric Memory: the path-star with Mamba, and its geometry."""

from functools import partial
from itertools import product

import polars as pl
from msgspec import structs

import inweights as iw
from inweights.config.ranges import PositiveInt
from inweights.experiments import Measure, Plan, cosine, number, share
from inweights.models.configs import MambaConfig
from inweights.recipes.geometric_memory import paths as ways
from inweights.recipes.shared import derived, derived_paths
from inweights.worlds.families.path_star import PathStar

#: Labels of blocks that add their output to their input, and of blocks without a
#: residual stream.
ADDS = "residual"
REPLACES = "no residual"
#: Conditions that train on paths, with the loss on every token or on the hardest one
#: alone.
TAUGHT = (
    (ways.INTERLEAVED, ways.FULL),
    (ways.INTERLEAVED, ways.FIRST),
    (ways.GEOMETRY, ways.FULL),
)
#: Largest number of nodes of a graph for which all pairs of nodes are compared.
PAIRED = 2000
KEYS = ["graph", "block", "condition", "taught", "seed"]


_SMALL = ways.PathStarTraining(
    model=MambaConfig(layers=2, width=32), paths=400, together=500
)


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``fig14_15.toml``. A value of the wrong type raises a
    ``ConfigError``; :func:`plan` checks most ranges.

    Attributes:
        stars: Path-stars, each with its training settings. Every model is trained once
            with and once without a residual stream.
        every: Number of steps between two points of the curves, at least 1.
        arms: Number of held-out arms shown in a heat-map.
        draws: Number of random embeddings from which the null distribution of the rank
            correlation is estimated.
    """

    stars: tuple[ways.PathStarTraining, ...] = (_SMALL,)
    every: PositiveInt = 25
    arms: PositiveInt = 30
    draws: PositiveInt = 20


def plan(settings: Settings) -> Plan:
    """Plan training runs of Mamba on paths and on edges, with and without a residual stream.

    Args:
        settings: The recipe's settings, such as ``stars``, ``every`` and ``arms``;
            :class:`Settings` describes each.

    Returns:
        The plan. The label values listed below are those of the default settings.

        - Labels of the trials: ``graph`` (the string ``(arms, nodes per path)``: (200,
          4)), ``block`` (``residual``: blocks add to their input; ``no residual``: they
          replace it), ``condition`` (``interleaved``: edges and paths together;
          ``geometry first``: edges, then edges and paths with frozen embeddings;
          ``edges alone``), and ``taught`` (``full path``: loss on all tokens of the
          path; ``first token``: loss only on the first token after the root, the
          hardest).
        - Measures: ``paths`` (:func:`inweights.probes.path_accuracy`; during training),
          ``cosines`` (:func:`inweights.probes.arm_cosines` with ``arms=30``),
          ``navigation`` (:func:`inweights.probes.navigation`; only if ``taught`` is
          ``full path``), ``edges`` (:func:`inweights.probes.stepwise` with
          ``roles=("edge", "reverse_edge")``) and ``hops``
          (:func:`inweights.probes.hop_correlation` with ``draws=20``; only if
          ``condition`` is ``edges alone`` and ``graph`` is ``(200, 4)``).

    Raises:
        ConfigError: ``every`` is negative, or a value is out of range for a path-star
            (such as fewer than 2 arms or 3 nodes per path), the model or its training.
    """
    trials = []
    for star, block in product(settings.stars, (ADDS, REPLACES)):
        model = structs.replace(star.model, residual=block == ADDS)
        used = structs.replace(star, model=model)
        for how, loss in (*TAUGHT, (ways.ALONE, ways.FULL)):
            about = {
                "graph": star.name,
                "block": block,
                "condition": how,
                "taught": loss,
            }
            trials.append(used.trial(about, how=how, loss=loss))
    hops = partial(
        Measure, probe=iw.probes.hop_correlation, options={"draws": settings.draws}
    )
    measures = [
        ways.curves(every=settings.every),
        Measure(
            name="cosines", probe=iw.probes.arm_cosines, options={"arms": settings.arms}
        ),
        Measure(
            name="navigation", probe=iw.probes.navigation, where={"taught": ways.FULL}
        ),
        ways.recall(),
        *(
            hops(name="hops", where={"condition": ways.ALONE, "graph": star.name})
            for star in settings.stars
            if PathStar(arms=star.arms, nodes=star.nodes).size <= PAIRED
        ),
    ]
    return Plan(trials=trials, measures=measures)


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return accuracies on paths, the steps at which tokens are learned, and the geometry.

    Args:
        tables: The tables that result from :func:`plan`, by name. A run is one trial
            with one seed. All tables have the columns ``graph, block, condition,
            taught, seed``. Accuracies and recall are fractions from 0 to 1.

            - ``paths``, from :func:`inweights.probes.path_accuracy`, with the
              additional columns ``part, place, hardest, accuracy, exact, statements,
              chance, step``.
            - ``cosines``, from :func:`inweights.probes.arm_cosines`, with the
              additional columns ``leaf, first, own, cosine``.
            - ``navigation``, from :func:`inweights.probes.navigation`, with the
              additional columns ``depth, hops, nearest, ridge, explained, chance``.
            - ``edges``, from :func:`inweights.probes.stepwise`, with the additional
              columns ``part, role, place, statements, accuracy, recall, exact``.
            - ``hops``, from :func:`inweights.probes.hop_correlation`, with the
              additional columns ``spearman, null_mean, null_low, null_high, p``.

            The labels are ``graph`` (the string ``(arms, nodes per path)``: (200, 4)),
            ``block`` (``residual``: blocks add to their input; ``no residual``: they
            replace it), ``condition`` (``interleaved``: edges and paths together;
            ``geometry first``: edges, then edges and paths with frozen embeddings;
            ``edges alone``), and ``taught`` (``full path``: loss on all tokens of the
            path; ``first token``: loss only on the first token after the root, the
            hardest).

    Returns:
        - ``curves``: a row per step and run with training on paths: the accuracies
          ``hardest`` (on the hardest token of held-out paths, which is the first after
          the root), ``exact`` (share of held-out paths that are entirely correct),
          ``easiest_last`` (on the last token of held-out paths) and ``trained`` (share
          of training paths that are entirely correct); ``chance``, the accuracy of
          guessing the hardest token; ``line`` and ``panel`` are labels for the figure.
          Columns: ``graph, block, condition, taught, seed, step, hardest, exact,
          easiest_last, trained, chance, line, panel``.
        - ``final``: the rows of ``curves`` at the last step. Columns: ``graph, block,
          condition, taught, seed, step, hardest, exact, easiest_last, trained,
          chance``.
        - ``tokens``: a row per step, ``token`` of held-out paths, and run with the loss
          on whole paths; ``accuracy`` is the accuracy on the token, and ``panel`` names
          the condition and the block. Columns: all columns of ``paths``, plus ``token,
          panel``.
        - ``order``: a row per run: four columns that compare the first steps at which
          tokens reach an accuracy of 0.5
          (:func:`~inweights.recipes.shared.derived_paths.learnt`): ``order`` (rank
          correlation with the place), ``hardest`` and ``last`` (steps of the first and
          the last token) and ``lead`` (``last`` minus ``hardest``). The columns
          ``place`` and ``step`` belong to one token of the run and are not used.
          Columns: ``graph, block, condition, taught, seed, place, step, order, hardest,
          last, lead``.
        - ``geometry``: a row per run with the loss on whole paths
          (:func:`~inweights.recipes.shared.derived_paths.own_and_other_arms`): the mean
          cosines of leaves with the first node of their own path (``own``) and with
          those of other paths (``others``), their difference (``gap``), and the shares
          of leaves for which the first node of their own path is the nearest
          (``nearest``) or is found by a ridge regression (``ridge``). Columns: ``graph,
          block, condition, taught, seed, own, others, gap, nearest, ridge``.
        - ``matrix``: a row per leaf and first node of the first seed, in the conditions
          ``interleaved`` and ``edges alone``, for the heat-maps; ``panel`` names the
          condition and the block. Columns: all columns of ``cosines``, plus ``panel``.
        - ``correlation``: a row per run on edges alone, with Spearman's ρ between
          cosine similarity and distance in hops. Columns: all columns of ``hops``.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    taught_paths = pl.col("condition") != ways.ALONE
    runs = derived_paths.whole(tables["paths"]).filter(taught_paths)
    full = tables["paths"].filter(
        pl.col("part") == "queries", pl.col("taught") == ways.FULL, taught_paths
    )
    arms = derived_paths.own_and_other_arms(
        tables["cosines"], tables["navigation"], KEYS
    )
    matrix = tables["cosines"].filter(
        pl.col("seed") == pl.col("seed").min(),
        pl.col("condition").is_in([ways.INTERLEAVED, ways.ALONE]),
        pl.col("taught") == ways.FULL,
    )
    panel = pl.format("{}, {}", "condition", "block")
    return {
        "curves": runs.with_columns(
            line=pl.format("{}, {}", "condition", "taught"),
            panel=pl.format("{}, {}", "graph", "block"),
        ),
        "final": derived.at_the_end(runs, KEYS),
        "tokens": full.with_columns(derived_paths.token_names(), panel=panel),
        "order": derived_paths.learnt(full, KEYS).unique(
            subset=KEYS, maintain_order=True
        ),
        "geometry": arms,
        "matrix": matrix.with_columns(panel=panel),
        "correlation": tables["hops"],
    }


token = share("final", "hardest").over("graph")
adds = token.at(condition=ways.INTERLEAVED, block=ADDS)
lead = number("order", "lead", block=ADDS).over("graph")
closer = number("geometry", "gap", condition=ways.ALONE)
nearest = share("geometry", "nearest", condition=ways.ALONE)
by_hops = cosine("correlation", "spearman", condition=ways.ALONE)

SCORES = {
    "hardest-token": adds.at(taught=ways.FULL) >= 0.85,
    "first-token": adds.at(taught=ways.FIRST) >= 0.85,
    "full-path": adds.of("exact").at(taught=ways.FULL) >= 0.8,
    "geometry-first": token.at(condition=ways.GEOMETRY, block=ADDS) >= 0.95,
    "without-residual": token.at(condition=ways.GEOMETRY, block=REPLACES) >= 0.95,
    "no-reverse-cascade": lead.at(condition=ways.INTERLEAVED) >= -50.0,
    "cascade-geometry-first": lead.at(condition=ways.GEOMETRY) <= -50.0,
    "edges-alone-closer": closer.over("graph", "block") >= 0.3,
    "edges-alone-nearest": nearest.over("graph", "block") >= 0.95,
    "edges-alone-hops": by_hops.over("graph", "block") <= -0.3,
}
