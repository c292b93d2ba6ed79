"""Figures 2, 10 and 11 of Geometric Memory: the path-star task, in weights and in context."""

import polars as pl

import inweights as iw
from inweights.config.ranges import PositiveInt
from inweights.experiments import Computation, Plan, computed
from inweights.theory.geometric_memory.star_picture import star_design, star_picture
from inweights.worlds.families.in_context import InContextStar
from inweights.worlds.families.path_star import PathStar

IN_WEIGHTS = "in weights"
IN_CONTEXT = "in context"


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``fig2_10_11.toml``. A value of the wrong type raises
    a ``ConfigError``; ranges are checked when the recipe is run.

    Attributes:
        star: Config of the in-weights task, in which all examples are about one graph.
        context: Config of the in-context task, in which each prompt is about a new
            graph.
        examples: Number of training examples of the in-context task shown in the
            figure.
    """

    star: PathStar = PathStar(
        arms=5,
        nodes=5,
        pauses=1,
        task_tokens=True,
    )
    context: InContextStar = InContextStar(
        arms=3, nodes=4, labels=20, trained=1000, asked=200
    )
    examples: PositiveInt = 2


def plan(settings: Settings) -> Plan:
    """Plan pictures and statistics of the in-weights and in-context tasks, without training.

    Values that are out of range raise an error when ``star`` or ``context`` is created,
    not here.

    Args:
        settings: The recipe's settings, such as ``star``, ``context`` and ``examples``;
            :class:`Settings` describes each.

    Returns:
        The plan, with two computations. The label values listed below are those of the
        default settings.

        - ``stars``
          (:func:`~inweights.theory.geometric_memory.star_picture.star_picture`), with
          the label ``task`` (in weights, in context).
        - ``design``
          (:func:`~inweights.theory.geometric_memory.star_picture.star_design`), with
          the labels ``task`` and ``arms`` (5, 3).
    """
    worlds: dict[str, PathStar | InContextStar] = {
        IN_WEIGHTS: settings.star,
        IN_CONTEXT: settings.context,
    }
    pictures = [
        Computation(
            name="stars",
            labels={"task": task},
            compute=star_picture,
            options={"world": world, "examples": settings.examples},
            effort=10,
        )
        for task, world in worlds.items()
    ]
    designs = [
        Computation(
            name="design",
            labels={"task": task, "arms": world.arms},
            compute=star_design,
            options={"world": world},
            effort=10,
        )
        for task, world in worlds.items()
    ]
    return Plan(computations=[*pictures, *designs])


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return statistics of each task, such as the number of possible first nodes per arm.

    Args:
        tables: The tables that result from :func:`plan`, by name. Both tables have the
            columns ``task, seed``.

            - ``stars``, from
              :func:`~inweights.theory.geometric_memory.star_picture.star_picture`, with
              the additional columns ``panel, note, arm, depth, kind, node, x, y``.
            - ``design``, from
              :func:`~inweights.theory.geometric_memory.star_picture.star_design`, with
              the additional columns ``arms, told, edges, first, later``.

    Returns:
        ``task``: the table ``design``, a row per task, with ``choices``, the number of
        first nodes (``first``) divided by the number of arms.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    choices = pl.col("first") / pl.col("arms")
    return {"task": tables["design"].with_columns(choices=choices)}


SCORES = {
    "no-asked-path-is-told": computed("task", "told").over("task") <= 0.0,
    "every-edge-is-told": computed("task", "edges").over("task") >= 1.0,
    "first-is-a-guess-of-arms": computed("task", "choices")
    .over("task")
    .within(1.0, 1.0),
    "later-follow": computed("task", "later").over("task") <= 1.0,
}
