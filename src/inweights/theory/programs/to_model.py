"""The optimum of program (2) as a model, for use with all probes."""

import numpy as np
import torch

from inweights.models.configs import EmbMLPConfig
from inweights.models.emb_mlp import EmbMLP
from inweights.theory.programs.nuclear_norm import Solution


def to_model(solution: Solution) -> EmbMLP:
    """Return an Emb-MLP of one replica whose templates are the solution's.

    The factors are balanced, ``E = U √S`` and ``W_proj = √S Vᵀ``: of all pairs with this product
    they have the least norm, ``½(‖E‖² + ‖W_proj‖²) = ‖W‖_*``, which is how program (1) becomes
    program (2) (Identity Bridge §4.3). Tokens that are in no prompt have zero embeddings.
    """
    world = solution.program.world
    u, s, v = np.linalg.svd(solution.templates, full_matrices=False)
    model = EmbMLP(
        EmbMLPConfig(width=len(s)),
        vocabulary=len(world.vocabulary),
        replicas=1,
        candidates=world.outputs.tolist(),
    )
    embeddings = np.zeros((len(world.vocabulary), len(s)))
    embeddings[world.inputs] = u * np.sqrt(s)
    with torch.no_grad():
        model.tokens.weight.copy_(torch.from_numpy(embeddings)[None])
        model.projection.weight.copy_(torch.from_numpy(np.sqrt(s)[:, None] * v)[None])
    return model.requires_grad_(False)  # a result, not a start
