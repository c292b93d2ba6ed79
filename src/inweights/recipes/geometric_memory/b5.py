"""Appendix B.5 of Geometric Memory: skew beyond the spectrum, and what its tests distinguish."""

import polars as pl

import inweights as iw
from inweights.experiments import Computation, Measure, Plan, cosine, number
from inweights.recipes.geometric_memory import common as gm
from inweights.recipes.geometric_memory.derived import judged
from inweights.worlds.families.graphs.graph import Graph

RUN = ["graph", "architecture", "seed"]
MODELS = (gm.NODE2VEC, gm.GPT, gm.SSM, gm.NN)
SPECTRUM = "the spectrum itself"
PATH = "path"
TESTS = {
    "heatmap": "heat-map",
    "picture": "3-D picture",
    "probe": "probe of top directions",
    "beyond": "skew beyond the spectrum",
}


class Settings(iw.Config):
    """Settings of the recipe, with defaults for fields that a scale does not set.

    Values of the scales are in ``b5.toml``. A value of the wrong type raises a
    ``ConfigError``; :func:`plan` checks most ranges.

    Attributes:
        graphs: Names of the tiny graphs to use, any of ``path-star``, ``grid``,
            ``cycle`` and ``irregular``.
        architectures: Names of architectures to train, any of ``Node2Vec``,
            ``TinyGPT``, ``TinySSM`` and ``TinyNN``.
        descent: Settings of Node2Vec and its gradient descent.
        most: Maximum number of updates per training run. If ``None`` (the default) or
            0, the paper's number is used.
        path: Number of nodes of the path graph of Remark 4, at least 2.
    """

    graphs: tuple[gm.Shape, ...] = gm.GRAPHS
    architectures: tuple[str, ...] = MODELS
    descent: gm.Node2VecDescent = gm.Node2VecDescent()
    most: int | None = None
    path: int = 12


