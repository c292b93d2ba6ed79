"""Learners by name: the settings of training with which each family of worlds is learnt.

They are those of the recipes. What :func:`inweights.train` and :func:`inweights.sweep` take where
no learner is given is :func:`named_for` of the world and the model. ``rate`` is the peak rate of
AdamW, where nothing else is said, ``steps`` the number of updates.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from inweights.training.curriculum import Curriculum, Optimizer, Phase, Schedule, Stop

#: Rate times width of a GPT that composes (Identity Bridge, Figure 2).
RATE_WIDTH = 0.064
#: Training loss at which the joint task of analogies stops (Feature Resemblance, Table 1).
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
    """Return how a GPT learns facts that it is to compose (Identity Bridge, Figure 2).

    AdamW with a rate of 0.064 / width that falls as a cosine; each sequence starts at a random
    position in every step, so that a model with learned positions has trained all of them, unless
    ``random_offset`` is false, as for models without positions, which refuse it. ``roles`` are
    facts that are trained, with how often each counts; all of them if left out.

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


def two_hop_mlp(rate: float = 2.0, *, steps: int = 5000, weight_decay: float = 0.0) -> Curriculum:
    """Return how an Emb-MLP learns facts (Identity Bridge, §4): full-batch gradient descent.

    The direction of the weights has settled after 5000 steps.
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
    """Return how a GPT learns analogies, end to end until a loss (Feature Resemblance, Table 1).

    Args:
        parts: Roles of each phase, with how often each counts; by default all premises at once.
        losses: Training loss at which each phase stops.
        rate: Rate of AdamW.
        steps: Most updates of a phase.
    """
    names = ("first phase", "second phase")
    return Curriculum(
        phases=tuple(
            Phase(
                name=name,
                roles=dict(roles),
                steps=steps,
                optimizer=Optimizer(rate=rate, decayed="all"),
                stop=Stop(loss_below=loss),
            )
            for name, roles, loss in zip(names, parts, losses, strict=False)
        )
    )


def edges(rate: float = 0.01, *, steps: int = 500, falls: bool = True) -> Curriculum:
    """Return how the edges of a graph are learnt: full batch, no decay (Geometric Memory, B.5).

    The rate ``falls`` as a cosine, as TinyGPT's does, or stays.
    """
    optimizer = Optimizer(rate=rate, weight_decay=0.0)
    schedule = Schedule(kind="cosine" if falls else "constant")
    return Curriculum(phases=(Phase(steps=steps, optimizer=optimizer, schedule=schedule),))


def path_star(
    rate: float = 5e-3,
    *,
    steps: int = 300,
    paths: int = 32,
    roles: Sequence[str] = ("edge", "reverse_edge"),
) -> Curriculum:
    """Return how a path-star is learnt: edges and paths together (Geometric Memory, Figure 3).

    A step has ``paths`` trained paths, 0 for all, and all edges, which have the ``roles``. The rate
    falls over the last fifth.

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


def in_context_star(rate: float = 3e-3, *, steps: int = 1000, batch: int = 64) -> Curriculum:
    """Return how path-stars in prompts are learnt (Geometric Memory, Figure 13; settings ours).

    With a teacher every token but the first of a path is learnt; on more than about a dozen labels
    that takes more steps and a lower rate, which falls over the last fifth. ``batch`` is prompts.
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
    """Return the named learner of a world's family for an architecture.

    Where there is none, such as for a world of one's own, it is a plain :class:`Curriculum`: all
    facts, by AdamW at a constant rate, for 280 steps. World and model may be their configs.

    Example:
        >>> import inweights as iw
        >>> named_for(iw.TwoHop(), iw.EmbMLPConfig()) == two_hop_mlp()
        True
        >>> named_for(iw.TwoHop(), iw.GPTConfig(width=32)) == two_hop(32)
        True
    """
    config: Any = model if isinstance(model, msgspec.Struct) else getattr(model, "config", None)
    family, kind = family_of(world), config.__struct_config__.tag if config is not None else ""
    gpt = kind in ("gpt", "mamba")
    if family in _FACTS and kind == "emb-mlp":
        return two_hop_mlp()
    if family in _FACTS and gpt:
        return two_hop(config.width, random_offset=getattr(config, "positions", "") == "learned")
    if family == "analogy" and gpt:
        return analogy()
    if family == "analogical-two-hop" and gpt:
        built = world.build(0) if hasattr(world, "build") else world
        copies = {"first_hop": 3.0, "identity": 3.0, "second_hop": 1.0}
        told = {role: copies[role] for role in copies if role in built.facts.role_names}
        return analogy((told,), (0.09,))
    if family == "graph":
        return edges(falls=kind == "gpt")
    if family == "in-context-star" and gpt:
        return in_context_star()
    if family == "path-star" and gpt:
        built = world.build(0) if hasattr(world, "build") else world
        told_edges = [role for role in built.facts.role_names if role != "path"]
        if "path" in built.facts.role_names and told_edges:
            return path_star(roles=told_edges)
    return Curriculum()


def family_of(world: Any) -> str:
    """Return the kind of a world or of its config; of an altered one that of what was altered."""
    settings = getattr(world, "settings", None)
    if settings is None:
        inner = getattr(world, "of", None)
        return family_of(inner) if inner is not None else str(world.__struct_config__.tag)
    while settings.get("kind") == "altered":
        settings = settings["of"]
    return str(settings.get("kind", getattr(world, "name", "")))
