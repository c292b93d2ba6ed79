"""Figure 7 of Geometric Memory: a spectral bias without any explicit pressure."""

from functools import partial
from itertools import product

import polars as pl

import inweights as iw
from inweights.config.ranges import PositiveInt
from inweights.experiments import Measure, Plan, number, share
from inweights.models.configs import Node2VecConfig
from inweights.recipes.geometric_memory import common as gm
from inweights.recipes.geometric_memory.derived import top_energy
from inweights.recipes.shared.derived import beside_chance
from inweights.worlds.families.graphs.graph import Graph

#: An eigenspace counts as used if its energy is more than this multiple of the energy
#: expected by chance.
USED = 2.0
#: Number of dimensions of the top eigenspaces of each graph: the single one of the star
#: has three.
_EXPECTED: dict[str, int] = {
    "path-star": 3,
    "grid": 2,
    "cycle": 2,
    "irregular": 2,
}
WIDTH = "width"
SCALE = "initial scale"
MODEL = "model"
PLAIN_GPT = f"{gm.GPT}, ours"


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``fig7.toml``. A value of the wrong type raises a
    ``ConfigError``; :func:`plan` checks most ranges.

    Attributes:
        graphs: Names of the tiny graphs to use, any of ``path-star``, ``grid``,
            ``cycle`` and ``irregular``.
        widths: Widths of Node2Vec, at least 1 (100 in the paper). The graphs have 15 to
            17 nodes.
        stds: Initial scales of Node2Vec, above 0, each used with the paper's width. The
            paper's scale is 1.
        steps: Number of updates of Node2Vec.
        most: Maximum number of updates of TinyGPT. If ``None`` (the default) or 0, the
            paper's number is used.
        draws: Number of random embeddings from which each null distribution is
            estimated.
    """

    graphs: tuple[gm.Shape, ...] = gm.GRAPHS
    widths: tuple[int, ...] = (2, 8, 17, 100, 400)
    stds: tuple[float, ...] = (0.02, 0.3, 1.0)
    steps: int = 10_000
    most: int | None = None
    draws: PositiveInt = 200


def plan(settings: Settings) -> Plan:
    """Plan training runs of Node2Vec at every width and initial scale, and of TinyGPT.

    Args:
        settings: The recipe's settings, such as ``graphs``, ``widths`` and ``stds``;
            :class:`Settings` describes each.

    Returns:
        The plan. The label values listed below are those of the default settings.

        - Labels of the trials: ``graph`` (path-star, grid, cycle, irregular); for
          Node2Vec, ``axis`` (what is varied: ``width`` or ``initial scale``) and
          ``value`` (as a string: 2, 8, 17, 100, 400; 0.02, 0.3, 1.0); for the other
          model, ``architecture`` (TinyGPT) and ``condition`` (the code's, ours).
        - Measures: ``energy`` (:func:`inweights.probes.spectral_energy` with
          ``draws=200``) and ``deeper`` (:func:`inweights.probes.spectral_energy` with
          ``draws=200``; only for TinyGPT).

        ``condition`` is ``the code's`` (the settings of the paper's code), ``the
        code's, bf16`` (the same in emulated bfloat16) or ``ours`` (our own, simpler
        vocabulary and initialisation).

    Raises:
        ConfigError: A width is not between 1 and 65,536, an initial scale is not
            positive, or ``steps`` or ``most`` is negative.
    """
    models = [
        *(
            (WIDTH, str(width), Node2VecConfig(width=width))
            for width in settings.widths
        ),
        *(
            (SCALE, str(std), Node2VecConfig(init=iw.Init(std=std)))
            for std in settings.stds
        ),
    ]
    descent = partial(gm.Node2VecDescent, steps=settings.steps)
    swept = [
        gm.trial(
            descent(model=model),
            Graph(shape=shape),
            graph=shape,
            axis=axis,
            value=value,
        )
        for shape, (axis, value, model) in product(settings.graphs, models)
    ]
    deeper = gm.trials(settings.graphs, (gm.GPT,), settings.most)
    energy = partial(
        Measure, probe=iw.probes.spectral_energy, options={"draws": settings.draws}
    )
    measures = [
        energy(name="energy", where={"axis": WIDTH}),
        energy(name="energy", where={"axis": SCALE}),
        energy(name="deeper", where={"architecture": gm.GPT}),
    ]
    return Plan(trials=[*swept, *deeper], measures=measures)


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return the energy in the top eigenspaces, and the number of dimensions in use.

    Args:
        tables: The tables that result from :func:`plan`, by name. A run is one trial
            with one seed. Both tables have the columns ``graph, seed, space,
            eigenvalue, size, energy, cumulative, degenerate, null_mean, null_low,
            null_high``.

            - ``energy``, from :func:`inweights.probes.spectral_energy`, with the
              additional columns ``axis, value``.
            - ``deeper``, from :func:`inweights.probes.spectral_energy`, with the
              additional columns ``architecture, condition``.

            The labels are ``graph`` (path-star, grid, cycle, irregular); for Node2Vec,
            ``axis`` (what is varied: ``width`` or ``initial scale``) and ``value`` (as
            a string: 2, 8, 17, 100, 400; 0.02, 0.3, 1.0); for the other model,
            ``architecture`` (TinyGPT) and ``condition`` (``the code's``: trained as in
            the paper's code; ``ours``: with a simpler vocabulary and initialisation).

    Returns:
        - ``top``: a row per run: the share of the energy in the first eigenspace
          (``first``) and in the top eigenspaces (``top``, see
          :func:`~.derived.top_energy`), the mean of ``top`` for random vectors
          (``by_chance``), and ``top`` minus the 97.5% quantile for random vectors
          (``beyond_chance``). ``axis`` is ``width``, ``initial scale`` or, for a
          comparison of models, ``model``; ``value`` is the width, the scale, or the
          model (``Node2Vec``, ``TinyGPT``, ``TinyGPT, ours``). Columns: ``graph, axis,
          value, seed, first, top, by_chance, beyond_chance``.
        - ``wide``: the rows of ``top`` in which the width of Node2Vec is at least the
          number of nodes (all widths but 2 and 8). Columns: as in ``top``.
        - ``swept``: the rows of ``top`` whose axis is not ``model``. Columns: as in
          ``top``.
        - ``dimensions``: a row per run: ``dimensions``, the number of dimensions of the
          eigenspaces whose energy is more than :data:`USED` (2) times the energy
          expected by chance, and ``extra``, this number minus the number of dimensions
          of the top eigenspaces. Columns: ``graph, axis, value, seed, dimensions,
          extra``.
        - ``spectra``: a row per run of the axis ``model`` and eigenspace (``number``,
          from 1), and rows of random vectors, whose ``energy`` is the mean of the null
          distribution. Columns: all columns of ``energy``, plus ``number, architecture,
          condition``.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    by = ["graph", "axis", "value"]
    # Node2Vec is the same in all conditions and has no such label; TinyGPT is shown in
    # both.
    coded = pl.col("condition") == gm.CODE
    names = pl.when(coded).then(pl.lit(gm.GPT)).otherwise(pl.lit(PLAIN_GPT))
    energy = tables["energy"]
    place = pl.col("space") + 1
    usual = energy.filter(pl.col("axis") == SCALE, pl.col("value") == "1.0")
    paper = usual.with_columns(
        axis=pl.lit(MODEL), value=pl.lit(gm.NODE2VEC), number=place
    )
    deeper = tables["deeper"].with_columns(
        axis=pl.lit(MODEL), value=names, number=place
    )
    both = pl.concat([paper, deeper], how="diagonal_relaxed")
    whole = pl.concat([energy, both], how="diagonal_relaxed")
    used = (
        pl.when(pl.col("energy") > USED * pl.col("null_mean"))
        .then(pl.col("size"))
        .otherwise(0)
    )
    expected = pl.col("graph").replace_strict(_EXPECTED, return_dtype=pl.Float64)
    spaces = whole.group_by([*by, "seed"], maintain_order=True)
    dimensions = spaces.agg(dimensions=used.sum().cast(pl.Float64))
    top = top_energy(whole, by)
    return {
        "top": top,
        # Only widths that are at least the number of nodes.
        "wide": top.filter(pl.col("axis") == WIDTH, ~pl.col("value").is_in(["2", "8"])),
        "swept": top.filter(pl.col("axis") != MODEL),
        "dimensions": dimensions.with_columns(extra=pl.col("dimensions") - expected),
        "spectra": beside_chance(
            both, "energy", "null_mean", label="value", name="random vectors"
        ),
    }


top = share("top", "top")
node2vec, gpt = (
    top.at(axis=MODEL, value=name).over("graph") for name in (gm.NODE2VEC, gm.GPT)
)
dimensions = number("dimensions", "dimensions", axis=MODEL, value=gm.NODE2VEC)

SCORES = {
    "top-eigenspaces": node2vec >= 0.85,
    "two-on-the-cycle": dimensions.at(graph="cycle").within(2.0, 2.0),
    "few-everywhere": dimensions.of("extra").over("graph").within(0.0, 0.0),
    "width-does-not-matter": share("wide", "top").over("graph", "value") >= 0.85,
    "scale-does-not-matter": share("swept", "top", axis=SCALE).over("graph", "value")
    >= 0.85,
    "deeper-models-less": gpt - node2vec <= -0.1,
}
