"""Check a world's settings before it is built: counts, fractions and the memory that it needs.

The configs of all families call these functions in ``__post_init__`` and ``build``.
Each raises a ``ConfigError``.
"""

import math

import msgspec

from inweights.config import check_size
from inweights.errors import ConfigError
from inweights.support.limits import check_memory

#: Largest count in a world's config.
MAX_OF = 10**12

#: Bytes of a token: its name, and its entry in a dictionary. Together with _PLACE, a
#: million two-hop facts are estimated at 780 MB; 812 MB were measured.
_TOKEN = 180
#: Bytes of a token in a statement, including the arrays from which a world is built.
_PLACE = 20


def check_world(
    kind: str, *, tokens: float, statements: float, length: float = 3.0
) -> None:
    """Raise an error if a world will not fit in memory, according to an estimate.

    Args:
        kind: Name of the kind of world, used in messages.
        tokens: Number of tokens in the vocabulary.
        statements: Number of facts and queries.
        length: Mean number of tokens of a statement, prompt and answer together.

    Raises:
        ConfigError: The world does not fit; the message gives the required and the
            available memory.
    """
    what = f"a world '{kind}' of {tokens:.3g} tokens and {statements:.3g} statements"
    check_memory(
        what, _TOKEN * tokens + _PLACE * length * statements, hint="make it smaller"
    )


def check_counts(kind: str, config: msgspec.Struct, **least: int) -> None:
    """Raise an error for counts that are too small, or above 10**12 (:data:`MAX_OF`).

    Args:
        kind: Name of the kind of world, used in messages.
        config: Config of the world.
        least: Smallest valid value of each field to check, as a keyword argument with
            the name of the field.

    Raises:
        ConfigError: A count is below its minimum, or above 10**12.
    """
    for name, bound in least.items():
        check_size(f"{kind}: {name}", getattr(config, name), least=bound, most=MAX_OF)


def check_fraction(kind: str, name: str, value: float) -> None:
    """Raise an error for a setting that is not a fraction from 0 to 1.

    Args:
        kind: Name of the kind of world, used in messages.
        name: Name of the setting.
        value: Value of the setting; a Boolean is read as 0 or 1.

    Raises:
        ConfigError: The value is below 0, above 1, or not a number (NaN).
    """
    if not 0.0 <= float(value) <= 1.0:
        raise ConfigError(f"{kind}: {name} must be a fraction from 0 to 1, got {value}")


def check_depth(kind: str, nodes: int, branches: int) -> None:
    """Raise an error if the number of nodes of a tree may overflow.

    Args:
        kind: Name of the kind of world, used in messages.
        nodes: Number of nodes from the root to a leaf.
        branches: Number of children of a node.

    Raises:
        ConfigError: The tree is too large: ``branches ** nodes`` exceeds 2**60.
    """
    if branches > 1 and nodes * math.log2(branches) > 60:
        raise ConfigError(
            f"{kind}: a tree with paths of {nodes} nodes and {branches} children per node has "
            "more than 10^18 nodes; use fewer nodes or branches"
        )
