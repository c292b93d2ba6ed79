"""Convert the optimum of program (2) into a model, for use with all probes.

:func:`to_model` connects :func:`~.nuclear_norm.solve` to :mod:`inweights.probes`.
"""

import numpy as np
import torch

from inweights.models.configs import EmbMLPConfig
from inweights.models.emb_mlp import EmbMLP
from inweights.support.statistics.decompositions import svd
from inweights.theory.programs.nuclear_norm import Solution


def to_model(solution: Solution) -> EmbMLP:
    """Return an Emb-MLP whose logits equal those of a solution of program (2).

    Program (2) of Identity Bridge (§4.3) minimises the nuclear norm of the matrix of
    logits ``W`` subject to a margin of at least 1 for every training fact.

    With the singular value decomposition ``W = U S Vᵀ``, the factors are ``E = U √S``
    and ``W_proj = √S Vᵀ``. Among all pairs with the product ``W``, these minimise
    ``½(‖E‖² + ‖W_proj‖²)``, and the minimum is ``‖W‖_*``. For this reason, program (1)
    of the paper is equivalent to program (2). Tokens that occur in no prompt have zero
    embeddings.

    Args:
        solution: A solution of :func:`~.nuclear_norm.solve`.

    Returns:
        A model of one replica, with one hidden unit for each singular value of ``W``,
        and the outputs of the solution's world as candidates. Its parameters do not
        require gradients.

    Example:
        >>> from inweights.theory import solve
        >>> from inweights.worlds import TwoHop
        >>> model = to_model(solve(TwoHop(n=3, identity=True).build()))
        >>> model.tokens.weight.shape
        torch.Size([1, 11, 6])
    """
    world = solution.program.world
    u, s, v = svd(solution.templates, full_matrices=False)
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
    return model.requires_grad_(False)  # a result, and not the start of training
