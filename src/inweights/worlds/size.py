"""Memory of a world, estimated before it is built."""

import math

import msgspec

from inweights.config import check_size
from inweights.errors import ConfigError
from inweights.support.limits import check_memory

#: The largest number of anything that a world is made of.
MAX_OF = 10**12

#: Bytes of a token (its name, and its place in a dictionary), and of a place in a statement, with
#: the arrays that a world is made of. Measured at a million two-hop facts: 812 MB, 780 by these.
_TOKEN, _PLACE = 180, 20


def check_world(kind: str, *, tokens: float, statements: float, length: float = 3.0) -> None:
    """Refuse a world that does not fit into the memory."""
    what = f"a world '{kind}' of {tokens:.3g} tokens and {statements:.3g} statements"
    check_memory(what, _TOKEN * tokens + _PLACE * length * statements, hint="make it smaller")


def check_counts(kind: str, config: msgspec.Struct, **least: int) -> None:
    """Refuse counts that are too small, or beyond :data:`MAX_OF`."""
    for name, bound in least.items():
        check_size(f"{kind}: {name}", getattr(config, name), least=bound, most=MAX_OF)


def check_fraction(kind: str, name: str, value: float) -> None:
    """Refuse what is no fraction from 0 to 1."""
    if not 0.0 <= float(value) <= 1.0:
        raise ConfigError(f"{kind}: {name} must be a fraction from 0 to 1, got {value}")


def check_depth(kind: str, nodes: int, branches: int) -> None:
    """Refuse a tree with more nodes than can be counted."""
    if branches > 1 and nodes * math.log2(branches) > 60:
        raise ConfigError(
            f"{kind}: a tree of {nodes} nodes from root to leaf and {branches} children each has "
            "more than 10^18 nodes; use fewer nodes or branches"
        )
