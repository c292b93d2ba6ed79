"""Appendix B.5 of Geometric Memory: skew beyond the spectrum, and what its tests can tell apart."""

from __future__ import annotations

import polars as pl

import inweights as iw
from inweights.config import Config
from inweights.lab import Computation, Measure, Plan, cosine, lines, number, sweeps
from inweights.recipes.geometric_memory import common as gm
from inweights.recipes.geometric_memory.derived import judged
from inweights.worlds.graph import Graph

__all__ = ["RECIPE", "Settings"]

RUN = ["graph", "architecture", "seed"]
MODELS = (gm.NODE2VEC, gm.GPT, gm.SSM, gm.NN)
SPECTRUM, PATH = "the spectrum itself", "path"
TESTS = {
    "heatmap": "heat-map",
    "picture": "3-D picture",
    "probe": "probe of top directions",
    "beyond": "skew beyond the spectrum",
}


class Settings(Config):
    """Settings of B.5.

    Attributes:
        graphs: Which of the four graphs.
        architectures: Which architectures.
        descent: How Node2Vec descends.
        most: Trains no longer than so many steps; the paper's own if left out.
        path: Nodes of the path graph of Remark 4.
    """

    graphs: tuple[gm.Shape, ...] = gm.GRAPHS
    architectures: tuple[str, ...] = MODELS
    descent: gm.Node2VecDescent = gm.Node2VecDescent()
    most: int | None = None
    path: int = 12


