"""Figure 3 of Geometric Memory: the hardest token of paths that were never trained."""

from itertools import product
from typing import Any

import polars as pl
from msgspec import structs

import inweights as iw
from inweights.config import check_size
from inweights.config.ranges import PositiveInt
from inweights.experiments import Plan, share
from inweights.recipes.geometric_memory import paths as ways
from inweights.recipes.shared.derived import at_the_end
from inweights.recipes.shared.derived_paths import hardest, whole
from inweights.worlds.families.own_path_star import OwnPathStar
from inweights.worlds.families.path_star import PathStar

FORWARD = "forward edges only"
REVERSE = "reverse path"
#: Controls with frozen embeddings that do not help to find paths.
CONTROLS = (("random", ways.RANDOM), ("permuted", ways.PERMUTED))
#: Conditions in which edges and paths are interleaved, but the task is another one.
TASKS: dict[str, dict[str, Any]] = {
    FORWARD: {"edges": "forward"},
    REVERSE: {"reverse": True},
}
#: What the controls learn nevertheless: the claim, and the column with its accuracy.
MEMORISED = {
    "memorise-paths": "trained",
    "answer-edges": "answered",
    "memorise-edges": "recall",
}
KEYS = ["graph", "condition", "taught", "seed"]


class Settings(iw.Config):
    """Settings of the recipe, with defaults for fields that a scale does not set.

    Values of the scales are in ``fig3.toml``. A value of the wrong type raises a
    ``ConfigError``; :func:`plan` checks most ranges.

    Attributes:
        stars: The path-stars, at least one, each with its training settings. The
            controls use the first one.
        memorising: Number of updates on paths for the controls with frozen embeddings.
            These controls need more updates than the other models to memorise their
            facts.
        every: Number of steps between two points of the curves, at least 1.
        larger: Additional path-stars, on which models are trained only as in the paper,
            with the loss on the full path; by default none.
        own: A path-star of your own. If it is given, it replaces the graph of the first
            of ``stars``, and all other path-stars are left out. If ``None`` (the
            default), the paper's graphs are used.
    """

    later = {"own": None, "larger": ()}

    stars: tuple[ways.PathStarTraining, ...] = ways.STARS
    memorising: int = 900
    every: PositiveInt = 25
    larger: tuple[ways.PathStarTraining, ...] = ()
    own: OwnPathStar | None = None


