"""Named learners: for each family of worlds a :class:`Curriculum` that learns it.

The settings are those of the recipes. :func:`inweights.train` and
:func:`inweights.sweep` take :func:`named_for` of the world and the model where no
learner is given. ``kinds.py`` says what a learner is, and adds one of your own.
"""

from inweights.training.learners.named import (
    GRAPHS,
    JOINT_LOSS,
    RATE_WIDTH,
    analogy,
    edges,
    family_of,
    in_context_star,
    named_for,
    path_star,
    two_hop,
    two_hop_mlp,
)

__all__ = [
    "GRAPHS",
    "JOINT_LOSS",
    "RATE_WIDTH",
    "analogy",
    "edges",
    "family_of",
    "in_context_star",
    "named_for",
    "path_star",
    "two_hop",
    "two_hop_mlp",
]
