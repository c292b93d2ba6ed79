"""Measure how composition depends on the number of relations, with 8 seeds."""

import polars as pl

import inweights as iw

table = iw.sweep(
    world=iw.TwoHop(n=8),
    model=iw.GPTConfig(layers=2, width=32, heads=4, tied=False),
    over={"world.complexity": [1, 2, 4]},  # number of first relations, and of objects
    seeds=8,
)

composed = table.filter(role="composition")
cells = composed.group_by("complexity", maintain_order=True)
print(cells.agg(pl.col("accuracy", "chance").mean()))

figure = iw.report.plot(composed, x_label="first relations of a subject")
figure.savefig("composition.png")
