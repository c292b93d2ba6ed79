"""Figure 16 of Geometric Memory: a tree-star, whose paths branch at every node."""

import math
from itertools import product

import polars as pl

import inweights as iw
from inweights.config.ranges import PositiveInt
from inweights.experiments import Plan, Score, share
from inweights.recipes.geometric_memory import paths as ways
from inweights.recipes.shared.derived import at_the_end
from inweights.recipes.shared.derived_paths import whole
from inweights.worlds.families.path_star import PathStar

#: What is held out: single leaves, or all leaves under some of the root's children.
LEAF = "leaf"
ARM = "first token"
KEYS = ["graph", "condition", "split", "seed"]
#: Accuracy on the trained paths (exact match) from which on a run is judged on other
#: paths.
KNOWN = 0.95


class Tree(iw.Config):
    """Settings of a tree-star and of training on it.

    A value of the wrong type raises a ``ConfigError``; ranges are checked when the
    config is used.

    Attributes:
        star: Settings of training, including the number of children of the root
            (``arms``) and the number of nodes of a path (``nodes``).
        branches: Number of children of every inner node except the root, at least 1; by
            default 2.
    """

    star: ways.PathStarTraining = ways.PathStarTraining(
        arms=40, nodes=4, paths=750, together=1000
    )
    branches: int = 2

    @property
    def name(self) -> str:
        """Label of the tree, such as ``(5, 2, 4)``.

        The three numbers are the number of children of the root, the number of children
        of each other inner node, and the number of nodes on a path from the root to a
        leaf, both included.
        """
        return f"({self.star.arms}, {self.branches}, {self.star.nodes})"

    def task(self, split: str) -> PathStar:
        """Return the config of the tree's world, with single leaves or whole subtrees held out.

        The fields ``arms`` and ``nodes`` of the config have their default values;
        ``star.trial`` replaces them.

        Args:
            split: ``leaf`` to hold out individual leaves. Any other string, such as
                ``first token``, holds out all leaves below some children of the root.

        Returns:
            The config of a :class:`PathStar` with ``branches`` children per inner node.

        Raises:
            ConfigError: ``branches`` is below 1, or the tree has too many nodes.
        """
        return PathStar(
            branches=self.branches, split="leaf" if split == LEAF else "arm"
        )


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``fig16.toml``. A value of the wrong type raises a
    ``ConfigError``; :func:`plan` checks most ranges.

    Attributes:
        trees: The tree-stars, each with its training settings.
        every: Number of steps between two points of the curves, at least 1.
    """

    trees: tuple[Tree, ...] = (Tree(),)
    every: PositiveInt = 25


def plan(settings: Settings) -> Plan:
    """Plan training with trained or frozen embeddings, with single leaves or subtrees held out.

    Args:
        settings: The recipe's settings, such as ``trees`` and ``every``;
            :class:`Settings` describes each.

    Returns:
        The plan. The label values listed below are those of the default settings.

        - Labels of the trials: ``graph`` (the string ``(children of the root, children
          of each further inner node, nodes per path)``: (40, 2, 4)), ``condition``
          (``interleaved``: edges and paths together; ``geometry first``: edges, then
          edges and paths with frozen embeddings; ``random``: edges and paths together,
          with frozen random embeddings), and ``split`` (what is held out: ``leaf`` for
          individual leaves, ``first token`` for all leaves below some children of the
          root).
        - Measures: ``paths`` (:func:`inweights.probes.path_accuracy`; during training)
          and ``edges`` (:func:`inweights.probes.stepwise` with ``roles=("edge",
          "reverse_edge")``).

    Raises:
        ConfigError: ``every`` is negative, or a value is out of range for a tree-star
            (such as fewer than 2 children of the root or 1 branch), the model or its
            training.
    """
    trials = [
        tree.star.trial(
            {"graph": tree.name, "condition": how, "split": split},
            how=how,
            task=tree.task(split),
        )
        for tree, how, split in product(
            settings.trees, (ways.INTERLEAVED, ways.GEOMETRY, ways.RANDOM), (LEAF, ARM)
        )
    ]
    return Plan(
        trials=trials, measures=[ways.curves(every=settings.every), ways.recall()]
    )


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return the curves and final accuracies of every run, and the final accuracy of each token.

    Args:
        tables: The tables that result from :func:`plan`, by name. A run is one trial
            with one seed. Both tables have the columns ``graph, condition, split, seed,
            part, place, accuracy, exact, statements``. Accuracies and recall are
            fractions from 0 to 1.

            - ``paths``, from :func:`inweights.probes.path_accuracy`, with the
              additional columns ``hardest, chance, step``.
            - ``edges``, from :func:`inweights.probes.stepwise`, with the additional
              columns ``role, recall``.

            The labels are ``graph`` (the string ``(children of the root, children of
            each further inner node, nodes per path)``: (40, 2, 4)), ``condition``
            (``interleaved``: edges and paths together; ``geometry first``: edges, then
            edges and paths with frozen embeddings; ``random``: edges and paths
            together, with frozen random embeddings), and ``split`` (what is held out:
            ``leaf`` for individual leaves, ``first token`` for all leaves below some
            children of the root).

    Returns:
        - ``curves``: a row per run and step: the accuracies ``hardest`` (on the hardest
          token of held-out paths, which is the first after the root), ``exact`` (share
          of held-out paths that are entirely correct), ``easiest_last`` (on the last
          token of held-out paths) and ``trained`` (share of training paths that are
          entirely correct); ``chance``, the accuracy of guessing the hardest token;
          ``panel`` names the graph and the condition. Columns: ``graph, condition,
          split, seed, step, hardest, exact, easiest_last, trained, chance, panel``.
        - ``final``: the rows of ``curves`` at the last step. Columns: as in ``curves``.
        - ``judged``: the rows of ``final``, in which ``exact`` and ``hardest`` are NaN
          if ``trained`` is below :data:`KNOWN` (0.95). Columns: as in ``curves``.
        - ``ends``: a row per run at the last step, with the accuracy on the last token
          of held-out paths. Columns: all columns of ``paths``.
        - ``places``: a row per run and token of held-out paths at the last step, with
          its ``accuracy``; ``panel`` names the graph and the condition. Columns: all
          columns of ``paths``, plus ``panel``.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    panel = pl.format("{}, {}", "graph", "condition")
    runs = whole(tables["paths"]).with_columns(panel=panel)
    places = at_the_end(tables["paths"], KEYS).filter(pl.col("part") == "queries")
    final = at_the_end(runs, KEYS)
    # If a run has not learned its trained paths, its accuracies on other paths say
    # nothing. They are NaN in the table by which claims are judged.
    known = pl.when(pl.col("trained") >= KNOWN)
    return {
        "curves": runs,
        "final": final,
        "judged": final.with_columns(
            known.then(name).otherwise(math.nan).alias(name)
            for name in ("exact", "hardest")
        ),
        "ends": places.filter(pl.col("place") == pl.col("place").max().over("graph")),
        "places": places.with_columns(panel=panel),
    }


exact = share("judged", "exact").over("graph", "split")
token = exact.of("hardest")


def harder(score: Score) -> Score:
    """Return the difference in a score between the split by leaf and the split by first token.

    Args:
        score: Score of a table with the labels ``condition``, ``split`` and ``graph``.

    Returns:
        The score with the split ``leaf`` minus the score with the split ``first
        token``, in the condition ``interleaved``, for each graph.
    """
    interleaved = score.at(condition=ways.INTERLEAVED).over("graph")
    return interleaved.at(split=LEAF) - interleaved.at(split=ARM)


SCORES = {
    "trained-paths-are-known": share("final", "trained").over(
        "graph", "split", "condition"
    )
    >= KNOWN,
    "non-trivial": exact.at(condition=ways.INTERLEAVED) >= 0.1,
    "first-token-split-is-harder": harder(exact) >= 0.1,
    "hardest-token": token.at(condition=ways.INTERLEAVED) >= 0.1,
    "hardest-token-is-harder": harder(token) >= 0.1,
    "sibling-is-said": harder(share("ends", "accuracy")) <= -0.1,
    "geometry-first": exact.at(condition=ways.GEOMETRY) >= 0.1,
    "random-embeddings-fail": exact.at(condition=ways.RANDOM, split=ARM).over("graph")
    <= 0.02,
}
