"""What the commands share: the application, and options that several have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from inweights import __version__

__all__ = ["Download", "Fresh", "Json", "Overrides", "Plugins", "Runs", "Strict", "app"]

app = App(
    name="inweights",
    version=__version__,
    suppress_keyboard_interrupt=False,
    help=(
        "A laboratory for in-weights reasoning: teach a sequence model facts, then find out "
        "whether it combines facts that it never saw together. Add --debug for a traceback."
    ),
)

Json = Annotated[bool, Parameter(name="--json", negative=())]
Download = Annotated[bool, Parameter(name="--download", negative=())]
Strict = Annotated[bool, Parameter(name="--strict", negative=())]
Fresh = Annotated[bool, Parameter(name="--fresh", negative=())]
Runs = Annotated[Path | None, Parameter(name="--runs")]
Plugins = Annotated[tuple[str, ...], Parameter(name="--plugin", negative=())]
Overrides = Annotated[tuple[str, ...], Parameter(name="--set", negative=())]
