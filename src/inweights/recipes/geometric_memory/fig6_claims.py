"""The claims of Figures 6, 21 and 22 of Geometric Memory, one by one."""

from __future__ import annotations

from inweights.recipes.claim import Statement, Target
from inweights.recipes.geometric_memory.common import FROZEN, SOURCE

__all__ = ["CLAIMS", "EARLY", "LATE", "NAME", "SLOW"]

NAME = "geometric-memory/fig6"
EARLY, LATE, SLOW = "early", "late", "late, β₂ = .9995"

state = Statement(NAME, source=SOURCE, place="Fig. 6, §3.2")

CLAIMS = (
    state(
        "associative-in-two-steps",
        "With frozen embeddings of width 512 every edge is stored in at most two steps (first step "
        "of recall 1).",
        Target(most=2.0),
        table="times",
        column="stored",
        where={"architecture": FROZEN},
        each=("graph",),
        published="2",
    ),
    state(
        "one-step-of-correlation",
        "One gradient step of the correlation loss stores every edge at width 512 (recall).",
        Target(least=1.0),
        table="one_step",
        column="recall",
        where={"width": 512},
        each=("graph",),
        place="§3.2, Prop. 4",
    ),
    state(
        "lookup-before-geometry",
        "With free embeddings TinyNN stores the edges before it is geometric: half-time of the "
        "energy in the top eigenspaces minus first step of recall 1.",
        Target(least=1.0),
        table="free",
        column="lag",
        each=("graph",),
    ),
    state(
        "geometry-takes-far-longer",
        "On the cycle a geometric storage (least margin positive) takes ten times the steps of "
        "recall 1 or more.",
        Target(least=10.0),
        table="free",
        column="ratio",
        where={"graph": "cycle"},
    ),
    state(
        "node2vec-takes-long",
        "Node2Vec, which has no lookup, takes tens of steps: half-time of its energy in the top "
        "eigenspaces.",
        Target(least=20.0),
        table="node2vec",
        column="half_time",
        each=("graph",),
    ),
    state(
        "gpt-lookup-first",
        "TinyGPT, too, stores the edges before it is geometric: half-time of its Spearman minus "
        "first step of recall 1.",
        Target(least=0.0),
        table="gpt",
        column="lag",
        each=("graph",),
    ),
    state(
        "margin-soon",
        "On the cycle TinyNN's geometry alone stores the edges after a hundred steps (share of "
        "seeds whose mean margin over the smallest neighbour is positive).",
        Target(least=1.0),
        table="soon",
        column="stored",
        where={"horizon": LATE},
        source="ours",
    ),
    state(
        "margin-later",
        "It still does after the paper's 10,000 steps.",
        Target(least=1.0),
        table="end",
        column="stored",
        where={"horizon": LATE},
        place="C.3.1",
    ),
    state(
        "margin-later-slow",
        "It does where AdamW's second moment forgets half as fast.",
        Target(least=1.0),
        table="end",
        column="stored",
        where={"horizon": SLOW},
        source="ours",
        place="C.3.1",
    ),
)
