"""Roles of facts and queries of the built-in worlds.

A role says what a statement is for: curricula choose facts by role, and probes report by role.
"""

#: Roles that facts of the built-in worlds have. A user's world may have others.
FACT_ROLES = (
    "first_hop",
    "second_hop",
    "identity",
    "two_hop",
    "chain",
    "category",
    "similarity",
    "attribution",
    "edge",
    "reverse_edge",
    "self_edge",
    "moved_edge",
    "moved_reverse_edge",
    "path",
    "triple",
    "turned",
    "counter_example",
)
#: Roles that queries of the built-in worlds have.
QUERY_ROLES = (
    "composition",
    "chain",
    "reversal",
    "implication",
    "unstated",
    "conclusion",
    "path",
)
