"""Predict feature resemblance from the facts alone, before any training (Feature Resemblance).

:func:`curriculum_cosine` covers the paper's curricula, :func:`linear_cosines` any
world.

Stage 1 (§4.1) of a :class:`~inweights.models.OneLayer` begins with small parameters:
logits are near 0, both tokens of a prompt have attention 1/2, and ``w`` is frozen. In
each step, gradient descent then adds to ``W_V e`` a fixed direction, a sum of the mean
MLP vectors of the labels that facts state about ``e``. This linear regime is our form
of the quantity that propositions 1 to 5 bound. Shapes: ``R`` replicas, ``N`` facts,
``T`` positions, ``V`` tokens, ``D`` width, ``K`` labels, ``M`` width of the MLP
(``m``), ``P`` pairs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np

from inweights.errors import ConfigError, DataError, check_names, unknown_name
from inweights.worlds.arrays import Float, Int, Reals
from inweights.worlds.world import Ids, World

Course = Literal["joint", "SA", "AS", "two-hop", "two-hop without identity"]

#: For each curriculum, how often the first phase trains three facts, as functions of
#: ``ρ``: the shared label of the entity that also has another label, the shared label
#: of the entity that has no other, and that other label.
_COURSES: dict[str, Callable[[float], tuple[float, float, float]]] = {
    "joint": lambda rho: (rho, rho, 1.0),
    "SA": lambda _: (1.0, 1.0, 0.0),
    "AS": lambda _: (1.0, 0.0, 1.0),
    "two-hop": lambda rho: (rho, rho, 1.0),
    "two-hop without identity": lambda _: (0.0, 1.0, 1.0),
}
#: Roles of the same three facts in an analogy, and in a two-hop world.
_COUNTED = (
    ("category", "similarity", "attribution"),
    ("identity", "first_hop", "second_hop"),
)


def noise(
    n: int = 100,
    *,
    rate: float = 0.47,
    steps: int = 50,
    kappa: float = 300.0,
    hidden: int = 10,
) -> float:
    """Return ``ν²``, the squared ratio of the initial ``W_V e`` to its change in stage 1.

    ``W_V e`` is the value vector of a token in Feature Resemblance. The ratio is ``ν² =
    m / (η κ0 T1 / 2n)²``. The initial length and the length of the change are
    proportional to the scale ``σ0`` of the initialisation, which therefore cancels.

    Args:
        n: Number of tuples of the analogy, above 0.
        rate: Learning rate ``η`` of stage 1.
        steps: Number ``T1`` of updates in stage 1.
        kappa: Scale ``κ0`` of the logits.
        hidden: Width ``m`` of the MLP.

    Returns:
        ``ν²``, above 0, which decreases with the number of steps.

    Raises:
        ConfigError: A number is not above 0 or not finite, or ``steps`` is below 1.

    Example:
        >>> round(noise(), 5)
        0.00805
    """
    for name, value in {"n": n, "rate": rate, "kappa": kappa, "hidden": hidden}.items():
        if not (value > 0 and math.isfinite(value)):
            raise ConfigError(f"{name} must be finite and > 0, got {value}")
    if steps < 1:
        raise ConfigError(
            f"'steps', the number of updates in stage 1, must be at least 1, got {steps}"
        )
    return hidden / (rate * kappa * steps / (2 * n)) ** 2


def curriculum_cosine(
    course: Course | Mapping[str, float], *, rho: float = 3.0, noise: float = 0.0
) -> float:
    """Return the predicted cosine of ``W_V e_a`` and ``W_V e_b`` after stage 1 of a curriculum.

    The formula follows from propositions 1 to 5 of Feature Resemblance, for the value
    vectors of two entities ``a`` and ``b`` of a tuple: ``cos = C S / √((C² + A² +
    ν²)(S² + ν²))``, where ``C``, ``S`` and ``A`` are the shares of category, similarity
    and attribution facts in the loss. Stage 1 changes ``W_V e_b`` along the property,
    and ``W_V e_a`` along the property and the attribute. In the joint curriculum, ``C =
    S = ρ / (2ρ + 1)`` and ``A = S / ρ``. The first phase of SA (similarity first)
    contains no attribution. The first phase of AS (attribution first) contains no fact
    about ``b``. The two-hop curriculum has the same cosine as the joint curriculum or,
    without identities, the cosine 0. ``W_V`` is trained only in stage 1 of the first
    phase.

    Args:
        course: ``joint``, ``SA``, ``AS``, ``two-hop`` or ``two-hop without identity``;
            or a mapping from roles to the numbers of copies of their facts in the first
            phase. The possible roles are ``category``, ``similarity``, ``attribution``,
            or ``identity``, ``first_hop``, ``second_hop``.
        rho: ``ρ``, number of copies of the similarity premise, at least 1; used only by
            ``joint`` and ``two-hop``.
        noise: ``ν²``, from :func:`noise`; the default 0 is the limit of small initial
            parameters.

    Returns:
        The cosine, from 0 to 1.

    Raises:
        ConfigError: The curriculum or a role is unknown, ``rho`` is below 1, the noise
            or a count is below 0, a number is not finite, or all counts are 0.

    Example:
        >>> [round(curriculum_cosine("joint", rho=rho), 4) for rho in (1, 3, 5)]
        [0.7071, 0.9487, 0.9806]
        >>> round(curriculum_cosine({"category": 2, "similarity": 1, "attribution": 1}), 4)
        0.8944
    """
    if not (rho >= 1 and math.isfinite(rho)):
        raise ConfigError(
            "'rho' (the number of copies of the similarity premise) must be at least 1, got "
            f"{rho}"
        )
    if not (noise >= 0 and math.isfinite(noise)):
        raise ConfigError(f"noise must be at least 0, got {noise}")
    if not isinstance(course, str):
        counts = _counts(course)
    elif course in _COURSES:
        counts = _COURSES[course](rho)
    else:
        raise unknown_name("course", course, _COURSES)
    both, alone, other = (count / sum(counts) for count in counts)
    if not both * alone:
        return 0.0
    return both * alone / math.sqrt((both**2 + other**2 + noise) * (alone**2 + noise))


def _counts(roles: Mapping[str, float]) -> tuple[float, float, float]:
    """Return the counts of the three roles of ``_COUNTED`` in the first phase of a curriculum."""
    names = next((group for group in _COUNTED if set(group) & set(roles)), _COUNTED[0])
    for role, count in roles.items():
        check_names("role", [role], names)
        if not (count >= 0 and math.isfinite(count)):
            raise ConfigError(
                f"the count of role '{role}' must be finite and at least 0, got {count}"
            )
    if not any(roles.values()):
        raise ConfigError(
            f"a curriculum must train on at least one of the roles {', '.join(names)}"
        )
    both, alone, other = (float(roles.get(name, 0.0)) for name in names)
    return both, alone, other


def linear_cosines(
    world: World,
    pairs: Int[Ids, "P 2"],
    roles: Mapping[str, float] | None = None,
    *,
    rate: float = 0.47,
    steps: int = 50,
    kappa: float = 300.0,
    hidden: int = 10,
) -> Float[Reals, " P"]:
    """Predict the cosine of the value vectors of each pair of tokens, from the facts alone.

    The value vector of a token is ``W_V e`` of a :class:`~inweights.models.OneLayer`
    after stage 1. Let ``ω`` be the weight of a fact (weights sum to 1), and ``y`` its
    answer, one of ``K`` answers of the world. The fact adds ``ω/T (1_y − 1/K)`` to the
    coefficients ``α_e`` of each of its ``T`` tokens. The cosine is then ``⟨α_a, α_b⟩ /
    √((|α_a|² + ν²)(|α_b|² + ν²))``, where ``ν² = m / (η κ0 T1)²``. For the paper's
    worlds, this equals :func:`curriculum_cosine` up to ``1/K``. It also covers shared
    labels, worlds in which only some bridges have identities, and any number of
    relations.

    The prediction holds while logits are near 0. It becomes inaccurate if many entities
    share few labels (with 6 categories for 60 tuples, its mean error was .04 to .06),
    or if stage 1 is long. The column ``linear`` of
    :func:`inweights.theory.feature_resemblance.stage_one.stage_one` measures how much
    an actual run differs from this approximation.

    Args:
        world: World with the facts; only the first token of an answer is used.
        pairs: Token ids, ``[P, 2]``.
        roles: Number of times that the facts of each role are counted in stage 1, at
            least 0; other roles are not used. By default every fact is counted once.
        rate: Learning rate ``η`` of stage 1.
        steps: Number ``T1`` of updates in stage 1.
        kappa: Scale ``κ0`` of the logits.
        hidden: Width ``m`` of the MLP.

    Returns:
        Cosines ``[P]``, from -1 to 1.

    Raises:
        ConfigError: ``rate``, ``kappa`` or ``hidden`` is not above 0 or not finite,
            ``steps`` is below 1, a count is negative or not finite, or each count is 0.
        DataError: The world lacks a role, or pairs are not ``[P, 2]`` of its tokens.

    Example:
        >>> from inweights.worlds import AnalogicalTwoHop
        >>> world = AnalogicalTwoHop(n=4, identity=0.5).build()
        >>> linear_cosines(world, np.array([[0, 4], [1, 5], [2, 6], [3, 7]])).round(2).tolist()
        [-0.14, -0.14, 0.65, 0.65]
    """
    size = len(world.vocabulary)
    if (
        pairs.ndim != 2
        or pairs.shape[1] != 2
        or (pairs < 0).any()
        or (pairs >= size).any()
    ):
        raise DataError(
            f"'pairs' must have the shape [P, 2] and contain token ids from 0 to {size - 1}, "
            f"got {pairs.tolist()!r:.60}"
        )
    weights = weights_of(world, roles or dict.fromkeys(world.facts.role_names, 1.0))
    alpha = linear_coefficients(world, weights)
    # noise() expects coefficients in units of 1/2n. Here the unit is 1, which
    # corresponds to n = 1 and twice the rate.
    start = noise(1, rate=2 * rate, steps=steps, kappa=kappa, hidden=hidden)
    one = alpha[pairs[:, 0]]
    two = alpha[pairs[:, 1]]
    norms = ((one**2).sum(1) + start) * ((two**2).sum(1) + start)
    cosines: Reals = (one * two).sum(1) / np.sqrt(norms)
    return cosines


def weights_of(world: World, roles: Mapping[str, float]) -> Float[Reals, " N"]:
    """Return the weights of the facts in the mean loss, computed from the counts of their roles.

    Args:
        world: World with ``N`` facts.
        roles: Dictionary that maps a role to the number of times that each of its facts
            is counted, at least 0. Facts of other roles have weight 0.

    Returns:
        Weights ``[N]`` that sum to 1.

    Raises:
        DataError: The world lacks a role.
        ConfigError: A count is negative or not finite, or all counts are 0.

    Example:
        >>> from inweights.worlds import Analogy
        >>> world = Analogy(n=2).build()
        >>> float(weights_of(world, {"category": 3.0, "similarity": 1.0}).sum())
        1.0
    """
    weights = np.zeros(len(world.facts))
    for role, count in roles.items():
        if not (count >= 0 and math.isfinite(count)):
            raise ConfigError(
                f"the count of role '{role}' must be finite and at least 0, got {count}"
            )
        weights[world.facts.with_role(role)] = count
    if not weights.any():
        raise ConfigError("at least one role must have a count above 0")
    total: Reals = weights / weights.sum()
    return total


def linear_coefficients(
    world: World, weights: Float[Reals, " N"]
) -> Float[Reals, "V K"]:
    """Return the coefficient ``α`` of each label's vector in the change of each value vector.

    Args:
        world: World with the facts; only the first token of an answer is used.
        weights: Weight of every fact, ``[N]`` (``N`` facts), as returned by
            :func:`weights_of`.

    Returns:
        Coefficients ``[V, K]`` (``V`` tokens of the vocabulary, ``K`` labels, which are
        ``world.outputs`` in ascending order). A fact of weight ``ω`` with the answer
        ``y`` adds ``ω/T (1_y − 1/K)`` to the row of each of its ``T`` tokens.

    Example:
        >>> from inweights.worlds import Analogy
        >>> world = Analogy(n=2).build()
        >>> alpha = linear_coefficients(world, weights_of(world, {"similarity": 1.0}))
        >>> alpha.shape == (len(world.vocabulary), len(world.outputs))
        True
    """
    labels = world.outputs
    alpha = np.zeros((len(world.vocabulary), len(labels)))
    for rows, prompts, answers in world.facts.by_shape():
        column = np.searchsorted(labels, answers[:, 0])
        share = weights[rows] / prompts.shape[1]
        for tokens in prompts.T:
            np.add.at(alpha, (tokens, column), share)
            np.subtract.at(alpha, tokens, (share / len(labels))[:, None])
    return alpha
