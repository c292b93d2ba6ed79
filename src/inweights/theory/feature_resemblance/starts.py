"""Measure the distribution of random initialisations: lemmas 3 to 5 and 17 of Feature Resemblance.

:func:`one_layer_start` tests the one-layer transformer, and :func:`deep_start` the deep
linear network. Recipes test whether all values stay below the bounds.

In ``d`` dimensions, Gaussian vectors ``N(0, σ²)`` have squared lengths near ``σ²d``,
and inner products of the order of ``σ² √d``. The bounds are missing in our copy of the
paper. Those used here follow from Bernstein's inequality, on which its proofs rely,
with the usual constants.
"""

import math

import numpy as np
import polars as pl

from inweights.config import check_size
from inweights.errors import ConfigError
from inweights.models.configs import OneLayerConfig
from inweights.models.configs.model_config import Init
from inweights.seeds import INITIALISATION, Streams
from inweights.worlds.arrays import Reals
from inweights.worlds.registry import WorldConfig


def one_layer_start(
    world: WorldConfig,
    *,
    width: int = 512,
    hidden: int = 10,
    std: float = 1e-3,
    delta: float = 0.01,
    seed: int = 0,
) -> pl.DataFrame:
    """Compare the initialisation of a one-layer transformer with lemmas 3, 4 and 5.

    These lemmas of Feature Resemblance concern the lengths and inner products of
    initial vectors.

    Args:
        world: Config of a world. Each of its tokens has a vector ``W_V e``, and each of
            its answers has ``m`` vectors ``w``.
        width: Width ``d`` of the model, at least the number of tokens.
        hidden: Width ``m`` of the MLP.
        std: Standard deviation ``σ0`` of the initial entries, above 0 and at most
            65,536.
        delta: Probability ``δ`` with which a bound may fail, above 0 and below 1.
        seed: Root seed of the world and the initialisation.

    Returns:
        Two rows. The column ``vectors`` is ``w`` for the vectors of the MLP (lemma 3),
        and ``W_V e`` for the value vectors of tokens (lemma 4, or 5 for two hops), whose
        products with ``w`` are included. ``length`` is the largest relative
        difference between ``‖x‖²`` and ``σ0² d``; ``product`` is the largest ``|⟨x,
        y⟩|`` of two vectors, divided by ``2 σ0² √(d log(M²/δ))`` for ``M`` vectors.

    Raises:
        ConfigError: ``width`` is below the number of tokens, ``hidden``, ``std`` or
            ``delta`` is out of range, or ``seed`` is not between 0 and 2**63 - 1.

    Example:
        >>> from inweights.worlds import Analogy
        >>> table = one_layer_start(Analogy(n=5))
        >>> bool((table["length"] < 0.5).all() and (table["product"] < 1).all())
        True
    """
    check_size("std", std, above=0)
    _check_delta(delta)
    config = OneLayerConfig(
        width=width,
        hidden=hidden,
        mlp="linear",
        init=Init(std=std),
    )
    built = world.build(seed)
    tokens = len(built.vocabulary)
    model = config.build(
        vocabulary=tokens, seeds=[seed], candidates=built.outputs.tolist()
    ).double()
    w = model.mlp.weight.detach().numpy().reshape(-1, width)
    both = np.concatenate([model.attention.value[0].detach().numpy(), w])
    bound = 2 * std**2 * math.sqrt(width * math.log(len(both) ** 2 / delta))
    rows = []
    for name, vectors, others in (("w", w, w), ("W_V e", both[:tokens], both)):
        lengths, product = _spread(vectors, others)
        length = float(np.abs(lengths / (std**2 * width) - 1).max())
        rows.append({"vectors": name, "length": length, "product": product / bound})
    return pl.DataFrame(rows)


def deep_start(
    *,
    width: int = 1024,
    layers: int = 7,
    labels: int = 50,
    delta: float = 0.01,
    seed: int = 0,
) -> pl.DataFrame:
    """Compare the initialisation of a deep linear network with lemma 17 of Feature Resemblance.

    The direction of a label ``k`` after layer ``l`` is the label's row of the readout,
    multiplied by the matrices of the ``s`` layers above: ``u_k = a_kᵀ W_L ⋯ W_{l+1}``.
    All entries are drawn from ``N(0, 1/d)``. The inner product of two such directions
    has the variance ``(s + 1)/d``.

    Args:
        width: Width ``d`` of all layers.
        layers: Number ``L`` of layers.
        labels: Number ``K`` of labels, at least 2.
        delta: Probability ``δ`` with which a bound may fail, above 0 and below 1.
        seed: Root seed of the initialisation.

    Returns:
        ``L + 1`` rows, with the columns ``above``, the number ``s`` of layers above
        (from 0 to ``L``); ``length``, the largest absolute difference between a squared
        length and 1; and ``product``, the largest ``|⟨u_k, u_k'⟩|`` of two labels. The
        last two are divided by ``2 √((s + 1) log(K²/δ) / d)``.

    Raises:
        ConfigError: Width or layers are below 1, there are fewer than 2 labels,
            ``delta`` is not between 0 and 1, or ``seed`` is not between 0 and 2**63 -
            1.

    Example:
        >>> deep_start(width=64, layers=2, labels=3)["above"].to_list()
        [0, 1, 2]
    """
    if min(width, layers) < 1 or labels < 2:
        raise ConfigError(
            "'width' and 'layers' must be at least 1 and 'labels' at least 2, "
            f"got width = {width}, layers = {layers} and labels = {labels}"
        )
    _check_delta(delta)
    generator = Streams(seed).numpy(INITIALISATION, "deep")
    rows = generator.normal(size=(labels, width)) / math.sqrt(width)
    found = []
    for above in range(layers + 1):
        bound = 2 * math.sqrt((above + 1) * math.log(labels**2 / delta) / width)
        lengths, product = _spread(rows, rows)
        length = float(np.abs(lengths - 1).max())
        found.append(
            {"above": above, "length": length / bound, "product": product / bound}
        )
        if above < layers:
            rows = rows @ (generator.normal(size=(width, width)) / math.sqrt(width))
    return pl.DataFrame(found)


def _check_delta(delta: float) -> None:
    if not 0 < delta < 1:
        raise ConfigError(f"delta must be between 0 and 1, got {delta}")


def _spread(vectors: Reals, others: Reals) -> tuple[Reals, float]:
    """Return squared lengths, and the largest absolute inner product of two vectors.

    Args:
        vectors: Vectors as rows.
        others: Vectors with which products are taken; the first rows are ``vectors``.
    """
    products = np.abs(vectors @ others.T)
    lengths = np.diag(products).copy()
    np.fill_diagonal(products, 0.0)
    return lengths, float(products.max())