def plan(settings: Settings) -> Plan:
    """Plan training runs with loss on whole paths or on first tokens, and runs of the controls.

    Args:
        settings: The recipe's settings, such as ``stars``, ``memorising`` and
            ``every``; :class:`Settings` describes each.

    Returns:
        The plan. The label values listed below are those of the default settings.

        - Labels of the trials: ``graph`` (the string ``(arms, nodes per path)``: (200,
          4); (200, 5); (1000, 5)), ``condition`` (``interleaved``: edges and paths
          together; ``geometry first``: edges, then edges and paths with frozen
          embeddings; ``random``: a control with frozen random embeddings;
          ``permuted``: a control like ``geometry first``, but with permuted nodes in
          the edges of the first phase; ``forward edges only``: only edges away from the
          root; ``reverse path``: paths from the leaf to the root), and ``taught``
          (``full path``: loss on all tokens of the path; ``first token``: loss only on
          the first token after the root, the hardest).
        - Measures: ``paths`` (:func:`inweights.probes.path_accuracy`; during training)
          and ``edges`` (:func:`inweights.probes.stepwise` with ``roles=("edge",
          "reverse_edge")``).

    Raises:
        ConfigError: ``stars`` is empty, ``every`` or ``memorising`` is negative, a
            value is out of range for a path-star (such as fewer than 2 arms or 3 nodes
            per path), the model or its training, or the settings of ``own`` contradict
            each other.
        DataError: The edges of ``own`` are ``listed``, and it has no path.
    """
    check_size("the number of stars", len(settings.stars))
    task = settings.own or PathStar()
    stars = settings.stars[:1] if settings.own else settings.stars
    trials = [
        star.trial(
            {"graph": star.name, "condition": how, "taught": loss},
            how=how,
            loss=loss,
            task=task,
        )
        for star, how, loss in product(
            stars, (ways.INTERLEAVED, ways.GEOMETRY), (ways.FULL, ways.FIRST)
        )
    ]
    trials += [
        star.trial(
            {"graph": star.name, "condition": ways.INTERLEAVED, "taught": ways.FULL}
        )
        for star in (() if settings.own else settings.larger)
    ]
    star = settings.stars[0]
    steps = settings.memorising
    about = {"graph": star.name, "taught": ways.FULL}
    slow = structs.replace(star, paths=steps, together=star.edges + steps)
    trials += [
        slow.trial({**about, "condition": how}, how=how, task=task)
        for _, how in CONTROLS
    ]
    trials += [
        star.trial({**about, "condition": name}, task=structs.replace(task, **other))
        for name, other in TASKS.items()
    ]
    return Plan(
        trials=trials, measures=[ways.curves(every=settings.every), ways.recall()]
    )


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return final accuracies, curves for the hardest token, and recall of the training facts.

    Args:
        tables: The tables that result from :func:`plan`, by name. A run is one trial
            with one seed. Both tables have the columns ``graph, condition, taught,
            seed, part, place, accuracy, exact, statements``. Accuracies and recall are
            fractions from 0 to 1.

            - ``paths``, from :func:`inweights.probes.path_accuracy`, with the
              additional columns ``hardest, chance, step``.
            - ``edges``, from :func:`inweights.probes.stepwise`, with the additional
              columns ``role, recall``.

            The labels are ``graph`` (the string ``(arms, nodes per path)``: (200, 4);
            (200, 5); (1000, 5)), ``condition`` (``interleaved``: edges and paths
            together; ``geometry first``: edges, then edges and paths with frozen
            embeddings; ``random``: a control with frozen random embeddings;
            ``permuted``: a control like ``geometry first``, but with permuted nodes in
            the edges of the first phase; ``forward edges only``: only edges away from
            the root; ``reverse path``: paths from the leaf to the root), and ``taught``
            (``full path``: loss on all tokens of the path; ``first token``: loss only
            on the first token after the root, the hardest).

    Returns:
        - ``final``: a row per run at its last step: the accuracies ``hardest`` (on the
          hardest token of held-out paths, which is the first after the root), ``exact``
          (share of held-out paths that are entirely correct), ``easiest_last`` (on the
          last token of held-out paths) and ``trained`` (share of training paths that
          are entirely correct); ``chance``, the accuracy of guessing the hardest token;
          and for edges ``recall`` and ``answered`` (the share of nodes for which the
          most likely answer is correct; null if training uses only one direction).
          Columns: ``graph, condition, taught, seed, step, hardest, exact, easiest_last,
          trained, chance, recall, answered``.
        - ``curves``: a row per run and step of the conditions ``interleaved`` and
          ``geometry first``, with the accuracy on the hardest token of held-out leaves,
          and ``line`` (condition and loss, for the figure). Columns: all columns of
          ``paths``, plus ``line``.
        - ``conditions``: a row per ``condition``, seed and ``what`` (``hardest``,
          ``trained``, ``answered`` or ``recall``), with its ``accuracy``, on the first
          graph with the loss on the full path. Columns: ``condition, seed, what,
          accuracy``.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    curves = hardest(tables["paths"]).with_columns(
        line=pl.format("{}, {}", "condition", "taught")
    )
    main = pl.col("condition").is_in([ways.INTERLEAVED, ways.GEOMETRY])
    right = pl.col("accuracy") * pl.col("statements")
    # The model has one answer per node, which is right for at most one of the node's
    # edges. With edges in both directions every node is a prompt, and a star has one
    # more node than edges.
    both = pl.when(pl.len() == len(ways.EDGES))
    answered = both.then(right.sum() / (pl.col("statements").max() + 1))
    asked = tables["edges"].group_by(KEYS, maintain_order=True)
    edges = asked.agg(pl.col("recall").mean(), answered=answered)
    final = at_the_end(whole(tables["paths"]), KEYS).join(edges, on=KEYS)
    first = pl.col("graph") == pl.col("graph").first()
    conditions = (
        final.filter(first, pl.col("taught") == ways.FULL)
        .unpivot(
            on=["hardest", "trained", "answered", "recall"],
            index=["condition", "seed"],
            variable_name="what",
            value_name="accuracy",
        )
        .drop_nulls("accuracy")
    )
    return {"final": final, "curves": curves.filter(main), "conditions": conditions}


token = share("final", "hardest")
interleaved = token.at(condition=ways.INTERLEAVED)
geometry = token.at(condition=ways.GEOMETRY)

SCORES = {
    "hardest-token": interleaved.at(taught=ways.FULL).over("graph") >= 0.85,
    "first-token-alone": interleaved.at(taught=ways.FIRST).over("graph") >= 0.85,
    "geometry-first": geometry.over("graph", "taught") >= 0.97,
    "random-embeddings-fail": token.at(condition=ways.RANDOM) <= 0.02,
    "permuted-embeddings-fail": token.at(condition=ways.PERMUTED) <= 0.02,
    **{
        f"{name}-{what}": share("final", column, condition=condition) >= 0.95
        for (what, column), (name, condition) in product(MEMORISED.items(), CONTROLS)
    },
    "forward-edges-fail": token.at(condition=FORWARD) <= 0.05,
    "reverse-path": share("final", "exact", condition=REVERSE) >= 0.95,
}
