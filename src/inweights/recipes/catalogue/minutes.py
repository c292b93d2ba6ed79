"""Look up the processor time of recipes at scale ``cpu``, in minutes for all seeds.

``tests/house/catalogue.py`` of the repository writes the file ``minutes.json``, and a
test compares the versions in this file with those of the recipes. ``inweights run
RECIPE --dry-run`` estimates the time of a run on your own machine.
"""

import time
from functools import lru_cache
from importlib import resources

import msgspec

from inweights.support.progress import roughly

FILE = "minutes.json"
#: Number of repetitions of the measurement, and of the computation in each repetition,
#: which takes some hundredths of a second.
_PACES = 8
_CALLS = 20
#: Pace of the machine of those timings that were stored without a pace: the median over
#: 43 recipes that were timed again on another machine.
_PACE = 16.2


class Timing(msgspec.Struct, frozen=True):
    """Processor time of a recipe at its scale ``cpu``, for all of its seeds.

    Attributes:
        version: Version of the recipe when it was timed.
        minutes: Processor time in minutes, on one core.
        most: Whether ``minutes`` is an upper bound, because training runs stop as soon
            as the facts are learned; by default false.
        pace: Pace of the machine on which the recipe was timed, in milliseconds, as
            measured by :func:`pace`; by default the pace of the machine on which most
            recipes were timed.
        shared: Part of ``minutes`` that is spent on training runs which also belong to
            an earlier recipe in the list of recipes. If that recipe was run with
            ``--keep-models``, these models are loaded instead of being trained again.
            By default 0.
    """

    version: int
    minutes: float
    most: bool = False
    pace: float = _PACE
    shared: float = 0.0

    def here(self, pace: float) -> float:
        """Return the estimated minutes of the recipe on a machine of the given pace.

        Args:
            pace: Pace of that machine in milliseconds, as measured by :func:`pace`.

        Returns:
            ``minutes * pace / self.pace``, for all seeds at scale ``cpu``.

        Example:
            >>> Timing(version=1, minutes=10.0, pace=2.0).here(3.0)
            15.0
        """
        return self.minutes * pace / self.pace

    def shared_here(self, pace: float) -> float:
        """Return the estimated minutes of shared training runs on a machine of the given pace.

        Training runs are shared if they also belong to an earlier recipe in the list of
        recipes.

        Args:
            pace: Pace of that machine in milliseconds, as measured by :func:`pace`.

        Returns:
            ``shared * pace / self.pace``, for all seeds at scale ``cpu``.

        Example:
            >>> Timing(version=1, minutes=10.0, pace=2.0, shared=4.0).shared_here(1.0)
            2.0
        """
        return self.shared * pace / self.pace


@lru_cache(maxsize=1)
def timings() -> dict[str, Timing]:
    """Return the stored timings of all recipes that were timed, keyed by full name."""
    text = resources.files("inweights.recipes.catalogue").joinpath(FILE).read_bytes()
    return msgspec.json.decode(text, type=dict[str, Timing])


def minutes_of(name: str) -> float | None:
    """Return the processor time of a recipe at scale ``cpu``, or ``None`` if it was not timed.

    Args:
        name: Full name of the recipe. The result for an unknown name is ``None``.

    Returns:
        Minutes on one core for all seeds, on the machine on which the recipe was timed.

    Example:
        >>> minutes_of("demo/two-hop") < 10, minutes_of("mine/rings")
        (True, None)
    """
    known = timings().get(name)
    return known.minutes if known else None


def cost_of(name: str) -> str:
    """Describe the processor time of a recipe at scale ``cpu``, such as ``about 3 minutes``.

    Args:
        name: Full name of the recipe. For an unknown name, the string is empty.

    Returns:
        A string such as ``about 3 minutes on one core``, for all seeds. It begins with
        ``at most`` if training runs stop as soon as the facts are learned. The string
        is empty if the recipe was not timed.

    Example:
        >>> cost_of("demo/two-hop").endswith("on one core"), cost_of("mine/rings")
        (True, '')
    """
    known = timings().get(name)
    if known is None:
        return ""
    return f"{'at most' if known.most else 'about'} {roughly(60 * known.minutes)} on one core"


def pace() -> float:
    """Measure the processor time of a fixed computation, to compare the speed of machines.

    The computation consists of plain torch operations on one thread, so that the result
    depends on the machine and not on this library. It is repeated eight times, and the
    shortest time is returned.

    Returns:
        The time in milliseconds, rounded to three decimals. It is larger on a slower
        machine.
    """
    import torch

    from inweights.training.steps.machine import use_threads

    x = torch.full((24, 32, 64), 0.01)
    up = torch.full((24, 64, 256), 0.01)
    down = up.mT.contiguous()
    spent = []
    with use_threads(1), torch.no_grad():
        for _ in range(_PACES):
            began = time.process_time()
            for _ in range(_CALLS):
                torch.nn.functional.gelu(x @ up) @ down + x
            spent.append(time.process_time() - began)
    return round(1000 * min(spent), 3)
