"""Compute the margin of a group member's fact that is trained only for other members.

The formula, in :func:`transfer_margin`, is our own.
"""

from __future__ import annotations

import math

from inweights.errors import ConfigError


def transfer_margin(members: int, told: int) -> float:
    """Return the margin of a group member's held-out fact at the optimum of program (2).

    Program (2) of Identity Bridge (§4.3) minimises the nuclear norm of the matrix of
    logits ``W`` subject to a margin of at least 1 for every training fact.

    All ``members`` of a group share a value of one relation. For ``told`` of them (the
    examples), another fact gives a second value. For the other members, this second
    value follows, correctly or not, with a margin of ``min(1, √(told / (members -
    told)))``, for any number of groups. A single example is therefore enough for any
    group. If facts give the second value for half of the group, its margin for the
    other half is that of a trained fact. The formula applies to
    :class:`~inweights.worlds.Implication` without counter-examples. A counter-example
    is a member that has the second value of another group. If there are more
    counter-examples than examples, the margin is negative. The formula is our own. It
    was found on certified optima and is tested against them, but it is not proved.

    Args:
        members: Number of members of one group, at least 2.
        told: Number of members whose second value is given by a fact, from 1 to
            ``members - 1``.

    Returns:
        The margin, in units of the margin of a trained fact, above 0 and at most 1.

    Raises:
        ConfigError: ``told`` is not between 1 and ``members - 1``.

    Example:
        >>> transfer_margin(4, 2), round(transfer_margin(10, 1), 4)
        (1.0, 0.3333)
    """
    if not 1 <= told < members:
        raise ConfigError(
            f"transfer_margin.told must be at least 1 and below members = {members}, got {told}"
        )
    return min(1.0, math.sqrt(told / (members - told)))
