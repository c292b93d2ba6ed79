"""How surely what is said of some members of a group is concluded of the others, in closed form.

Ours, found on certified optima of program (2) and checked against them by a test; there is no
proof here. The world is :class:`inweights.worlds.Implication` without counter-examples.
"""

from __future__ import annotations

import math

from inweights.errors import ConfigError


def transfer_margin(members: int, told: int) -> float:
    """Return the margin at the optimum of program (2) of a member's untrained fact.

    Of ``members`` of a group, who share a value, a second value is told of ``told``. For the others
    it follows, rightly or not, with a margin of ``min(1, √(told / (members - told)))``, whatever
    the number of groups: one example is enough for any group, and half of the group makes what was
    not told as sure as what was. Counter-examples that name another group's value turn the sign
    where they are more than the examples.

    Raises:
        ConfigError: Not between one and all but one of the members are told.

    Example:
        >>> transfer_margin(4, 2), round(transfer_margin(10, 1), 4)
        (1.0, 0.3333)
    """
    if not 1 <= told < members:
        raise ConfigError(
            f"transfer_margin.told must be at least 1 and below members = {members}, got {told}"
        )
    return min(1.0, math.sqrt(told / (members - told)))
