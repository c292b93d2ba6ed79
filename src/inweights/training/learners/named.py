"""Functions that return the curricula with which recipes train models on families of worlds.

``chosen.py`` chooses one of them for a world and a model.
"""

from collections.abc import Mapping, Sequence

from inweights.config import check_size
from inweights.training.curriculum import Curriculum, Optimizer, Phase, Schedule, Stop

#: Learning rate times width of a GPT that composes facts (Identity Bridge, Figure 2).
RATE_WIDTH = 0.064
#: Training loss at which the joint task of analogies stops (Feature Resemblance, Table
#: 1).
JOINT_LOSS = 0.0077
_JOINT = {"category": 3.0, "similarity": 3.0, "attribution": 1.0}


def two_hop(
    width: int = 64,
    *,
    steps: int = 280,
    roles: Mapping[str, float] | None = None,
    random_offset: bool = True,
) -> Curriculum:
    """Return the curriculum with which a GPT learns to compose facts (Identity Bridge, Figure 2).

    The curriculum is one phase of AdamW. Its learning rate decreases from 0.064 /
    ``width`` to 0 along a cosine.

    Args:
        width: Width of the GPT, at least 1; it determines the learning rate.
        steps: Number of updates.
        roles: Roles of the training facts, each with its weight in the loss:
            ``first_hop``, ``second_hop`` and ``identity`` for a two-hop world; in
            general, the names in ``world.facts.role_names``. By default, the model is
            trained on all facts with weight 1.
        random_offset: Whether each sequence starts at a random position in every step,
            so that all learned position embeddings are trained. If true, training a
            model without position embeddings raises a ``ConfigError``.

    Raises:
        ConfigError: ``width`` is below 1, ``steps`` is negative, or a weight is not
            above 0.

    Example:
        >>> two_hop(width=128).phases[0].optimizer.rate
        0.0005
    """
    check_size("two_hop: width", width)
    phase = Phase(
        roles=dict(roles or {}),
        steps=steps,
        random_offset=random_offset,
        schedule=Schedule(kind="cosine"),
        optimizer=Optimizer(rate=RATE_WIDTH / width),
    )
    return Curriculum(phases=(phase,))


def two_hop_mlp(
    rate: float = 2.0, *, steps: int = 5000, weight_decay: float = 0.0
) -> Curriculum:
    """Return the curriculum with which an Emb-MLP learns facts: full-batch gradient descent.

    The settings are those of Identity Bridge, §4.

    Args:
        rate: Learning rate of gradient descent.
        steps: Number of updates. By default 5000, after which the direction of the
            weights hardly changes.
        weight_decay: Coefficient of the weight decay, which adds this multiple of the
            weights to the gradient.

    Raises:
        ConfigError: ``rate`` is not above 0, or ``steps`` or ``weight_decay`` is
            negative.

    Example:
        >>> two_hop_mlp().phases[0].optimizer.kind
        'sgd'
    """
    optimizer = Optimizer(kind="sgd", rate=rate, weight_decay=weight_decay)
    return Curriculum(phases=(Phase(steps=steps, optimizer=optimizer),))


def analogy(
    parts: Sequence[Mapping[str, float]] = (_JOINT,),
    losses: Sequence[float] = (JOINT_LOSS,),
    *,
    rate: float = 1e-3,
    steps: int = 1500,
) -> Curriculum:
    """Return the curriculum with which a GPT learns analogies (Feature Resemblance, Table 1).

    Args:
        parts: For each phase (one or two), the roles of the training facts, with their
            weights. By default there is one phase with all premises: ``category`` and
            ``similarity`` with weight 3, and ``attribution`` with weight 1.
        losses: For each phase, the training loss in nats below which the phase stops.
            Only the first two items of ``parts`` and ``losses`` are used; if they
            differ in length, additional items of the longer one are ignored.
        rate: Learning rate of AdamW.
        steps: Maximum number of updates in each phase.

    Raises:
        ConfigError: There is no phase, ``rate`` or a weight is not above 0, or
            ``steps`` or a loss is negative.

    Example:
        >>> analogy(losses=[0.01]).phases[0].stop.loss_below
        0.01
    """
    phases = []
    names = ("first phase", "second phase")
    for name, roles, loss in zip(names, parts, losses, strict=False):
        phase = Phase(
            name=name,
            roles=dict(roles),
            steps=steps,
            optimizer=Optimizer(rate=rate, decayed="all"),
            stop=Stop(loss_below=loss),
        )
        phases.append(phase)
    return Curriculum(phases=tuple(phases))


