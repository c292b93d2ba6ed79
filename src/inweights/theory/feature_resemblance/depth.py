"""Predict feature resemblance by depth in a linear network trained layer by layer (theorem 6).

:func:`depth_cosines` returns the prediction, :func:`lemma_18` compares it with a random
network. Equations 8 and 9 are missing in our copy of the paper. The recursion below is
our form of lemma 18, for square layers with entries from ``N(0, 1/d)``, in the limit of
a large width ``d`` and before any label is fitted. Shapes: ``L`` layers.
"""

from __future__ import annotations

import math

import numpy as np
import polars as pl

from inweights.config import check_size
from inweights.errors import ConfigError
from inweights.seeds import INITIALISATION, Streams
from inweights.worlds.arrays import Float, Floats


def depth_cosines(
    layers: int,
    *,
    inputs: int = 100,
    per_label: int = 2,
    rate: float = 2.0,
    steps: int = 10,
) -> Float[Floats, " L"]:
    """Return the predicted cosine of two inputs with the same label after each layer (theorem 6).

    The theorem, from Feature Resemblance, is about a deep linear network that is
    trained layer by layer. The update of layer ``l`` adds ``a_l B_y`` to the state of
    an input with the label ``y``. ``B_y`` is a vector of length 1, the direction of the
    label after this layer. The factor is ``a_l = ηT/N (1 + q e_{l-1})`` for ``q``
    inputs per label, where ``e_l`` is the expected inner product of two inputs with the
    same label after layer ``l``. The vector ``B_y`` of a layer is ``Wᵀ B_y`` of the
    next layer. Therefore the vectors that are added in different layers have a common
    direction. Their inner products contain products of ``s`` matrices ``W Wᵀ``, whose
    second moments are ``s + 1`` (Fuss-Catalan numbers) for square layers:

        ``e_l = Σ_{m, m' ≤ l} a_m a_m' (l − max(m, m') + 1)``, ``cos_l = e_l / (1 +
        e_l)``.

    The prediction increases with every layer. Once labels are fitted, the true cosine
    grows more slowly.

    Args:
        layers: Number of layers ``L``.
        inputs: Number ``N`` of inputs.
        per_label: Number ``q`` of inputs that share each label.
        rate: Learning rate ``η``, above 0.
        steps: Number ``T`` of updates of each layer.

    Returns:
        Cosines ``[L]``, from the first layer to the last.

    Raises:
        ConfigError: A number is not above 0, or not finite.

    Example:
        >>> depth_cosines(4).round(2).tolist()
        [0.04, 0.18, 0.41, 0.68]
    """
    counts = {
        "layers": layers,
        "inputs": inputs,
        "per_label": per_label,
        "steps": steps,
    }
    for name, value in {**counts, "rate": rate}.items():
        if not (value > 0 and math.isfinite(value)):
            raise ConfigError(f"{name} must be finite and > 0, got {value}")
    alpha = rate * steps / inputs
    added: list[float] = []
    found: list[float] = []
    shared = 0.0
    for _ in range(layers):
        # The similarity is 1 up to rounding. It cannot decrease, and the sums would
        # overflow.
        if found and found[-1] == 1.0:
            found.append(1.0)
            continue
        added.append(alpha * (1 + per_label * shared))
        a = np.array(added)
        place = np.arange(len(added))
        passed = len(added) - np.maximum.outer(place, place)  # l − max(m, m') + 1
        shared = float(a @ passed @ a)
        found.append(shared / (1 + shared))
    return np.array(found)


def lemma_18(
    *,
    width: int = 1024,
    layers: int = 7,
    labels: int = 50,
    per_label: int = 2,
    share: float = 0.05,
    seed: int = 0,
) -> pl.DataFrame:
    """Compare inner products of the states of a random deep linear network with lemma 18.

    The lemma is from Feature Resemblance. The layers are square, all entries are drawn
    from ``N(0, 1/d)``, and the inputs are orthonormal. The layers are trained one after
    another. Each layer is trained by one gradient step, ``W ← W + (ηT/N) Bᵀ Y Xᵀ``,
    in which the derivative of the loss with respect to the logits has its initial
    value. The lemma's bounds are missing in our copy of the paper; its three cases are
    compared with ``e_l`` of :func:`depth_cosines`, the limit of a large width.

    Args:
        width: Width ``d`` of all layers, at least the number of inputs (``labels``
            times ``per_label``).
        layers: Number of layers.
        labels: Number of labels, at least 2.
        per_label: Number of inputs of each label.
        share: Factor ``ηT/N`` in the update of a layer, above 0.
        seed: Root seed of the network.

    Returns:
        One row per layer: ``layer`` (from 1), and three errors relative to ``1 + e_l``:
        ``length`` (difference between the mean ``‖x‖²`` and ``1 + e_l``), ``same``
        (difference between the mean product of two inputs of one label and ``e_l``),
        ``other`` (mean absolute product of two inputs with different labels); and
        ``cosine``, the mean product of two inputs of one label divided by the mean
        ``‖x‖²``.

    Raises:
        ConfigError: The width is below the number of inputs; ``labels`` is not between
            2 and 65,536; ``layers`` or ``per_label`` is not between 1 and 65,536;
            ``share`` is infinite or not above 0; or ``seed`` is not between 0 and 2**63
            - 1.

    Example:
        >>> bool((lemma_18(width=256, layers=3)["length"] < 0.1).all())
        True
    """
    check_size("labels", labels, least=2)
    check_size("layers", layers)
    check_size("per_label", per_label)
    rng = Streams(seed).numpy(INITIALISATION)
    inputs = labels * per_label
    if width < inputs:
        raise ConfigError(
            f"'width' must be at least {inputs}, the number of orthonormal inputs, got "
            f"{width}"
        )
    weights = [rng.normal(0, width**-0.5, (width, width)) for _ in range(layers)]
    behind = [rng.normal(0, width**-0.5, (labels, width))]
    for later in weights[:0:-1]:
        behind.append(behind[-1] @ later)
    one_hot = np.repeat(np.eye(labels), per_label, axis=1)  # [labels, inputs]
    same_label = one_hot.T @ one_hot - np.eye(inputs)
    cosines = depth_cosines(
        layers,
        inputs=1,
        per_label=per_label,
        rate=share,
        steps=1,
    )
    state = np.eye(width)[:, :inputs]
    rows = []
    for layer, (weight, b, cosine) in enumerate(
        zip(weights, behind[::-1], cosines, strict=True)
    ):
        state = weight @ state + share * b.T @ one_hot @ (state.T @ state)
        products = state.T @ state
        lengths, size = np.diag(products), 1 / (1 - cosine)  # 1 + e_l
        same = (products * same_label).sum() / same_label.sum()
        other_label = 1 - same_label - np.eye(inputs)
        others = np.abs(products * other_label).sum() / (inputs - per_label)
        rows.append(
            {
                "layer": layer + 1,
                "length": abs(lengths.mean() / size - 1),
                "same": abs(same / size - cosine),
                "other": others / inputs / size,
                "cosine": same / lengths.mean(),
            }
        )
    return pl.DataFrame(rows)
