"""Make the proximal step of the cross-entropy, which moves logits so that they fit facts better.

:func:`softmax_step` has the role that the projection onto margins has for program (2).
The splitting of :mod:`~.soft_solver` applies it to a block of prompts at a time.
Shapes: ``m`` prompts, ``K`` outputs.
"""

from __future__ import annotations

import numpy as np

from inweights.worlds.arrays import Float, Reals

#: Maximum number of Newton steps, and largest change of the logarithm of a sum with
#: which they end.
STEPS = 50
EXACT = 1e-4
#: Largest change in one step, which keeps exponentials finite.
FURTHEST = 20.0


def omega(x: Float[Reals, "*_"]) -> Float[Reals, "*_"]:
    """Compute the numbers ``y`` that satisfy ``y + log y = x``: Lambert's W of ``exp x``.

    Args:
        x: Real numbers in floating point, of any shape.

    Returns:
        Positive numbers of the same shape and type, computed with two steps of
        Fritsch's iteration.

    Example:
        >>> omega(np.array([1.0, 3.0 + np.log(3.0)])).round(6).tolist()
        [1.0, 3.0]
    """
    low = np.exp(np.minimum(x, 1.0))
    y = np.where(x > 1.0, x - np.log(np.maximum(x, 1.0)), low / (1.0 + low))
    y = np.maximum(y, np.finfo(x.dtype).tiny)
    for _ in range(2):
        rest = x - y - np.log(y)
        above = 1.0 + y
        q = 2.0 * above * (above + rest * x.dtype.type(2 / 3))
        y *= 1.0 + rest / above * (q - rest) / (q - 2.0 * rest)
    return y


def softmax_step(
    logits: Float[Reals, "m K"],
    shares: Float[Reals, "m K"],
    strength: Float[Reals, " m"],
    level: Float[Reals, " m"],
) -> Float[Reals, "m K"]:
    """Return the softmax ``p`` of the logits ``s`` that minimise cross-entropy plus distance.

    ``s`` minimises ``τ (log Σ exp s − shares · s) + ½ ‖s − logits‖²``, row by row, with
    ``τ = strength``. Then ``s = logits + τ (shares − p)``, so ``τ p + log p`` differs
    from ``logits + τ shares`` by one number per row. Newton's method finds it.

    Args:
        logits: ``[m, K]``.
        shares: Distribution of the stated answers of each prompt, ``[m, K]``.
        strength: ``τ``, above 0, ``[m]``.
        level: For each row, the number that Newton's method found in an earlier call,
            or NaN, ``[m]``; changed in place.

    Returns:
        The softmax of the new logits, ``[m, K]``.

    Example:
        >>> one = np.ones(1)
        >>> chances = softmax_step(np.zeros((1, 2)), np.eye(2)[:1], one, np.full(1, np.nan))
        >>> logits = np.eye(2)[:1] - chances  # τ = 1
        >>> bool(np.allclose(np.exp(logits) / np.exp(logits).sum(), chances))
        True
    """
    wide = strength[:, None]
    points = logits + wide * shares
    points += np.log(wide)
    fresh = np.isnan(level)
    if fresh.any():
        top = points[fresh].max(1)
        # The largest softmax is at most 1, and at least one in K.
        level[fresh] = top - strength[fresh] - np.log(strength[fresh])
    for _ in range(STEPS):
        scaled = omega(points - level[:, None])
        total = scaled.sum(1)
        slope = (scaled / (1.0 + scaled)).sum(1)
        step = np.log(total / strength) * total / slope
        level += np.clip(step, -FURTHEST, FURTHEST)
        if np.abs(step).max(initial=0.0) <= EXACT:
            break
    chances = omega(points - level[:, None])
    chances /= chances.sum(1, keepdims=True)
    return chances
