"""What is true: worlds of facts and queries. Nothing here imports torch."""

from inweights.worlds.registry import WorldConfig, open_world, register_world, world_names
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
    "WorldConfig",
    "load_world",
    "open_world",
    "register_world",
    "save_world",
    "world_names",
]
