"""What is true: worlds of facts and queries. Nothing here imports torch."""

from inweights.worlds.analogy import AnalogicalTwoHop, Analogy
from inweights.worlds.analogy_rows import AnalogyRow, read_analogies
from inweights.worlds.edge_lists import EdgeList, read_edges
from inweights.worlds.graph import Graph, from_networkx
from inweights.worlds.hops import Hops
from inweights.worlds.implication import Implication
from inweights.worlds.in_context import InContextStar
from inweights.worlds.knowledge import Knowledge, Remark, read_knowledge
from inweights.worlds.own_path_star import OwnPathStar, read_path_star
from inweights.worlds.path_star import PathStar
from inweights.worlds.random_facts import RandomFacts
from inweights.worlds.registry import WorldConfig, open_world, register_world, world_names
from inweights.worlds.reversal import Reversal
from inweights.worlds.storage import load_world, save_world
from inweights.worlds.triples import Triples
from inweights.worlds.two_hop import TwoHop
from inweights.worlds.wording import Wording
from inweights.worlds.world import FACT_ROLES, QUERY_ROLES, Statement, Statements, Vocabulary, World

__all__ = [
    "FACT_ROLES",
    "QUERY_ROLES",
    "AnalogicalTwoHop",
    "Analogy",
    "AnalogyRow",
    "EdgeList",
    "Graph",
    "Hops",
    "Implication",
    "InContextStar",
    "Knowledge",
    "OwnPathStar",
    "PathStar",
    "RandomFacts",
    "Remark",
    "Reversal",
    "Statement",
    "Statements",
    "Triples",
    "TwoHop",
    "Vocabulary",
    "Wording",
    "World",
    "WorldConfig",
    "from_networkx",
    "load_world",
    "open_world",
    "read_analogies",
    "read_edges",
    "read_knowledge",
    "read_path_star",
    "register_world",
    "save_world",
    "world_names",
]
