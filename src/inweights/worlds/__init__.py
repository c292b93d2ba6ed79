"""What is true: worlds of facts and queries. Nothing here imports torch."""

from inweights.worlds.families.analogy import AnalogicalTwoHop, Analogy
from inweights.worlds.families.graph import Graph, from_networkx
from inweights.worlds.families.hops import Hops
from inweights.worlds.families.implication import Implication
from inweights.worlds.families.in_context import InContextStar
from inweights.worlds.families.own_path_star import OwnPathStar, read_path_star
from inweights.worlds.families.path_star import PathStar
from inweights.worlds.families.random_facts import RandomFacts
from inweights.worlds.families.reversal import Reversal
from inweights.worlds.families.storage import load_world, save_world
from inweights.worlds.families.two_hop import TwoHop
from inweights.worlds.knowledge.analogy_rows import AnalogyRow, read_analogies
from inweights.worlds.knowledge.knowledge import Knowledge, Remark, read_knowledge
from inweights.worlds.knowledge.triples import Triples
from inweights.worlds.knowledge.wording import Wording
from inweights.worlds.readers.edge_lists import EdgeList, read_edges
from inweights.worlds.registry import WorldConfig, open_world, register_world, world_names
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
