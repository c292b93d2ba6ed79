"""Drawings that the recipes of the tiny graphs share, each a kind with its axes filled in."""

from __future__ import annotations

from functools import partial

from inweights.lab import figure as draw

__all__ = ["by_condition", "by_hops", "cosine_matrices", "course", "on_graphs", "spectra"]

#: A number of every graph and architecture, one panel a graph.
on_graphs = partial(draw.sweeps, axis="graph", value="architecture", columns=4)
#: What becomes of the graphs through training, on a logarithmic axis.
course = partial(draw.lines, x="step", facet="graph", x_log=True, x_label="step", columns=2)
#: What the condition makes of the geometry.
by_condition = partial(
    on_graphs,
    "conditions",
    "conditions",
    "What the settings of the paper's code make of the geometry",
    "Spearman of cosine against hops at the end of training. The code has nine more classes, which "
    "no edge uses, a token [EDGE] before each node, TinyGPT's positions from N(0, 1), and rates of "
    "TinyGPT and TinyNN that fall to a tenth, but TinyNN's on the cycle; ours has none of these, "
    "and TinyGPT's rate falls to 0. Claims are judged under the code's condition, in bfloat16 "
    "where that is drawn.",
    y="spearman",
    series="condition",
    y_label="Spearman ρ",
    y_limits=(-1, 0.4),
)
#: Mean cosine of pairs by their distance.
by_hops = partial(
    draw.lines,
    x="hops",
    y="cosine",
    series="architecture",
    facet="graph",
    x_label="hops",
    y_label="mean cosine",
    columns=2,
)
#: Energy by eigenspace, from the smoothest to the roughest.
spectra = partial(
    draw.lines, x="number", y="energy", x_label="eigenspace", y_label="share of the energy"
)
#: Cosine of every two nodes.
cosine_matrices = partial(
    draw.heatmaps, row="source", column="target", value="cosine", value_label="cosine", limit=1.0
)
