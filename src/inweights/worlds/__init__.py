"""What is true: worlds of facts and queries. Nothing here imports torch."""

from inweights.worlds.storage import load_world, save_world
from inweights.worlds.two_hop import TwoHop
from inweights.worlds.world import FACT_ROLES, QUERY_ROLES, Statements, Vocabulary, World

__all__ = [
    "FACT_ROLES",
    "QUERY_ROLES",
    "Statements",
    "TwoHop",
    "Vocabulary",
    "World",
    "load_world",
    "save_world",
]
