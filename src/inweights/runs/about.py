"""What a run folder says of its run, for a list of runs; no result is believed from it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from inweights.errors import FolderError

if TYPE_CHECKING:
    from inweights.runs.folder import RunFolder


class About(msgspec.Struct):
    """What was asked of a run, as its folder remembers it."""

    overrides: tuple[str, ...] = ()
    plugins: tuple[str, ...] = ()
    seconds: float = 0.0


def about(folder: RunFolder) -> About:
    """Return what a run's folder remembers; nothing where it is not done, or damaged."""
    try:
        return msgspec.convert(folder.json("outcome.json"), About)
    except (FolderError, msgspec.ValidationError):
        return About()


def remembered(folder: RunFolder) -> tuple[str, ...]:
    """Return the plugins that a run was made with. Their code is not to be run for that."""
    return about(folder).plugins


def when(folder: RunFolder) -> str:
    """Return when a run was last changed, by this machine's clock; "" where nothing is known."""
    place = folder.path if folder.complete else folder.work
    try:
        changed = (place / "config.json").stat().st_mtime
    except OSError:
        return ""
    return datetime.fromtimestamp(changed).astimezone().strftime("%Y-%m-%d %H:%M")


def written(seeds: Sequence[Any]) -> str:
    """Return seeds as they are written on the command line.

    Example:
        >>> written([100, 101, 102]), written([7, 9]), written([7])
        ('100..102', '7,9', '7,')
    """
    seeds = list(seeds)
    numbers = all(isinstance(seed, int) for seed in seeds)
    if numbers and len(seeds) > 1 and seeds == list(range(seeds[0], seeds[0] + len(seeds))):
        return f"{seeds[0]}..{seeds[-1]}"
    return ",".join(map(str, seeds)) + "," * (len(seeds) == 1)
