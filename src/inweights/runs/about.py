"""Read what a run folder records about its run, for commands that list runs.

:func:`about` returns the overrides, plugins and duration; :func:`when` and
:func:`written` format times and seeds. Nothing here verifies a result; use
:meth:`.RunFolder.verify` for that.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from inweights.errors import FolderError

if TYPE_CHECKING:
    from inweights.runs.folder import RunFolder


class About(msgspec.Struct):
    """Overrides, plugins and duration of a run, as recorded in its folder.

    Attributes:
        overrides: Settings that the user overrode, each in the form ``name=value``.
        plugins: Import names of the plugins that were loaded.
        seconds: Wall-clock duration of the run, in seconds.
    """

    overrides: tuple[str, ...] = ()
    plugins: tuple[str, ...] = ()
    seconds: float = 0.0


def about(folder: RunFolder) -> About:
    """Return the overrides, plugins and duration that a run's folder records.

    Args:
        folder: Folder of a run, complete or not.

    Returns:
        The recorded data of a complete run. If the run is incomplete, or its record
        cannot be read, ``overrides`` and ``plugins`` are empty and ``seconds`` is 0.

    Example:
        >>> from inweights.runs import RunStore
        >>> about(RunStore("/tmp/inweights-doctest").folder("own/none", {})).plugins
        ()
    """
    try:
        return msgspec.convert(folder.json("outcome.json"), About)
    except (FolderError, msgspec.ValidationError):
        return About()


def remembered(folder: RunFolder) -> tuple[str, ...]:
    """Return the import names of the plugins that a run used, without importing them.

    Args:
        folder: Folder of a run, complete or not.

    Returns:
        The names; empty if there were none, or if the run is incomplete or damaged.

    Example:
        >>> from inweights.runs import RunStore
        >>> remembered(RunStore("/tmp/inweights-doctest").folder("own/none", {}))
        ()
    """
    return about(folder).plugins


def when(folder: RunFolder) -> str:
    """Return the time at which a run was started, in local time, such as ``2024-05-31 14:02``.

    Args:
        folder: Folder of a run, complete or not.

    Returns:
        The time to the minute, as a string; an empty string if there is no such run.
        For a resumed run, it is the time of the last start. Judging and drawing a
        complete run again does not change it.

    Example:
        >>> from inweights.runs import RunStore
        >>> when(RunStore("/tmp/inweights-doctest").folder("own/none", {}))
        ''
    """
    place = folder.path if folder.complete else folder.work
    try:
        changed = (place / "config.json").stat().st_mtime
    except OSError:
        return ""
    return datetime.fromtimestamp(changed).astimezone().strftime("%Y-%m-%d %H:%M")


def written(seeds: Sequence[Any]) -> str:
    """Return seeds as text, in the form that the command line accepts.

    Args:
        seeds: Root seeds, in the order in which they are written.

    Returns:
        ``first..last`` for two or more consecutive increasing integers; otherwise the
        seeds, separated by commas. A comma follows a single seed. The text is empty if
        there are no seeds.

    Example:
        >>> written([100, 101, 102]), written([7, 9]), written([7])
        ('100..102', '7,9', '7,')
    """
    seeds = list(seeds)
    numbers = all(isinstance(seed, int) for seed in seeds)
    if (
        numbers
        and len(seeds) > 1
        and seeds == list(range(seeds[0], seeds[0] + len(seeds)))
    ):
        return f"{seeds[0]}..{seeds[-1]}"
    if len(seeds) == 1:
        # the comma distinguishes a single seed from a number of seeds
        return f"{seeds[0]},"
    return ",".join(map(str, seeds))
