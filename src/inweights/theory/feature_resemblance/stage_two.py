"""Run stage 2 of the one-layer transformer and compare it with the proved convergence.

:func:`stage_two` continues from :class:`~.stage_one.StageOneResult` and returns losses
alongside the bounds of lemmas 7, 9, 10, 12, 13 and 16.

With frozen attention, the logits are linear in ``w``, so that the loss of stage 2 is
convex. The proofs compare ``w`` with a ``w*`` that has a large margin. If ``η ‖∇L‖² ≤
L`` at every step, telescoping ``‖w − w*‖²`` gives ``min_{t < T} L ≤ ‖w(0) − w*‖² / (ηT)
+ 2 L(w*)``. Therefore ``T2`` steps of the order of ``1/(ηε)`` reach a loss ``ε``, up to
logarithms. All bounds are missing in our copy of the paper. The bounds computed here
follow from the steps of the proofs that the copy does contain, and use the constants of
the run. Shapes: ``N`` facts of a phase, ``K`` labels, ``D`` width, ``V`` tokens.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import polars as pl

from inweights.errors import ConfigError
from inweights.models.configs import OneLayerConfig
from inweights.theory.feature_resemblance.resemblance import weights_of
from inweights.theory.feature_resemblance.stage_one import StageOneResult
from inweights.worlds.arrays import Reals
from inweights.worlds.registry import WorldConfig
from inweights.worlds.world import Ids

#: Factors of the initial weights and of the margins; their combinations are the
#: candidates for the proof's ``w*``.
_OF_START = np.array([0.0, *np.geomspace(1.0, 1000.0, 25)])
_OF_MARGINS = np.array([0.0, *np.geomspace(1.0, 3000.0, 40)])


def stage_two(
    world: WorldConfig,
    phases: Sequence[Mapping[str, float]],
    steps: Sequence[int],
    *,
    seed: int = 0,
    model: OneLayerConfig | None = None,
    rate: float = 0.47,
    attention: int = 50,
    slower: float = 1.0,
) -> pl.DataFrame:
    """Train the attention, then the MLP in phases, and compare the losses with proven bounds.

    The bounds are those of Lemmas 7, 9, 10, 12, 13 and 16 of Feature Resemblance.
    Stage 1 trains the attention (``W_KQ`` and ``W_V``), and stage 2 trains the MLP with
    frozen attention.

    Args:
        world: Config of a world in which all prompts of facts have the same length, and
            all answers have the same length.
        phases: One dictionary per phase, which maps a role to the weight of its facts
            in the loss. Facts of other roles are not used. Stage 1 uses the weights of
            the first phase.
        steps: Number of updates of the MLP in each phase, at least 1.
        seed: Root seed of the world and the initialisation.
        model: Architecture with a folded or linear MLP; ``None`` for the architecture
            of the paper, with a folded MLP.
        rate: Learning rate ``η`` of stage 1.
        attention: Number of updates of stage 1.
        slower: Factor by which the learning rate of stage 1 is divided in stage 2.

    Returns:
        For each phase, about ten rows per decade of the number of updates, with the
        columns ``phase``, from 1; ``steps``, the number of updates in this phase;
        ``least``, the smallest loss up to this step, and ``bound``, the proven bound on
        it; ``step_size``, the largest ``η ‖∇L‖² / L`` up to this step, which the proofs
        require to be at most 1; and ``guess``, the loss of a uniform distribution over
        all answers. Losses are in nats.

    Raises:
        ConfigError: The numbers of phases and of ``steps`` differ, there is no phase, a
            phase has no step, the MLP of ``model`` has ReLU, its width is below the
            number of tokens, a count is negative, all counts of a phase are 0, or
            ``seed`` is not between 0 and 2**63 - 1.
        DataError: The world lacks a role, or prompts or answers have different lengths.

    Example:
        >>> from inweights.worlds import Analogy
        >>> small = OneLayerConfig(width=64, mlp="folded")
        >>> roles = {"category": 3.0, "similarity": 3.0, "attribution": 1.0}
        >>> table = stage_two(Analogy(n=6), [roles], [100], model=small, slower=200.0)
        >>> bool((table["step_size"] <= 1).all() and (table["least"] <= table["bound"]).all())
        True
    """
    if len(phases) != len(steps) or not phases:
        raise ConfigError(
            f"expected one number of steps per phase ({len(phases)}), got {len(steps)}"
        )
    if min(steps) < 1:
        raise ConfigError(f"'steps' of each phase must be at least 1, got {min(steps)}")
    learnt = StageOneResult.by_attention(
        world,
        phases[0],
        seed=seed,
        model=model,
        rate=rate,
        steps=attention,
    )
    scores = learnt.scores
    value = learnt.value
    rate /= slower
    states = np.einsum("nt,dnt->nd", scores, value[:, learnt.prompts])
    # The logits depend on w only through u = Σ_r w / √M, and gradient descent on u
    # makes the same updates of u as gradient descent on w.
    units = learnt.mlp.shape[1]
    scale = learnt.kappa / units**0.5
    u = learnt.mlp.sum(1) / units**0.5
    tables = []
    for number, (roles, count) in enumerate(zip(phases, steps, strict=True), start=1):
        weights = weights_of(learnt.world, roles)
        trained = np.flatnonzero(weights)
        h = states[trained]
        labels = learnt.labels[trained]
        occurs = _co_occurrence(learnt.prompts[trained], labels, len(value.T), len(u))
        margins = np.einsum(
            "nt,ntk->nk", scores[trained], occurs[learnt.prompts[trained]]
        )
        start = scale * h @ u.T
        phase = _Phase(start, h @ h.T, labels, weights[trained], scale, rate)
        found, pull = _against_bound(phase, margins, count)
        tables.append(
            found.with_columns(
                phase=pl.lit(number), guess=pl.lit(float(np.log(len(u))))
            )
        )
        u = u + scale * pull.T @ h
    return pl.concat(tables)


@dataclass(frozen=True)
class _Phase:
    """Objective and learning rate of one phase.

    Attributes:
        start: Logits at the start, ``[N, K]``.
        gram: ``h hᵀ`` of the states at the input of the MLP, ``[N, N]``.
        labels: Column of each correct answer, ``[N]``.
        weights: Weight of each fact in the loss, ``[N]``.
        scale: Factor of the logits.
        rate: Learning rate.
    """

    start: Reals
    gram: Reals
    labels: Ids
    weights: Reals
    scale: float
    rate: float


def _against_bound(
    phase: _Phase, margins: Reals, steps: int
) -> tuple[pl.DataFrame, Reals]:
    """Return losses and bounds by number of steps, and the direction of the change of ``u``."""
    losses, squares, pull = _descend(phase, steps)
    far, left = _comparators(phase, margins)
    shown = np.unique(
        np.geomspace(1, steps, 1 + round(10 * np.log10(steps))).astype(int)
    )
    found = {
        "steps": shown,
        "least": np.minimum.accumulate(losses)[shown - 1],
        "bound": (far[:, None] / (phase.rate * shown) + 2 * left[:, None]).min(0),
        "step_size": np.maximum.accumulate(phase.rate * squares / losses)[shown - 1],
    }
    return pl.DataFrame(found), pull


def _descend(phase: _Phase, steps: int) -> tuple[Reals, Reals, Reals]:
    """Run gradient descent on the logits ``[N, K]``.

    Returns:
        The loss before every step, ``‖∇L‖²`` before every step, and ``pull``, from
        which the change of ``u`` is ``scale · pullᵀ h``.
    """
    logits = phase.start
    scale = phase.scale
    rate = phase.rate
    losses = np.empty(steps)
    squares = np.empty(steps)
    pull = np.zeros_like(logits)
    for step in range(steps):
        losses[step], residual = _loss(logits, phase.labels, phase.weights)
        moved = phase.gram @ residual
        squares[step] = scale**2 * (residual * moved).sum()
        logits = logits - rate * scale**2 * moved
        pull -= rate * residual
    return losses, squares, pull


def _loss(logits: Reals, labels: Ids, weights: Reals) -> tuple[float, Reals]:
    """Return the mean cross-entropy, and its gradient with respect to the logits."""
    shifted = logits - logits.max(-1, keepdims=True)
    exponentials = np.exp(shifted)
    total = exponentials.sum(-1)
    place = np.arange(len(labels)), labels
    loss = float(weights @ (np.log(total) - shifted[place]))
    residual = exponentials / total[:, None]
    residual[place] -= 1
    return loss, weights[:, None] * residual


def _co_occurrence(prompts: Ids, labels: Ids, tokens: int, outputs: int) -> Reals:
    """Return 1 if a token occurs in a fact with a label, otherwise 0, ``[V, K]``.

    Logits proportional to these counts give every fact a margin.
    """
    occurs = np.zeros((tokens, outputs))
    occurs[prompts, labels[:, None]] = 1.0
    return occurs


def _comparators(phase: _Phase, margins: Reals) -> tuple[Reals, Reals]:
    """Return ``‖w(0) − w*‖²`` and ``L(w*)`` for all candidates ``w*``.

    ``w*`` has the logits ``λ · start + μ · margins``, and is as near to ``w(0)`` as
    these allow: in directions that no fact of the phase uses, it equals ``w(0)``.
    """
    start = phase.start
    inverse = np.linalg.pinv(phase.gram, rcond=1e-10, hermitian=True)

    def inner(one: Reals, other: Reals) -> float:
        return float((one * (inverse @ other)).sum()) / phase.scale**2

    square = inner(margins, margins)
    cross = inner(start, margins)
    own = inner(start, start)
    far = []
    left = []
    for more, margin in product(_OF_START - 1, _OF_MARGINS):
        far.append(more**2 * own + 2 * more * margin * cross + margin**2 * square)
        logits = (more + 1) * start + margin * margins
        left.append(_loss(logits, phase.labels, phase.weights)[0])
    return np.array(far), np.array(left)
