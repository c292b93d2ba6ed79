"""Sweep over learning rates, store the models, and open the best one."""

import polars as pl

import inweights as iw

study = iw.Study(
    world=iw.TwoHop(n=6),
    model=iw.GPTConfig(layers=1, width=32),
    learner=iw.learners.two_hop(width=32, steps=150),
    over={"learner.phases.0.optimizer.rate": [3e-4, 1e-3, 3e-3, 1e-2]},
    seeds=4,
)
print(study.forecast())
table = study.run(keep_models=True)  # all rates and seeds train as one tensor program

figure = iw.report.plot(table, facet="role")
figure.savefig("rates.png")

facts = table.filter(part="facts").group_by("rate").agg(pl.col("accuracy").mean())
best = facts.sort("accuracy")["rate"][-1]
for kept in study.models(rate=best, seed=0):
    print(kept, iw.probes.margins(kept.model, kept.world))
