"""What the commands share: the application, and options that several have."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter, Token

from inweights import __version__

__all__ = [
    "Download",
    "Flag",
    "Fresh",
    "Json",
    "On",
    "Overrides",
    "Place",
    "Plugins",
    "Runs",
    "Strict",
    "Whole",
    "app",
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
Json = Annotated[bool, Parameter(name="--json", negative=())]
Download = Annotated[bool, Parameter(name="--download", negative=())]
Strict = Annotated[bool, Parameter(name="--strict", negative=())]
Fresh = Annotated[bool, Parameter(name="--fresh", negative=())]
Runs = Annotated[Path | None, Parameter(name="--runs")]
On = Annotated[str, Parameter(name="--on")]
Place = Annotated[str, Parameter(name="--store")]
Plugins = Annotated[tuple[str, ...], Parameter(name="--plugin", negative=())]
Overrides = Annotated[tuple[str, ...], Parameter(name="--set", negative=())]
