"""Tell how long recipes take: processor minutes at their scale ``cpu``, for all seeds.

``minutes.json`` is written by ``tests/house/catalogue.py`` of the repository, and a
test compares its versions with those of the recipes. ``inweights run RECIPE --dry-run``
estimates a run on one's own machine.
"""

import time
from functools import lru_cache
from importlib import resources

import msgspec

from inweights.support.progress import roughly

FILE = "minutes.json"
#: How often the pace is tried, and how often a try does its work: some hundredths of a
#: second.
_PACES = 8
_CALLS = 20
#: Pace of the machine of timings that do not say theirs: 43 recipes were timed again on
#: another one, and this is the median.
_PACE = 16.2


class Timing(msgspec.Struct, frozen=True):
    """How long a recipe takes.

    Attributes:
        version: Version of the recipe that was timed.
        minutes: Minutes of one processor, at scale ``cpu``.
        most: Whether it may take less, as trainings end when they have learnt.
        pace: :func:`pace` of the machine at that time.
        shared: Minutes of trainings among them that a recipe before it in the list has,
            too, with the same key, and that need no other measures while they train:
            with their weights stored (``--keep-models``), they are only measured again.
    """

    version: int
    minutes: float
    most: bool = False
    pace: float = _PACE
    shared: float = 0.0

    def here(self, pace: float) -> float:
        """Return the minutes on a machine of another pace.

        Example:
            >>> Timing(version=1, minutes=10.0, pace=2.0).here(3.0)
            15.0
        """
        return self.minutes * pace / self.pace

    def shared_here(self, pace: float) -> float:
        """Return the shared minutes on a machine of another pace.

        Example:
            >>> Timing(version=1, minutes=10.0, pace=2.0, shared=4.0).shared_here(1.0)
            2.0
        """
        return self.shared * pace / self.pace


@lru_cache(maxsize=1)
def timings() -> dict[str, Timing]:
    """Return the timings of the built-in recipes, by name."""
    text = resources.files("inweights.recipes.catalogue").joinpath(FILE).read_bytes()
    return msgspec.json.decode(text, type=dict[str, Timing])


def minutes_of(name: str) -> float | None:
    """Return the processor minutes of a recipe; ``None`` where they are not known.

    Example:
        >>> minutes_of("mine/rings") is None
        True
    """
    known = timings().get(name)
    return known.minutes if known else None


def cost_of(name: str) -> str:
    """Return what a recipe takes at scale ``cpu``, in words; "" where it is not known.

    Example:
        >>> cost_of("mine/rings")
        ''
    """
    known = timings().get(name)
    if known is None:
        return ""
    return f"{'at most' if known.most else 'about'} {roughly(60 * known.minutes)} on one core"


def pace() -> float:
    """Return how slow this machine is: processor milliseconds of fixed work, one thread.

    The work is that of a small block in plain tensor operations, so that it changes
    with the machine and not with this library; the least of some tries, as other work
    here only adds.
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