def plan(settings: Settings) -> Plan:
    """Energy of trained embeddings; every test on embeddings whose geometry is known."""
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
    made = gm.trials(
        settings.graphs,
        settings.architectures,
        settings.most,
        settings.descent,
        conditions=(gm.CODE,),
    )
    energy = Measure(name="energy", probe=iw.probes.spectral_energy, options={"draws": 200})
    return Plan(trials=made, measures=[energy], computations=known)


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Magnitudes beside the spectrum, their mean distance over dimensions, and tests as rows."""
    tables = judged(tables)
    spaces = iw.probes.skew(tables["energy"], RUN).with_columns(number=pl.col("space") + 1)
    rest, size = pl.col("space") > 0, pl.col("size")
    mean = (pl.col("beyond") * size).filter(rest).sum() / size.filter(rest).sum()
    one = spaces.filter(pl.col("architecture") == pl.col("architecture").first())
    itself = one.with_columns(magnitude=pl.col("spectrum"), architecture=pl.lit(SPECTRUM))
    tests = tables["known"].unpivot(
        on=list(TESTS), index=["graph", "embedding", "seed"], variable_name="test"
    )
    return tables | {
        "skew": spaces.group_by(RUN, maintain_order=True).agg(beyond=mean),
        "profile": pl.concat([itself, spaces]),
        "tests": tests.with_columns(pl.col("test").replace_strict(TESTS, return_dtype=pl.String)),
    }


state, ours = gm.stating("b5", "B.5")

beyond = number("skew", "beyond").over("graph")
others = number("known", "others").over("graph")
heatmap, picture = cosine("known", "heatmap").over("graph"), cosine("known", "picture")
probe, skewed = cosine("known", "probe").over("graph"), number("known", "beyond").over("graph")

CLAIMS = (
    state(
        "node2vec-beyond-the-spectrum",
        "Node2Vec is skewed further towards the top directions than the eigenvalues themselves: "
        "λi/λ1 minus the magnitude of its projections, mean over directions.",
        beyond.at(architecture=gm.NODE2VEC) >= 0.3,
        place="B.5 (3), Fig. 7, footnote 9",
        condition=gm.CODE,
    ),
    *(
        state(
            f"{name.lower()}-less-skewed",
            f"{name}, which is deeper, is less skewed (same mean, minus Node2Vec's).",
            beyond.at(architecture=name) - beyond.at(architecture=gm.NODE2VEC) <= -0.1,
            place="Footnote 7",
            condition=gm.CODE,
        )
        for name in MODELS[1:]
    ),
    *(
        ours(
            f"{name.lower()}-beyond-the-spectrum",
            f"{name} is skewed beyond the spectrum as well (same mean).",
            beyond.at(architecture=name) >= 0.0,
            place="B.5 (3), footnote 9",
            condition=gm.CODE,
        )
        for name in MODELS[1:]
    ),
    state(
        "hypercube-path-is-local",
        "Along the edges of a hypercube a node is close to its neighbours alone: largest |cosine| "
        "further off.",
        others.at(embedding="local") <= 1e-9,
        place="Remark 4",
        check=True,
    ),
    state(
        "picture-shows-too-much",
        "A picture in three dimensions shows such a local geometry as a global one: Spearman of "
        "distance against hops, on the cycle.",
        picture.at(embedding="local", graph="cycle") >= 0.5,
        place="Remark 4, B.5 (1)",
    ),
    state(
        "heatmap-shows-too-little",
        "A heat-map shows a full-rank factorisation of the adjacency as spikes at one hop, where a "
        "probe of the top directions still reads the distance (−Spearman).",
        probe.at(embedding="full rank") >= 0.5,
        place="Remark 4, B.5 (2)",
    ),
    state(
        "skew-tells-them-apart",
        "Skew beyond the spectrum tells global from local (its mean, global minus local).",
        skewed.at(embedding="global") - skewed.at(embedding="local") >= 0.3,
        place="Remark 4, B.5 (3)",
    ),
    ours(
        "probe-brings-the-graph",
        "A probe of the graph's own top directions reads the distance off random vectors, too: "
        "it brings the graph with it (−Spearman).",
        probe.at(embedding="random") >= 0.4,
        place="B.5 (2)",
    ),
    ours(
        "correlation-takes-local-for-global",
        "Spearman over all pairs takes a purely local geometry for a global one, since neighbours "
        "come first and all others tie (−ρ of cosine against hops).",
        heatmap.at(embedding="local") >= 0.5,
        place="B.5",
    ),
)

FIGURES = (
    lines(
        "profile",
        "profile",
        "Length of projections on the graph's eigenspaces, beside the eigenvalues",
        "Magnitudes a dimension, relative to the Fiedler space; the spectrum is |λi/λ1| of the "
        "walk. Below it: skewed beyond the spectrum towards the top. What factorises the adjacency "
        "exactly lies above it, at its root. At the rough end TinyNN is far above: the zigzag.",
        x="number",
        y="magnitude",
        series="architecture",
        facet="graph",
        order=(SPECTRUM, *MODELS),
        x_label="eigenspace",
        y_label="relative magnitude",
        columns=2,
    ),
    sweeps(
        "tests",
        "tests",
        "Four tests on embeddings whose geometry is known",
        "Local: rows of the incidence matrix, the hypercube path of Remark 4. Full rank: a "
        "factorisation of A + cI. Global: eigenvectors of the top spaces. The heat-map's "
        "correlation is high for the local one, and the probe's for random vectors; the skew alone "
        "is high for the global ones alone.",
        axis="test",
        value="embedding",
        y="value",
        series="graph",
        y_label="−ρ, or skew",
        columns=4,
        order=tuple(TESTS.values()),
    ),
)

RECIPE = gm.PAPER.recipe(
    "b5",
    title="Local or global: what each test can tell",
    place="Appendix B.5, Remark 4, Figure 7, footnotes 7 and 9",
    summary=(
        "Holds the embeddings' energy in every direction of the graph against the eigenvalues "
        "themselves, for Node2Vec and the deep models, and tries the tests of B.5 on embeddings "
        "that are local, global, a full-rank factorisation or random by construction."
    ),
    scales={
        "smoke": Settings(graphs=("cycle",), descent=gm.Node2VecDescent(steps=40), most=3),
        "cpu": Settings(most=2500),
        "paper": Settings(),
    },
    seeds={"smoke": 2, "cpu": 8, "paper": 16},
    plan=plan,
    derive=derive,
    claims=CLAIMS,
    figures=FIGURES,
    ours=(
        "most",
        "path",
        *gm.OURS,
        gm.OURS_SSM,
        "At most 2,500 steps at cpu scale, which cuts TinyNN on the cycle alone.",
        "λi of the ratio λi/λ1 is the walk's own eigenvalue, 1 + λ/2 of P + Pᵀ − 2I, as that of "
        "the negative Laplacian is 0 for the top direction and grows downwards.",
    ),
)
