"""Worlds: facts that a model is trained on, and queries that it is only evaluated on.

A world is built from a config (such as :class:`TwoHop` or :class:`Graph`) and a seed,
or from a user's files (:class:`Triples`, :func:`read_edges`). Curricula train models on
its facts, and probes evaluate them on its queries. This package does not import torch.
"""

from typing import TYPE_CHECKING

from inweights.support.lazy import lazily

if TYPE_CHECKING:
    from inweights.worlds.families.analogy import AnalogicalTwoHop as AnalogicalTwoHop
    from inweights.worlds.families.analogy import Analogy as Analogy
    from inweights.worlds.families.graphs.graph import Graph as Graph
    from inweights.worlds.families.graphs.networkx_graphs import (
        from_networkx as from_networkx,
    )
    from inweights.worlds.families.hops import Hops as Hops
    from inweights.worlds.families.implication import Implication as Implication
    from inweights.worlds.families.in_context import InContextStar as InContextStar
    from inweights.worlds.families.own_path_star import OwnPathStar as OwnPathStar
    from inweights.worlds.families.own_path_star import read_path_star as read_path_star
    from inweights.worlds.families.path_star import PathStar as PathStar
    from inweights.worlds.families.random_facts import RandomFacts as RandomFacts
    from inweights.worlds.families.reversal import Reversal as Reversal
    from inweights.worlds.families.storage import load_world as load_world
    from inweights.worlds.families.storage import save_world as save_world
    from inweights.worlds.families.two_hop import TwoHop as TwoHop
    from inweights.worlds.knowledge.analogy_rows import AnalogyRow as AnalogyRow
    from inweights.worlds.knowledge.analogy_rows import read_analogies as read_analogies
    from inweights.worlds.knowledge.knowledge import Knowledge as Knowledge
    from inweights.worlds.knowledge.knowledge import Remark as Remark
    from inweights.worlds.knowledge.knowledge import read_knowledge as read_knowledge
    from inweights.worlds.knowledge.triples import Facts as Facts
    from inweights.worlds.knowledge.triples import Triples as Triples
    from inweights.worlds.knowledge.words.wording import Wording as Wording
    from inweights.worlds.readers.graphs.edge_list import EdgeList as EdgeList
    from inweights.worlds.readers.graphs.edge_lists import read_edges as read_edges
    from inweights.worlds.registry import Altered as Altered
    from inweights.worlds.registry import WorldConfig as WorldConfig
    from inweights.worlds.registry import open_world as open_world
    from inweights.worlds.registry import register_world as register_world
    from inweights.worlds.registry import world_names as world_names
    from inweights.worlds.world import FACT_ROLES as FACT_ROLES
    from inweights.worlds.world import QUERY_ROLES as QUERY_ROLES
    from inweights.worlds.world import Statement as Statement
    from inweights.worlds.world import Statements as Statements
    from inweights.worlds.world import Vocabulary as Vocabulary
    from inweights.worlds.world import World as World

lazily(__name__)
