"""What the commands share: the application, and options that several have."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter, Token

from inweights import __version__

__all__ = [
    "Device",
    "Download",
    "DryRun",
    "Flag",
    "Fresh",
    "Json",
    "KeepModels",
    "On",
    "Overrides",
    "Place",
    "Plugins",
    "Query",
    "Runs",
    "Seeds",
    "Strict",
    "Whole",
    "app",
    "choices",
]


def _whole(_kind: type, tokens: Sequence[Token]) -> int:
    """A whole number: 1.5 is none, and is not rounded."""
    try:
        return int(tokens[0].value)
    except ValueError:
        raise ValueError(f'unable to convert "{tokens[0].value}" into a whole number') from None


app = App(
    name="inweights",
    version=__version__,
    suppress_keyboard_interrupt=False,
    help=(
        "A laboratory for in-weights reasoning: teach a sequence model facts, then find out "
        "whether it combines facts that it never saw together. To every command --debug adds a "
        "traceback, and --max-memory 8GB holds it to so much memory: what would take more is "
        "refused before it begins."
    ),
)

#: A switch that is off unless it is named.
Flag = Annotated[bool, Parameter(negative=())]
#: A whole number.
Whole = Annotated[int, Parameter(converter=_whole)]
# Options of several commands, with what --help says of them; the others stand in docstrings.
_PLUGIN = "A Python module or file of your own to load first; may be repeated."
_DRY = "Only say what it would take: runs, steps, minutes, memory, and what is stored already."
_HUB = "Allow a hub name to be fetched; else only what is on this disk is read."
_QUERY = "SQL that gives subject, relation and object, where the facts are in a database."
_ON = "ray, or the address ray://HOST:PORT of a Ray cluster; this machine if left out."
Json = Annotated[Flag, Parameter(help="Print JSON in place of text.")]
Device = Annotated[str, Parameter(help="cpu or cuda.")]
Download = Annotated[Flag, Parameter(help=_HUB)]
DryRun = Annotated[Flag, Parameter(help=_DRY)]
Fresh = Flag
KeepModels = Annotated[Flag, Parameter(help="Store the trained weights, too.")]
On = Annotated[str, Parameter(help=_ON)]
Overrides = Annotated[tuple[str, ...], Parameter(name="--set", negative=())]
Place = Annotated[str, Parameter(name="--store")]
Plugins = Annotated[tuple[str, ...], Parameter(name="--plugin", negative=(), help=_PLUGIN)]
Query = Annotated[str, Parameter(help=_QUERY)]
Runs = Annotated[Path | None, Parameter(help="Folder of all runs; $INWEIGHTS_RUNS, or ./runs.")]
Seeds = Annotated[
    str | None, Parameter(help="Number of replicates, or which: 8, 900..907 or 7,8,9.")
]
Strict = Annotated[Flag, Parameter(help="Exit with 1 when a claim did not reproduce.")]


def choices(seeds: str | None, changes: Iterable[str], plugins: Iterable[str]) -> list[str]:
    """Return the words that make the same choices again, where a command is written down.

    Example:
        >>> choices("8", ["n=5"], ["my_lab"])
        ['--seeds', '8', '--set', 'n=5', '--plugin', 'my_lab']
    """
    words = ["--seeds", seeds] if seeds else []
    words += [word for change in changes for word in ("--set", change)]
    return words + [word for module in plugins for word in ("--plugin", module)]
