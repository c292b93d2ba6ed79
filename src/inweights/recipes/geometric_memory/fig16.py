"""Figure 16 of Geometric Memory: a tree-star, whose paths branch at every node."""

from __future__ import annotations

import math

import polars as pl
from msgspec import structs

from inweights.config import Config
from inweights.lab import Plan, Score, lines, share
from inweights.recipes.derived import at_the_end, whole
from inweights.recipes.geometric_memory import paths as ways
from inweights.recipes.geometric_memory.common import PAPER, stating
from inweights.worlds.path_star import PathStar

__all__ = ["RECIPE", "Settings", "Tree"]

#: What is held out: single leaves, or all leaves under some of the root's children.
LEAF, ARM = "leaf", "first token"
KEYS = ["graph", "condition", "split", "seed"]
#: Trained paths that a run has to know (exact match) before its other paths are judged.
KNOWN = 0.95


class Tree(Config):
    """A tree-star and how it is learnt.

    Attributes:
        star: Children of the root as ``arms``, nodes of a path, and the training.
        branches: Children of every other inner node.
    """

    star: ways.PathStarTraining = ways.PathStarTraining(arms=40, nodes=4, paths=750, together=1000)
    branches: int = 2

    @property
    def name(self) -> str:
        """Children of the root, children of other nodes, nodes of a path."""
        return f"({self.star.arms}, {self.branches}, {self.star.nodes})"

    def task(self, split: str) -> PathStar:
        """What is asked with one of the splits."""
        return PathStar(branches=self.branches, split="leaf" if split == LEAF else "arm")


class Settings(Config):
    """Settings of Figure 16.

    Attributes:
        trees: The graphs and how they are learnt.
        every: Steps between two points of the curves.
    """

    trees: tuple[Tree, ...] = (Tree(),)
    every: int = 25