def plan(settings: Settings) -> Plan:
    """Plan training runs on the tiny graphs, and tests on embeddings with a known geometry.

    Args:
        settings: The recipe's settings, such as ``graphs``, ``architectures`` and
            ``descent``; :class:`Settings` describes each.

    Returns:
        The plan. The label values listed below are those of the default settings.

        - Labels of the trials: ``graph`` (path-star, grid, cycle, irregular),
          ``architecture`` (Node2Vec; TinyGPT; TinySSM: a Mamba; TinyNN), and
          ``condition`` (the code's: the settings of the paper's code).
        - Measure: ``energy`` (:func:`inweights.probes.spectral_energy` with
          ``draws=200``).
        - Computation: ``known`` (:func:`inweights.probes.known_geometries`), for each
          seed, with the label ``graph`` (also ``path``, a path graph of ``path``
          nodes).

    Raises:
        ConfigError: A name in ``architectures`` is unknown, ``most`` is negative,
            ``path`` is below 2, or a value in ``descent`` is out of range.
    """
    worlds: dict[str, Graph] = {shape: Graph(shape=shape) for shape in settings.graphs}
    worlds[PATH] = Graph(shape="path-star", arms=1, nodes=settings.path)
    known = [
        Computation(
            name="known",
            labels={"graph": name},
            compute=iw.probes.known_geometries,
            options={"world": world},
            seeded=True,
            effort=20,
        )
        for name, world in worlds.items()
    ]
    how = (settings.graphs, settings.architectures, settings.most, settings.descent)
    made = gm.trials(*how, conditions=(gm.CODE,))
    energy = Measure(
        name="energy", probe=iw.probes.spectral_energy, options={"draws": 200}
    )
    return Plan(trials=made, measures=[energy], computations=known)


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return the skew towards the first eigenspaces, and the results of tests on known embeddings.

    Args:
        tables: The tables that result from :func:`plan`, by name. A run is one trial
            with one seed. Both tables have the columns ``graph, seed``.

            - ``energy``, from :func:`inweights.probes.spectral_energy`, with the
              additional columns ``architecture, condition, space, eigenvalue, size,
              energy, cumulative, degenerate, null_mean, null_low, null_high``.
            - ``known``, from :func:`inweights.probes.known_geometries`, with the
              additional columns ``embedding, width, neighbours, others, heatmap,
              picture, probe, beyond``.

            The labels are ``graph`` (path-star, grid, cycle, irregular),
            ``architecture`` (Node2Vec; TinyGPT; TinySSM: a Mamba; TinyNN), and
            ``condition`` (``the code's``: trained as in the paper's code).

    Returns:
        The measured tables, restricted to the condition ``the code's`` (the settings of
        the paper's code), without the column ``condition``, and:

        - ``skew``: a row per run, with ``beyond``, the mean of the skew
          (:func:`inweights.probes.skew`) over all eigenspaces except the first,
          weighted by their dimensions. Columns: ``graph, architecture, seed, beyond``.
        - ``profile``: a row per run and eigenspace (``number``, from 1), with the
          columns of :func:`inweights.probes.skew`; the spectrum of the graph has rows
          whose ``architecture`` is ``the spectrum itself``. Columns: ``graph,
          architecture, seed, space, eigenvalue, size, energy, cumulative, degenerate,
          null_mean, null_low, null_high, spectrum, relative, magnitude, beyond,
          number``.
        - ``tests``: a row per graph, known embedding
          (:func:`inweights.probes.known_geometries`), seed and ``test`` (``heat-map``,
          ``3-D picture``, ``probe of top directions``, ``skew beyond the spectrum``),
          with its ``value``. Columns: ``graph, embedding, seed, test, value``.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    tables = judged(tables)
    spaces = iw.probes.skew(tables["energy"], RUN).with_columns(
        number=pl.col("space") + 1
    )
    rest, size = pl.col("space") > 0, pl.col("size")
    mean = (pl.col("beyond") * size).filter(rest).sum() / size.filter(rest).sum()
    one = spaces.filter(pl.col("architecture") == pl.col("architecture").first())
    itself = one.with_columns(
        magnitude=pl.col("spectrum"), architecture=pl.lit(SPECTRUM)
    )
    tests = tables["known"].unpivot(
        on=list(TESTS), index=["graph", "embedding", "seed"], variable_name="test"
    )
    return tables | {
        "skew": spaces.group_by(RUN, maintain_order=True).agg(beyond=mean),
        "profile": pl.concat([itself, spaces]),
        "tests": tests.with_columns(
            pl.col("test").replace_strict(TESTS, return_dtype=pl.String)
        ),
    }


beyond = number("skew", "beyond").over("graph")
by_others = {name: beyond.at(architecture=name) for name in MODELS}
node2vec = by_others.pop(gm.NODE2VEC)
others = number("known", "others").over("graph")
heatmap = cosine("known", "heatmap").over("graph")
picture = cosine("known", "picture")
probe = cosine("known", "probe").over("graph")
skewed = number("known", "beyond").over("graph")

SCORES = {
    "node2vec-beyond-the-spectrum": node2vec >= 0.3,
    **{
        f"{name.lower()}-less-skewed": skew - node2vec <= -0.1
        for name, skew in by_others.items()
    },
    **{
        f"{name.lower()}-beyond-the-spectrum": skew >= 0.0
        for name, skew in by_others.items()
    },
    "hypercube-path-is-local": others.at(embedding="local") <= 1e-9,
    "picture-shows-too-much": picture.at(embedding="local", graph="cycle") >= 0.5,
    "heatmap-shows-too-little": probe.at(embedding="full rank") >= 0.5,
    "skew-tells-them-apart": skewed.at(embedding="global")
    - skewed.at(embedding="local")
    >= 0.3,
    "probe-brings-the-graph": probe.at(embedding="random") >= 0.4,
    "correlation-takes-local-for-global": heatmap.at(embedding="local") >= 0.5,
}
