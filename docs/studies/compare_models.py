"""Compare models with and without identities by CKA and activation patching."""

import polars as pl
import torch

import inweights as iw

world, seeds = iw.TwoHop(n=10).build(), [0, 1, 2, 3]
config, models = iw.GPTConfig(layers=2, width=32), {}
for name, roles in (("with", {}), ("without", {"first_hop": 1.0, "second_hop": 1.0})):
    models[name] = config.build(vocabulary=len(world.vocabulary), seeds=seeds)
    learner = iw.learners.two_hop(width=32, roles=roles)
    iw.train(models[name], world, learner, seeds=seeds)
    print(name, iw.probes.accuracy(models[name], world))

queries = torch.tensor([query.prompt for query in world.queries])
one, other = (model.hidden(queries) for model in models.values())
print({layer: iw.probes.cka(one[layer], other[layer]) for layer in one})

effects = []  # of states of each model, patched into the model with identities
for name, donor in models.items():
    table = iw.probes.activation_patching(models["with"], world, donor=donor)
    effects.append(table.with_columns(pl.lit(name).alias("donor")))
picture = {"row": "layer", "column": "position", "value": "effect", "panel": "donor"}
iw.plot("heatmaps", pl.concat(effects), **picture).savefig("patched.png")
