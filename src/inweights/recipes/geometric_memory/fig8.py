"""Figure 8 of Geometric Memory: the directions that Node2Vec keeps are the null space of C."""

from functools import partial

import polars as pl

import inweights as iw
from inweights.config.ranges import NonNegativeInt
from inweights.experiments import (
    Computation,
    Measure,
    Plan,
    Trial,
    computed,
    cosine,
    number,
    share,
)
from inweights.recipes.geometric_memory import common as gm
from inweights.recipes.shared.derived import at_the_end
from inweights.theory.feature_resemblance.stabilisation import by_space, propositions
from inweights.worlds.families.graphs.graph import Graph

#: Number of eigenspaces in the figures, beginning with the smoothest.
SHOWN = 5


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``fig8.toml``. A value of the wrong type raises a
    ``ConfigError``; :func:`plan` checks most ranges.

    Attributes:
        graphs: Names of the tiny graphs to use, any of ``path-star``, ``grid``,
            ``cycle`` and ``irregular``.
        descent: Settings of Node2Vec and its gradient descent. The width of Node2Vec
            should be larger than the number of nodes of every graph.
        moments: Steps after which the matrices are measured, in addition to the last
            step.
        long: Number of updates of a longer descent, for Remark 6; by default ten times
            the usual number.
        nodes: Number of nodes of the cycle on which a model is trained by autograd, at
            least 3.
    """

    graphs: tuple[gm.Shape, ...] = gm.GRAPHS
    descent: gm.Node2VecDescent = gm.Node2VecDescent()
    moments: tuple[NonNegativeInt, ...] = (
        0,
        10,
        20,
        50,
        100,
        200,
        500,
        1000,
        2000,
        5000,
    )
    long: int = 100_000
    nodes: int = 15


def plan(settings: Settings) -> Plan:
    """Plan gradient descent of Node2Vec on every graph in closed form, and on a cycle by autograd.

    During a descent, three matrices are measured (Geometric Memory, F.2): C, the
    coefficients with which the vectors are updated; S, the softmax of the products of
    the vectors; and V, the vectors.

    Args:
        settings: The recipe's settings, such as ``graphs``, ``descent`` and
            ``moments``; :class:`Settings` describes each.

    Returns:
        The plan. The label values listed below are those of the default settings.

        - Label of the trial: ``graph`` (cycle). The model is trained by autograd.
        - Measure: ``autograd`` (:func:`inweights.probes.dynamics.off_descent`), the
          distance of this descent from the one in closed form.
        - Computations, with the label ``graph`` (path-star, grid, cycle, irregular),
          for each seed: ``spaces`` (energy by eigenspace, at the ``moments``),
          ``moments`` (the quantities of the propositions, at the ``moments``) and
          ``long`` (the same quantities at the end of a descent of ``long`` updates),
          all computed by :func:`inweights.probes.dynamics.along_descent`.

    Raises:
        ConfigError: ``nodes`` is below 3, ``long`` is negative, or a value in
            ``descent`` is out of range.
    """
    from inweights.probes.dynamics import along_descent, off_descent

    how = settings.descent
    computations = []
    for shape in settings.graphs:
        fixed = {"world": Graph(shape=shape), "model": how.model}
        short = {**fixed, "descent": how.learner, "record": settings.moments}
        # Remark 6 is about the limit. A descent that is ten times as long shows what
        # still changes after the usual one.
        long = {
            **fixed,
            "descent": gm.Node2VecDescent(rate=how.rate, steps=settings.long).learner,
        }
        proven = {"look": propositions, "spaces": gm.TOP[shape]}
        look = partial(
            Computation, labels={"graph": shape}, compute=along_descent, seeded=True
        )
        computations += [
            look(name="spaces", options={**short, "look": by_space}, effort=how.steps),
            look(name="moments", options={**short, **proven}, effort=1),
            look(name="long", options={**long, **proven}, effort=settings.long),
        ]
    # Training averages the loss over the facts, which is Node2Vec's sum over the nodes
    # divided by their number. The rate is multiplied to compensate for that.
    optimizer = iw.Optimizer(
        kind="sgd", rate=how.rate * settings.nodes, weight_decay=0.0
    )
    trained = Trial(
        labels={"graph": "cycle"},
        world=Graph(shape="cycle", n=settings.nodes),
        model=how.model,
        learner=iw.Curriculum(phases=(iw.Phase(steps=how.steps, optimizer=optimizer),)),
    )
    options = {"rate": how.rate, "steps": how.steps}
    measures = [Measure(name="autograd", probe=off_descent, options=options)]
    return Plan(trials=[trained], measures=measures, computations=computations)


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return first, last and extreme values of the measured quantities, and their curves.

    Most columns are explained at
    :func:`inweights.theory.feature_resemblance.stabilisation.propositions` and, for
    ``curves``, at ``by_space`` in the same module.

    Args:
        tables: The tables that result from :func:`plan`, by name. All tables have the
            columns ``graph, seed``.

            - ``autograd``, from :func:`inweights.probes.dynamics.off_descent`, with the
              additional columns ``distance, travelled``.
            - ``spaces``, from :func:`inweights.probes.dynamics.along_descent`, with the
              additional columns ``step, space, size, coefficient, energy, length``.
            - ``moments``, from :func:`inweights.probes.dynamics.along_descent`, with
              the additional columns ``step, loss, outside_c, outside_s, outside_v,
              outside_random, s_low, s_high, s_trace, walk_low, walk_high, …``.
            - ``long``, from :func:`inweights.probes.dynamics.along_descent`, with the
              additional columns ``step, loss, outside_c, outside_s, outside_v,
              outside_random, s_low, s_high, s_trace, walk_low, walk_high, …``.

            The label ``graph`` is ``path-star``, ``grid``, ``cycle`` or ``irregular``.

    Returns:
        - ``ends``: a row per graph and seed at the last step. Columns: ``graph, seed,
          step, loss, outside_c, outside_s, outside_v, outside_random, s_low, s_high,
          s_trace, walk_low, walk_high, c_top, c_second, null_size, null_gap,
          null_angle, top, degenerate, norm, change``.
        - ``starts``: the same columns at step 0. Columns: as in ``ends``.
        - ``extremes``: a row per graph and seed: the smallest ``s_low`` and
          ``walk_low``, and the largest value of each other column, over the measured
          steps. Columns: ``graph, seed, s_low, walk_low, s_high, s_trace, walk_high,
          c_top, c_second, outside_c, outside_v``.
        - ``curves``: a row per graph, seed, step (except 0) and eigenspace (the first
          five and the degenerate direction), with its ``name``. Columns: all columns of
          ``spaces``, plus ``name``.
        - ``shares``: a row per graph, seed, step (except 0) and ``matrix``
          (``outside_c``, ``outside_s``, ``outside_v``, ``outside_random``), with the
          ``share`` of this matrix that is outside the eigenspaces. Columns: ``graph,
          seed, step, matrix, share``.
        - ``rest``: a row per graph and seed at the last step, with ``ratio``, the gap
          above the null space (``null_gap``) divided by the largest eigenvalue within
          it (``null_size``). Columns: ``graph, seed, ratio``.
        - ``longer``: a row per graph and seed: the columns of ``ends`` at the end of
          the descent of ``long`` updates, the values of ``degenerate`` and ``norm`` at
          the end of the usual descent (``degenerate_before`` and ``norm_before``),
          ``share`` (increase of ``degenerate``) and ``growth`` (relative increase of
          the norm). Columns: ``graph, seed, step, loss, outside_c, outside_s,
          outside_v, outside_random, s_low, s_high, s_trace, walk_low, walk_high, c_top,
          c_second, null_size, null_gap, null_angle, top, degenerate, norm, change,
          degenerate_before, norm_before, share, growth``.
        - ``uneven``: ``longer`` without the cycle. Columns: as in ``longer``.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    moments = tables["moments"]
    by = ["graph", "seed"]
    ends = at_the_end(moments, by)
    extremes = moments.group_by(by, maintain_order=True).agg(
        pl.col("s_low", "walk_low").min(),
        pl.col("s_high", "s_trace", "walk_high", "c_top", "c_second").max(),
        pl.col("outside_c", "outside_v").max(),
    )
    spaces = tables["spaces"].filter(pl.col("space") < SHOWN, pl.col("step") > 0)
    degenerate = pl.when(pl.col("space") < 0).then(pl.lit("degenerate"))
    name = degenerate.otherwise(pl.format("space {}", pl.col("space") + 1))
    shares = moments.filter(pl.col("step") > 0).unpivot(
        on=["outside_c", "outside_s", "outside_v", "outside_random"],
        index=[*by, "step"],
        variable_name="matrix",
        value_name="share",
    )
    rest = ends.select(*by, ratio=pl.col("null_gap") / pl.col("null_size"))
    before = ends.select(*by, "degenerate", "norm")
    longer = tables["long"].join(before, on=by, how="left", suffix="_before")
    longer = longer.with_columns(
        share=pl.col("degenerate") - pl.col("degenerate_before"),
        growth=pl.col("norm") / pl.col("norm_before") - 1,
    )
    return {
        "ends": ends,
        "starts": moments.filter(pl.col("step") == 0),
        "extremes": extremes,
        "curves": spaces.with_columns(name=name),
        "shares": shares,
        "rest": rest,
        "longer": longer,
        "uneven": longer.filter(pl.col("graph") != "cycle"),
    }


at_end = number("ends", "change").over("graph")
share_at_end = share("ends", "top").over("graph")
ever = number("extremes", "c_top").over("graph")
share_ever = share("extremes", "outside_c").over("graph")
proven = computed("extremes", "s_high").over("graph")

SCORES = {
    "lemma-1": number("autograd", "distance") <= 1e-3,
    "columns-span-fiedler": share_at_end.of("top") >= 0.9,
    "null-space-vanishes": at_end.of("null_size") <= 0.01,
    "null-space-stands-apart": number("rest", "ratio").over("graph") >= 5.0,
    "null-space-is-fiedler": share_at_end.of("null_angle") <= 0.2,
    "null-space-exact-on-cycle": share("ends", "null_angle", graph="cycle") <= 1e-3,
    "gradient-vanishes": at_end.of("change") <= 0.005,
    "converges": number("longer", "growth").over("graph") <= 0.01,
    "starts-as-laplacian": number("starts", "s_low").over("graph") >= 0.99,
    "c-keeps-eigenvectors": share_ever.of("outside_c") <= 0.1,
    "v-keeps-eigenvectors": share_ever.of("outside_v") <= 0.1,
    "v-ends-with-eigenvectors": share_at_end.of("outside_v") <= 0.1,
    "softmax-at-most-one": proven.of("s_high") <= 1.0 + 1e-6,
    "softmax-at-least-zero": proven.of("s_low") >= -1e-6,
    "softmax-trace": proven.of("s_trace") <= 1.0,
    "walk-at-most-zero": proven.of("walk_high") <= 0.1,
    "walk-at-least-minus-four": proven.of("walk_low") >= -4.1,
    "c-strictly-negative": ever.of("c_second") <= 0.0,
    "c-about-negative": ever.of("c_second") <= 0.01,
    "degenerate-about-zero": ever.of("c_top") <= 0.1,
    "longer-gets-degenerate": cosine("uneven", "share").over("graph") >= 0.05,
    "cycle-does-not": cosine("longer", "share", graph="cycle").within(-0.001, 0.001),
}
