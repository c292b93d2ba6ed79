"""Feature resemblance by depth in a linear network that is trained layer by layer (theorem 6).

The text lost equations 8 and 9; the recursion below is our statement of what lemma 18 does, for
square layers from ``N(0, 1/d)``, in the limit of a large width and while no label is fitted yet.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from inweights.errors import ConfigError

__all__ = ["depth_cosines"]


def depth_cosines(
    layers: int, *, inputs: int = 100, per_label: int = 2, rate: float = 2.0, steps: int = 10
) -> NDArray[np.float64]:
    """Return the predicted cosine of two inputs of one label after each layer.

    A layer keeps what came in and adds to an input ``α Σ_j ⟨h, h_j⟩ B_{y_j}``, where ``α = ηT/N``
    and ``B_y``, of length 1, is the direction of the label behind it. With ``z`` the part that
    inputs of a label share, ``e = |z|²``, ``u = ⟨z, B⟩`` and ``q`` inputs a label,

        ``k = 1 + q e``,  ``e ← e + 2 α k u + (α k)²``,  ``u ← u + α k``,  ``cos = e / (1 + e)``:

    the part that a label shares grows with every layer, since ``B`` of a layer is carried on to
    ``B`` of the next. Where labels come to be fitted the true cosine grows more slowly.

    Args:
        layers: Number of layers.
        inputs: Number ``N`` of inputs.
        per_label: Inputs ``q`` that share a label.
        rate: Learning rate ``η``.
        steps: Updates ``T`` of each layer.

    Raises:
        ConfigError: A number is not above 0.

    Example:
        >>> depth_cosines(4).round(2).tolist()
        [0.04, 0.15, 0.32, 0.54]
    """
    counts = {"layers": layers, "inputs": inputs, "per_label": per_label, "steps": steps}
    for name, value in {**counts, "rate": rate}.items():
        if not (value > 0 and math.isfinite(value)):
            raise ConfigError(f"the cosine by depth needs {name} above 0, not {value}")
    alpha = rate * steps / inputs
    shared, along, found = 0.0, 0.0, []
    for _ in range(layers):
        added = alpha * (1 + per_label * shared)
        shared += 2 * added * along + added**2
        along += added
        found.append(shared / (1 + shared))
    return np.array(found)
