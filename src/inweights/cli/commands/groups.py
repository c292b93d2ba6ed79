"""Options that travel together: a command takes a group, and the command line flattens it.

What ``--help`` says of an option stands with its type in ``base``, or in the docstring of the group
or of the command, as ``group.option``. No annotation is a string here: cyclopts would look its
names up in the module of a class that inherits them.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cyclopts import Parameter

from inweights.cli.commands.base import (
    Device,
    Download,
    DryRun,
    Flag,
    Fresh,
    Json,
    KeepModels,
    On,
    Overrides,
    Place,
    Plugins,
    Query,
    Runs,
    Seeds,
    Strict,
    Whole,
)

if TYPE_CHECKING:
    from inweights.lab.engine.outcome import Outcome

__all__ = ["Changes", "Choice", "Common", "Doing", "Finished", "How", "Source", "Verdicts"]

_group = Parameter(name="*")


@_group
@dataclass(frozen=True, kw_only=True)
class Common:
    """What almost every command takes."""

    json: Json = False
    plugin: Plugins = ()

    def load(self) -> None:
        """Load the plugins."""
        from inweights.support.plugins import load_plugins

        load_plugins(self.plugin)


@_group
@dataclass(frozen=True, kw_only=True)
class Verdicts(Common):
    """How claims are shown, and whether one that fails is an error."""

    full: Flag = False
    strict: Strict = False


@_group
@dataclass(frozen=True, kw_only=True)
class Source:
    """Where facts come from, beside their name."""

    query: Query = ""
    download: Download = False


@_group
@dataclass(frozen=True, kw_only=True)
class Changes:
    """What is made: changed settings, and a root seed."""

    set: Overrides = ()
    seed: Whole = 0


@_group
@dataclass(frozen=True, kw_only=True)
class Choice:
    """What is run: seeds, and changed settings."""

    seeds: Seeds = None
    set: Overrides = ()

    @property
    def numbers(self) -> int | tuple[int, ...] | None:
        """Number of replicates, or their seeds; ``None`` for the recipe's own."""
        from inweights.lab.grammar.recipe import parse_seeds

        return parse_seeds(self.seeds) if self.seeds is not None else None


@_group
@dataclass(frozen=True, kw_only=True)
class How:
    """How a run is done."""

    runs: Runs = None
    device: Device = "cpu"
    jobs: Whole = 0
    fresh: Fresh = False


@_group
@dataclass(frozen=True, kw_only=True)
class Doing(How):
    """How a run is done that may be done elsewhere, or only be looked ahead to."""

    store: Place = ""
    on: On = ""
    keep_models: KeepModels = False
    dry_run: DryRun = False


@_group
@dataclass(frozen=True, kw_only=True)
class Finished:
    """Which finished run of a recipe."""

    scale: str = "cpu"
    runs: Runs = None

    def open(self, name: str, *, again: bool = False) -> "Outcome":
        """Open it."""
        from inweights import laboratory

        return laboratory.open_run(name, self.scale, runs=self.runs, again=again)
