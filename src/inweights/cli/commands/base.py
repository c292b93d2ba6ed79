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
        "A laboratory for in-weights reasoning: train a sequence model on facts, then find out "
        "whether it combines facts that it never saw together. To every command --debug adds a "
        "traceback, and --max-memory 8GB limits its memory: work that would need more is "
        "rejected before it starts."
    ),
)

#: A switch that is off unless it is named.
Flag = Annotated[bool, Parameter(negative=())]
#: A whole number.
Whole = Annotated[int, Parameter(converter=_whole)]
# Options of several commands, with what --help says of them; the others stand in docstrings.
_PLUGIN = "A Python module or file to load first (a plugin); may be repeated."
_DRY = "Only print a cost estimate: runs, steps, minutes, memory, and what is already stored."
_HUB = "Allow downloads from the hub; otherwise only local files are read."
_QUERY = "SQL query for subject, relation and object, if the facts are in a database."
_ON = "ray, or the address ray://HOST:PORT of a Ray cluster; by default this machine."
Json = Annotated[Flag, Parameter(help="Print JSON instead of text.")]
Device = Annotated[str, Parameter(help="cpu or cuda.")]
Download = Annotated[Flag, Parameter(help=_HUB)]
DryRun = Annotated[Flag, Parameter(help=_DRY)]
Fresh = Flag
KeepModels = Annotated[Flag, Parameter(help="Also store the trained weights.")]
On = Annotated[str, Parameter(help=_ON)]
Overrides = Annotated[tuple[str, ...], Parameter(name="--set", negative=())]
Place = Annotated[str, Parameter(name="--store")]
Plugins = Annotated[tuple[str, ...], Parameter(name="--plugin", negative=(), help=_PLUGIN)]
Query = Annotated[str, Parameter(help=_QUERY)]
Runs = Annotated[Path | None, Parameter(help="Folder of all runs; $INWEIGHTS_RUNS, or ./runs.")]
Seeds = Annotated[
    str | None, Parameter(help="Number of seeds, or the seeds: 8, 900..907 or 7,8,9.")
]
Strict = Annotated[Flag, Parameter(help="Exit code 1 if a claim did not reproduce.")]


def choices(seeds: str | None, changes: Iterable[str], plugins: Iterable[str]) -> list[str]:
    """Return the arguments that repeat the same choices in a printed command.

    Example:
        >>> choices("8", ["n=5"], ["my_lab"])
        ['--seeds', '8', '--set', 'n=5', '--plugin', 'my_lab']
    """
    words = ["--seeds", seeds] if seeds else []
    words += [word for change in changes for word in ("--set", change)]
    return words + [word for module in plugins for word in ("--plugin", module)]
