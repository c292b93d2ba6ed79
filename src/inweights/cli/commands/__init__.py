"""The commands of the command line, one file a subject; importing this registers all of them."""

from inweights.cli.commands import (  # noqa: F401 - each registers its commands
    augment,
    catalogue,
    claims,
    experiments,
    facts,
    first,
    graphs,
    language,
    league,
    machines,
    results,
    sweeps,
    training,
)  # fmt: skip
from inweights.cli.commands.base import app

__all__ = ["app"]
