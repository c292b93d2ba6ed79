"""Named learners: for each family of worlds, a :class:`Curriculum` that trains a model on it.

The settings are those of the recipes. If no learner is given, :func:`inweights.train`
and :func:`inweights.sweep` use the learner returned by :func:`named_for` for the world
and the model. ``kinds.py`` defines the interface of a learner, and registers users' own
learners.
"""

from inweights.training.learners.chosen import GRAPHS, family_of, named_for
from inweights.training.learners.named import (
    JOINT_LOSS,
    RATE_WIDTH,
    analogy,
    edges,
    in_context_star,
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
