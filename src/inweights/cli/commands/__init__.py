"""The commands of the command line, one file a subject; importing this registers all of them."""

from inweights.cli.commands import (
    augment,
    catalogue,
    experiments,
    facts,
    graphs,
    language,
    machines,
    results,
    sweeps,
)
from inweights.cli.commands.base import app

__all__ = [
    "app",
    "augment",
    "catalogue",
    "experiments",
    "facts",
    "graphs",
    "language",
    "machines",
    "results",
    "sweeps",
]