def plan(settings: Settings) -> Plan:
    """Both splits: interleaved, geometry first, and with random embeddings that never move."""
    trials = [
        tree.star.trial(
            {"graph": tree.name, "condition": how, "split": split}, how=how, task=tree.task(split)
        )
        for tree in settings.trees
        for how in (ways.INTERLEAVED, ways.GEOMETRY, ways.RANDOM)
        for split in (LEAF, ARM)
    ]
    return Plan(trials=trials, measures=[ways.curves(every=settings.every), ways.recall()])


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Curves and ends of every run, and the accuracy of every token at the end."""
    panel = pl.format("{}, {}", "graph", "condition")
    runs = whole(tables["paths"]).with_columns(panel=panel)
    places = at_the_end(tables["paths"], KEYS).filter(pl.col("part") == "queries")
    final = at_the_end(runs, KEYS)
    known = pl.when(pl.col("trained") >= KNOWN)
    return {
        "curves": runs,
        "final": final,
        "judged": final.with_columns(
            known.then(name).otherwise(math.nan).alias(name) for name in ("exact", "hardest")
        ),
        "ends": places.filter(pl.col("place") == pl.col("place").max().over("graph")),
        "places": places.with_columns(panel=panel),
    }


state, ours = stating("fig16", "Fig. 16, C.2")

exact = share("judged", "exact").over("graph", "split")
token = exact.of("hardest")


def harder(score: Score) -> Score:
    """By how much the split at the first token is harder than the one at the leaf."""
    interleaved = score.at(condition=ways.INTERLEAVED).over("graph")
    return interleaved.at(split=LEAF) - interleaved.at(split=ARM)


CLAIMS = (
    ours(
        "trained-paths-are-known",
        "Every run knows the paths that it was trained on, so that what it lacks elsewhere is not "
        "for want of training (exact match; a run below .95 leaves the claims below unjudged).",
        share("final", "trained").over("graph", "split", "condition") >= KNOWN,
    ),
    state(
        "non-trivial",
        "Edges and paths interleaved, paths that were never seen are found, whether single leaves "
        "or all leaves of an arm are held out (exact match of greedy decoding; a guess that knows "
        "the graph gets one leaf in all leaves).",
        exact.at(condition=ways.INTERLEAVED) >= 0.1,
        published="non-trivial",
    ),
    state(
        "first-token-split-is-harder",
        "Paths are much harder to find where the first token was never part of a trained path "
        "(exact match, leaf minus first token).",
        harder(exact) >= 0.1,
        published="much harder",
    ),
    state(
        "hardest-token",
        "Their first token, the one that takes planning, is found in both splits (accuracy).",
        token.at(condition=ways.INTERLEAVED) >= 0.1,
        published="non-trivial",
    ),
    state(
        "hardest-token-is-harder",
        "At that token it is the split at the first token that is harder (accuracy, leaf minus "
        "first token).",
        harder(token) >= 0.1,
        published="much harder",
    ),
    ours(
        "sibling-is-said",
        "What the split at the leaf lacks is the leaf itself, though the prompt names it: where a "
        "sibling was trained after the same parent, that one is said (accuracy of the last token, "
        "leaf minus first token).",
        harder(share("ends", "accuracy")) <= -0.1,
    ),
    ours(
        "geometry-first",
        "With edges first and the embeddings then frozen both splits are non-trivial as well "
        "(exact match).",
        exact.at(condition=ways.GEOMETRY) >= 0.1,
    ),
    ours(
        "random-embeddings-fail",
        "With random embeddings, frozen, and all leaves of an arm held out, none is found (exact "
        "match).",
        exact.at(condition=ways.RANDOM, split=ARM).over("graph") <= 0.02,
    ),
)

FIGURES = (
    ways.held_out(
        "exact",
        "curves",
        "Paths through a tree-star, by what was held out",
        "Exact match of greedy decoding on held-out leaves. Split at the leaf: other leaves "
        "below the same nodes were trained. Split at the first token: no path of the arm was.",
        series="split",
        facet="panel",
        columns=3,
    ),
    lines(
        "places",
        "places",
        "Every token of a held-out path at the end",
        "Teacher-forced accuracy by place; 0 is the root, 1 the first node, and the last is "
        "the leaf, which the prompt names.",
        x="place",
        y="accuracy",
        series="split",
        facet="panel",
        y_limits=(0, 1),
        y_label="accuracy, held out",
        columns=3,
    ),
)

RECIPE = PAPER.recipe(
    "fig16",
    title="Paths that branch, found in the weights",
    place="Figure 16, appendix C.2",
    summary=(
        "Trains a Transformer on the edges of a tree-star and on three quarters of its paths, and "
        "asks for the others: leaves whose siblings were trained, or whole arms of which no path "
        "was. Random embeddings that never move are the control."
    ),
    scales={
        "smoke": Settings(trees=(Tree(star=ways.MINI),), every=6),
        "cpu": Settings(),
        "paper": Settings(
            trees=(Tree(star=structs.replace(ways.PAPER_STAR, arms=1000, nodes=5)),), every=500
        ),
    },
    seeds={"smoke": 2, "cpu": 5, "paper": 3},
    plan=plan,
    derive=derive,
    claims=CLAIMS,
    figures=FIGURES,
    ours=(
        "trees.branches",
        "trees.star.arms",
        "trees.star.nodes",
        *ways.unprinted("trees.star"),
        "every",
        "The paper's degrees and path length could not be read. At cpu scale (40, 2, 4): 281 "
        "nodes and 160 leaves, of which 120 train; 4 layers of width 32 and 2 heads, AdamW at "
        "5e-3, weight decay .1; all edges and 32 training paths a step, 1,000 steps, since after "
        "300 trained paths were known to .63 to .83. With 100 arms the hardest token was at 1.0 in "
        "both splits on seeds 0 and 1, where nothing could be harder, and whole paths at .10 to "
        ".14.",
        "Non-trivial: at least a tenth of the paths; the paper names no number. A guess gets 1 in "
        "160.",
        "Geometry first (edges, then paths with the embeddings frozen) and random embeddings are "
        "ours. The claims on single tokens were added once exact match had been seen to fail.",
    ),
)