def edges(rate: float = 0.01, *, steps: int = 500, falls: bool = True) -> Curriculum:
    """Return the curriculum with which a model learns edges (Geometric Memory, App. B.5).

    The curriculum is one phase of full-batch AdamW without weight decay.

    Args:
        rate: Peak learning rate.
        steps: Number of updates.
        falls: If true, the rate decreases to 0 along a cosine, as for the paper's
            TinyGPT; otherwise it is constant.

    Raises:
        ConfigError: ``rate`` is not above 0, or ``steps`` is negative.

    Example:
        >>> edges(falls=False).phases[0].schedule.kind
        'constant'
    """
    optimizer = Optimizer(rate=rate, weight_decay=0.0)
    schedule = Schedule(kind="cosine" if falls else "constant")
    phase = Phase(steps=steps, optimizer=optimizer, schedule=schedule)
    return Curriculum(phases=(phase,))


def path_star(
    rate: float = 5e-3,
    *,
    steps: int = 300,
    paths: int = 32,
    roles: Sequence[str] = ("edge", "reverse_edge"),
) -> Curriculum:
    """Return the curriculum with which a model learns a path-star (Geometric Memory, Figure 3).

    The model is trained on edges and paths together, with AdamW. The rate rises
    linearly over the first 100 steps (or the first quarter, if that is shorter), and
    decreases linearly to 0 over the last fifth of the steps.

    Args:
        rate: Peak learning rate.
        steps: Number of updates.
        paths: Number of paths per step; 0 for all.
        roles: Roles of the training edges, at least one. Every step contains all edges
            of these roles. The role of the paths is ``path``.

    Raises:
        ConfigError: ``rate`` is not above 0, or ``steps`` or ``paths`` is negative.

    Example:
        >>> path_star().phases[0].batch
        {'edge+reverse_edge': 0, 'path': 32}
    """
    phase = Phase(
        name="both",
        roles=dict.fromkeys((*roles, "path"), 1.0),
        batch={"+".join(roles): 0, "path": paths},
        steps=steps,
        pooled=True,
        loss="answer",
        optimizer=Optimizer(rate=rate, weight_decay=0.1, decayed="all"),
        schedule=Schedule(kind="linear", warmup=min(100, steps // 4), hold=0.8),
    )
    return Curriculum(phases=(phase,))


def in_context_star(
    rate: float = 3e-3, *, steps: int = 1000, batch: int = 64
) -> Curriculum:
    """Return the curriculum for path-stars listed in the prompt (Geometric Memory, Figure 13).

    The paper does not state its settings; the settings here are our choice. The model
    reads the correct tokens of a path before each token that it predicts (teacher
    forcing), and learns to predict every token of a path except the first. With more
    than about a dozen node labels, more steps and a lower rate are needed. The rate
    rises linearly over the first 50 steps (or the first quarter, if that is shorter),
    and decreases linearly to 0 over the last fifth of the steps.

    Args:
        rate: Peak learning rate of AdamW.
        steps: Number of updates.
        batch: Number of prompts per step; 0 for all.

    Raises:
        ConfigError: ``rate`` is not above 0, or ``steps`` or ``batch`` is negative.

    Example:
        >>> in_context_star(batch=8).phases[0].batch
        8
    """
    phase = Phase(
        steps=steps,
        batch=batch,
        loss="answer",
        optimizer=Optimizer(rate=rate, decayed="all"),
        schedule=Schedule(kind="linear", warmup=min(50, steps // 4), hold=0.8),
    )
    return Curriculum(phases=(phase,))
