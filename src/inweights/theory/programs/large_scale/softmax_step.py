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
#: Smallest logarithm of a number ``τ p``: smaller ones have no effect on any sum.
LOWEST = -60.0
#: Largest residual, in natural logarithms, from which one step of Fritsch's iteration
#: is as exact as EXACT, and the largest from which it converges.
NEAR = 0.25
FAR = 1.5


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
        _improve(y, _residual(x, y))
    return y


def improved_omega(x: Float[Reals, "m K"], y: Float[Reals, "m K"]) -> None:
    """Replace estimates ``y`` of :func:`omega` of ``x`` with exact values, in place.

    One step takes a third of the time of :func:`omega`, because it computes one
    logarithm and no exponential. Estimates that are too far from the exact values are
    first replaced with those of :func:`omega`.

    Args:
        x: Real numbers, at least :data:`LOWEST`, in floating point, ``[m, K]``.
        y: Positive estimates, of the same shape and type; changed in place.

    Example:
        >>> y = np.array([[0.9, 2.5]])
        >>> improved_omega(np.array([[1.0, 3.0 + np.log(3.0)]]), y)
        >>> y.round(4).tolist()
        [[1.0, 3.0]]
    """
    largest = np.inf
    while largest > NEAR:
        rest = _residual(x, y)
        largest = max(rest.max(initial=0.0), -rest.min(initial=0.0))
        if largest > FAR:
            far = np.abs(rest) > FAR
            y[far] = omega(x[far])
            rest[far] = 0.0
            largest = FAR
        _improve(y, rest)


def softmax_step(
    points: Float[Reals, "m K"],
    strength: Float[Reals, " m"],
    level: Float[Reals, " m"],
    scaled: Float[Reals, "m K"],
) -> None:
    """Find the softmax ``p`` of the logits ``s`` that minimise a cross-entropy plus a distance.

    ``s`` minimises ``τ (log Σ exp s − shares · s) + ½ ‖s − logits‖²``, row by row, with
    ``τ = strength``. Then ``s = points − τ p`` with ``points = logits + τ shares``, so
    ``τ p + log p`` differs from ``points`` by one number per row. Newton's method finds
    this number.

    Args:
        points: ``logits + τ shares``, ``[m, K]``.
        strength: ``τ``, above 0, ``[m]``.
        level: For each row, the number that Newton's method found in an earlier call,
            or NaN, ``[m]``; changed in place.
        scaled: ``τ p`` of an earlier call, ``[m, K]``; replaced with the new ``τ p``.
            The earlier values of rows whose level is NaN have no effect.

    Example:
        >>> one, scaled = np.ones(1), np.zeros((1, 2))
        >>> logits, shares = np.zeros((1, 2)), np.eye(2)[:1]
        >>> softmax_step(logits + shares, one, np.full(1, np.nan), scaled)
        >>> new = logits + shares - scaled  # τ = 1
        >>> bool(np.allclose(np.exp(new) / np.exp(new).sum(), scaled))
        True
    """
    fresh = np.isnan(level)
    by_strength = np.log(strength)
    if fresh.any():
        top = points[fresh].max(1)
        # The largest probability of a softmax is at most 1 and at least 1/K.
        level[fresh] = top - strength[fresh]
        scaled[fresh] = 0.0
    x = points + (by_strength - level)[:, None]
    np.maximum(x, x.dtype.type(LOWEST), out=x)
    np.maximum(scaled, x.dtype.type(np.exp(LOWEST)), out=scaled)
    improved_omega(x, scaled)
    for _ in range(STEPS):
        total = scaled.sum(1)
        slopes = scaled / (1 + scaled)
        step = np.log(total / strength) * total / slopes.sum(1)
        np.clip(step, -FURTHEST, FURTHEST, out=step)
        level += step
        if np.abs(step).max(initial=0.0) <= EXACT:
            # The step is so small that a first-order update is exact enough.
            slopes *= step[:, None]
            scaled -= slopes
            break
        x -= step[:, None]
        np.maximum(x, x.dtype.type(LOWEST), out=x)
        improved_omega(x, scaled)
    scaled *= (strength / scaled.sum(1))[:, None]


def _residual(x: Reals, y: Reals) -> Reals:
    """Return ``x − y − log y``, which is 0 for the exact ``y``."""
    rest = np.log(y)
    rest += y
    np.subtract(x, rest, out=rest)
    return rest


def _improve(y: Reals, rest: Reals) -> None:
    """Make a step of Fritsch's iteration, in place, for a residual ``rest``."""
    above = 1 + y
    q = rest * rest.dtype.type(2 / 3)
    q += above
    q *= above
    q *= 2
    rest_of_q = q - rest
    rest_of_q *= rest
    q -= 2 * rest
    q *= above
    rest_of_q /= q
    rest_of_q += 1
    y *= rest_of_q
