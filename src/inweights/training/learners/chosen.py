"""Choose a named learner for a world and a model: :func:`named_for`.

:func:`inweights.train` and :func:`inweights.sweep` use it if no learner is given. The
learners themselves are in ``named.py``.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from inweights.training.curriculum import Curriculum
from inweights.training.learners.named import (
    analogy,
    edges,
    in_context_star,
    path_star,
    two_hop,
    two_hop_mlp,
)

_FACTS = ("two-hop", "hops", "triples", "random-facts", "reversal", "implication")
#: Families whose facts are the edges of a graph.
GRAPHS = ("graph", "path-star", "own-path-star")


def named_for(world: Any, model: Any) -> Curriculum:
    """Return the default curriculum for a family of worlds and an architecture.

    If there is no default for this combination, as for a user-defined world, the result
    is ``Curriculum()``, which trains on all facts with AdamW at a constant rate of .001
    for 280 steps.

    Args:
        world: A world, or its config. A config is built with seed 0 if the choice
            depends on the roles of its facts; errors of building it propagate.
        model: A model, or its config. For ``None`` and models without a config, the
            choice depends only on the world.

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
    """Return the roles of the facts in a world, or in the world that a config builds."""
    built = world.build(0) if hasattr(world, "build") else world
    return tuple(built.facts.role_names)


def family_of(world: Any) -> str:
    """Return the tag of the config from which a world is built, such as ``two-hop``.

    For an altered world, the tag of the original world's config is returned. For a
    world that was not built from a config, the world's name is returned.

    Args:
        world: A world, or its config.

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
