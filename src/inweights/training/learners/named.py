"""Curricula by name, and the function that chooses one of them: :func:`named_for`.

Each function returns the settings with which a recipe trains one family of worlds.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from inweights.training.curriculum import Curriculum, Optimizer, Phase, Schedule, Stop

#: Learning rate times width of a GPT that composes facts (Identity Bridge, Figure 2).
RATE_WIDTH = 0.064
#: Training loss at which the joint task of analogies stops (Feature Resemblance, Table
#: 1).
JOINT_LOSS = 0.0077
_JOINT = {"category": 3.0, "similarity": 3.0, "attribution": 1.0}
_FACTS = ("two-hop", "hops", "triples", "random-facts", "reversal", "implication")
#: Families whose facts are the edges of a graph.
GRAPHS = ("graph", "path-star", "own-path-star")


def two_hop(
    width: int = 64,
    *,
    steps: int = 280,
    roles: Mapping[str, float] | None = None,
    random_offset: bool = True,
) -> Curriculum:
    """Return the curriculum by which a GPT learns to compose facts (Identity Bridge, Figure 2).

    The curriculum is one phase of AdamW, with a peak rate of 0.064 / width that
    decreases as a cosine.

    Args:
        width: Width of the GPT.
        steps: Number of updates.
        roles: Roles of the facts that are trained on, each with its weight in the loss:
            ``first_hop``, ``second_hop`` and ``identity`` for a two-hop world; in
            general, the names in ``world.facts.role_names``. By default all facts, with
            weight 1.
        random_offset: Whether each sequence starts at a random position in every step,
            so that all learned position embeddings are trained. Models without them
            refuse it with a ``ConfigError`` when training starts.

    Example:
        >>> two_hop(width=128).phases[0].optimizer.rate
        0.0005
    """
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
    """Return the curriculum by which an Emb-MLP learns facts: full-batch gradient descent.

    The settings are those of Identity Bridge, §4.

    Args:
        rate: Learning rate.
        steps: Number of updates; after 5000, the direction of the weights hardly
            changes.
        weight_decay: Coefficient of the weight decay, which adds this multiple of the
            weights to the gradient.

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
    """Return the curriculum by which a GPT learns analogies (Feature Resemblance, Table 1).

    Args:
        parts: For each phase (at most two), the roles that are trained on, with their
            weights; by default one phase with all premises.
        losses: For each phase, the training loss, in nats, below which it stops.
        rate: Learning rate of AdamW.
        steps: Largest number of updates of a phase.

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
    """Return the curriculum by which edges are learnt: full-batch AdamW (Geometric Memory, B.5).

    There is no weight decay.

    Args:
        rate: Peak learning rate.
        steps: Number of updates.
        falls: Whether the rate decreases as a cosine, as for the paper's TinyGPT;
            otherwise it is constant.

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
    """Return the curriculum by which a path-star is learnt (Geometric Memory, Figure 3).

    Edges and paths are trained together by AdamW. Its rate decreases linearly over the
    last fifth of the steps.

    Args:
        rate: Peak learning rate.
        steps: Number of updates.
        paths: Number of paths in each step; 0 for all.
        roles: Roles of the edges, such as ``edge`` and ``reverse_edge``; every step
            contains all edges.

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
    """Return the curriculum for path-stars given in prompts (Geometric Memory, Figure 13).

    The paper does not state these settings; they are ours. The model reads the right
    tokens of a path before each token that it predicts. With this teacher forcing it
    learns every token of a path except the first. More than about a dozen labels need
    more steps and a lower rate. The rate decreases linearly over the last fifth of the
    steps.

    Args:
        rate: Peak learning rate of AdamW.
        steps: Number of updates.
        batch: Number of prompts per step.

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


def named_for(world: Any, model: Any) -> Curriculum:
    """Return the named learner for a family of worlds and an architecture.

    If there is none, such as for a user-defined world, the result is a plain
    :class:`Curriculum`: all facts, by AdamW at a constant rate, for 280 steps.

    Args:
        world: A world, or its config.
        model: A model, or its config.

    Example:
        >>> import inweights as iw
        >>> named_for(iw.TwoHop(), iw.EmbMLPConfig()) == two_hop_mlp()
        True
        >>> named_for(iw.TwoHop(), iw.GPTConfig(width=32)) == two_hop(32)
        True
    """
    config: Any = model
    if not isinstance(model, msgspec.Struct):
        config = getattr(model, "config", None)
    family = family_of(world)
    kind = "" if config is None else config.__struct_config__.tag
    gpt = kind in ("gpt", "mamba")
    if family in _FACTS and kind == "emb-mlp":
        return two_hop_mlp()
    if family in _FACTS and gpt:
        return two_hop(
            config.width, random_offset=getattr(config, "positions", "") == "learned"
        )
    if family == "analogy" and gpt:
        return analogy()
    if family == "analogical-two-hop" and gpt:
        weights = {"first_hop": 3.0, "identity": 3.0, "second_hop": 1.0}
        stated = _roles_of(world)
        trained = {role: weight for role, weight in weights.items() if role in stated}
        return analogy((trained,), (0.09,))
    if family == "graph":
        return edges(falls=kind == "gpt")
    if family == "in-context-star" and gpt:
        return in_context_star()
    if family == "path-star" and gpt:
        stated = _roles_of(world)
        edge_roles = [role for role in stated if role != "path"]
        if "path" in stated and edge_roles:
            return path_star(roles=edge_roles)
    return Curriculum()


def _roles_of(world: Any) -> Sequence[str]:
    """Return the roles of the facts of a world, or of the world that a config builds."""
    built = world.build(0) if hasattr(world, "build") else world
    return tuple(built.facts.role_names)


def family_of(world: Any) -> str:
    """Return the kind of a world or of its config; for an altered world, the kind of the original.

    Example:
        >>> import inweights as iw
        >>> family_of(iw.TwoHop()), family_of(iw.TwoHop(n=3).build())
        ('two-hop', 'two-hop')
    """
    settings = getattr(world, "settings", None)
    if settings is None:
        inner = getattr(world, "of", None)
        if inner is not None:
            return family_of(inner)
        return str(world.__struct_config__.tag)
    while settings.get("kind") == "altered":
        settings = settings["of"]
    return str(settings.get("kind", getattr(world, "name", "")))
