"""Measure how random initialisations are spread: lemmas 3 to 5 and 17 of Feature Resemblance.

:func:`one_layer_start` is for the one-layer transformer, :func:`deep_start` for the
deep linear network; recipes judge that all values stay below the bounds.

In a width ``d`` Gaussian vectors ``N(0, σ²)`` have squared lengths near ``σ²d``, and
products of the order of ``σ² √d``. The bounds are missing in our copy of the text;
these follow from Bernstein's inequality, which its proofs name, with the usual
constants.
"""

import math

import numpy as np
import polars as pl

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

    Lemma 3 of Feature Resemblance is used.

    Args:
        world: Config of a world; its tokens have a ``W_V e`` each, its answers ``m``
            vectors ``w`` each.
        width: ``d``.
        hidden: Width ``m`` of the MLP.
        std: Standard deviation ``σ0``.
        delta: Probability with which a bound may fail.
        seed: Root seed of world and initialisation.

    Returns:
        Two rows: of ``vectors`` ``w`` (lemma 3), and of ``W_V e`` beside ``w`` (lemma
        4; 5 for two hops). ``length`` is the largest distance of ``‖x‖²`` from ``σ0²
        d``, relative; ``product`` the largest ``|⟨x, y⟩|`` of two of them, over ``2 σ0²
        √(d log(M²/δ))``.

    Example:
        >>> from inweights.worlds import Analogy
        >>> table = one_layer_start(Analogy(n=5))
        >>> bool((table["length"] < 0.5).all() and (table["product"] < 1).all())
        True
    """
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

    A label's direction behind layer ``l`` is its row of the readout, pulled back
    through the ``s`` layers above, ``a_kᵀ W_L ⋯ W_{l+1}``; all entries are ``N(0,
    1/d)``. Products of two such directions have the variance ``(s + 1)/d``.

    Args:
        width: ``d``.
        layers: Number ``L`` of layers.
        labels: Number ``K`` of labels, at least 2.
        delta: Probability with which a bound may fail.
        seed: Root seed of the initialisation.

    Returns:
        A row per number of layers ``above``, from 0 to ``L``: ``length``, the largest
        distance of a squared length from 1, and ``product``, the largest ``|⟨u_k,
        u_k'⟩|`` of two labels, both over ``2 √((s + 1) log(K²/δ) / d)``.

    Raises:
        ConfigError: Width or layers are below 1, or there are fewer than 2 labels.

    Example:
        >>> deep_start(width=64, layers=2, labels=3)["above"].to_list()
        [0, 1, 2]
    """
    if min(width, layers) < 1 or labels < 2:
        raise ConfigError(
            "a deep initialisation needs width and layers of at least 1 and at least 2 labels, "
            f"got {width}, {layers} and {labels}"
        )
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


def _spread(vectors: Reals, others: Reals) -> tuple[Reals, float]:
    """Return squared lengths, and the largest product with ``others``, which begin with them."""
    products = np.abs(vectors @ others.T)
    lengths = np.diag(products).copy()
    np.fill_diagonal(products, 0.0)
    return lengths, float(products.max())
