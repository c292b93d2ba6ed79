"""The commands of the command line, one file a subject; importing this registers all of them."""

from inweights.cli.commands import (  # noqa: F401 - each registers its commands
    augment,
    catalogue,
    comparisons,
    experiments,
    facts,
    first,
    graphs,
    language,
    machines,
    results,
)  # fmt: skip
from inweights.cli.commands.base import app, do

__all__ = ["app", "do"]
