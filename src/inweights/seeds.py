"""Named random streams that are derived from counters and have no state.

:class:`Streams` creates random generators for NumPy and torch. Every random number of a
run is a pure function of ``(root seed, stream name, counters)``. Nothing has to be
saved to resume a run, and a replica draws the same numbers whether it is trained alone
or with others. The library has no global seed.
"""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Sequence, Sized
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from inweights.config.border import as_list
from inweights.errors import ConfigError

if TYPE_CHECKING:
    import torch

WORLD: Final = "world"
INITIALISATION: Final = "initialisation"
DATA_ORDER: Final = "data order"
EVALUATION: Final = "evaluation"


def as_seeds(seeds: int | Sequence[int]) -> Sequence[int]:
    """Return a sequence of root seeds: the given seeds, or 0 to ``n - 1`` for an integer ``n``.

    Args:
        seeds: Number of seeds, or the seeds themselves as a list, tuple, range or
            array. The values of a sequence are not checked here; :class:`Streams`
            raises an error for a seed that is out of range.

    Returns:
        A range if ``seeds`` is an integer. Otherwise, the given seeds: a tuple if they
        were given as a tuple, and a list if not.

    Raises:
        ConfigError: The integer is below 1, the sequence is empty, or ``seeds`` is
            neither an integer nor a sequence.

    Example:
        >>> list(as_seeds(3)), as_seeds([7, 9])
        ([0, 1, 2], [7, 9])
    """
    given: Any = as_list(seeds)
    chosen: Sequence[int] = range(given) if isinstance(given, int) else given
    if not isinstance(given, int | Sized) or len(chosen) == 0:
        raise ConfigError(
            f"seeds must be a number of at least 1, such as 3, or a list, such as [7, 9], "
            f"got {seeds}"
        )
    return chosen


class Streams:
    """Named random streams of one run, all derived from one root seed.

    Args:
        root: The root seed, any integer from 0 to 2**63 - 1.

    Raises:
        ConfigError: ``root`` is outside this range, or is not an integer.

    Example:
        >>> bool(Streams(7).numpy(WORLD).integers(100) == Streams(7).numpy(WORLD).integers(100))
        True
        >>> Streams(7).seed(WORLD) == Streams(7).seed(DATA_ORDER)
        False
    """

    def __init__(self, root: int) -> None:
        """Store the root seed.

        Args:
            root: An integer from 0 to 2**63 - 1.

        Raises:
            ConfigError: The root seed is outside this range, or is not an integer.
        """
        try:
            self.root = operator.index(root)
        except TypeError:
            self.root = -1
        if self.root < 0:
            raise ConfigError(f"seed must be an integer of at least 0, got {root}")
        if self.root >= 2**63:
            raise ConfigError(f"seed must be below 2^63, got {root}")

    def seed(self, *path: str | int) -> int:
        """Return the seed of a stream, an integer determined by the root seed and the path.

        Args:
            *path: Name of the stream, followed by counters such as a step or an epoch.
                The number 3 and the text ``"3"`` name the same stream.

        Returns:
            An integer from 0 to ``2**63 - 1``.
        """
        text = "\x1f".join([str(self.root), *map(str, path)])
        digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
        return int.from_bytes(digest, "little") >> 1

    def numpy(self, *path: str | int) -> np.random.Generator:
        """Return a new NumPy generator for a named stream of random numbers.

        Generators for the same path produce the same numbers.

        Args:
            *path: Name of the stream, followed by counters such as a step or an epoch.
        """
        return np.random.default_rng(self.seed(*path))

    def torch(self, *path: str | int) -> torch.Generator:
        """Return a new torch CPU generator for a named stream of random numbers.

        Generators for the same path produce the same numbers.

        Args:
            *path: Name of the stream, followed by counters such as a step or an epoch.
        """
        import torch

        return torch.Generator().manual_seed(self.seed(*path))

    def __repr__(self) -> str:
        return f"Streams({self.root})"
