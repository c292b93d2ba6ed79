"""The kinds of constraints of program (2) for the two-hop world, in the twelve parameters of (3).

:data:`CONSTRAINTS` contains their coefficients, and :func:`constraints` returns their
names.
"""

from __future__ import annotations

#: Constraints of program (2) in symmetric form, as coefficients of the twelve
#: parameters. The paper's (4), (5), (35) and (37) omit those with a star.
CONSTRAINTS: dict[str, dict[str, float]] = {
    "first hop, other bridge": {"a1": 1},
    "first hop, own object": {"a1": 1, "a2": 1, "e": 1, "c1": -1, "c2": -1, "g": -1},
    "first hop, other object*": {"a1": 1, "a2": 1, "e": 1, "c2": -1, "g": -1},
    "second hop, other object": {"d1": 1},
    "second hop, own bridge": {"d1": 1, "d2": 1, "h": 1, "b1": -1, "b2": -1, "f": -1},
    "second hop, other bridge*": {"d1": 1, "d2": 1, "h": 1, "b2": -1, "f": -1},
    "identity, other bridge": {"b1": 1},
    "identity, own object": {"b1": 1, "b2": 1, "d1": -1, "d2": -1},
    "identity, other object*": {"b1": 1, "b2": 1, "d2": -1},
}


def constraints(identity: bool = True, complete: bool = True) -> tuple[str, ...]:
    """Return the names of the kinds of constraints of program (2) in symmetric form.

    Program (2) of Identity Bridge (§4.3) minimises the nuclear norm of the matrix of
    logits ``W`` subject to a margin of at least 1 for every training fact.

    Args:
        identity: Whether the identity facts ``(b_i) → b_i`` are included; if not, the
            kinds of their constraints are left out.
        complete: If true, the default, all kinds are returned; if false, only the kinds
            that the paper lists in equations (4), (5), (35) and (37). The names of the
            kinds that it does not list end with a star.

    Returns:
        Names such as ``first hop, other bridge``. A name consists of the kind of prompt
        and the output whose logit must be at least 1 below the logit of the correct
        answer. *Own* means that this output has the index of the prompt, and *other*
        that it has a different index.

    Example:
        >>> constraints(identity=False, complete=False)[:2]
        ('first hop, other bridge', 'first hop, own object')
    """
    names = list(CONSTRAINTS)
    if not identity:
        names = [name for name in names if not name.startswith("identity")]
    if not complete:
        names = [name for name in names if not name.endswith("*")]
    return tuple(names)
