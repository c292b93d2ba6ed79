"""The commands of the command line, one file a subject; importing this registers all of them."""

from inweights.commands import experiments, facts, graphs, language, sweeps
from inweights.commands.base import app

__all__ = ["app", "experiments", "facts", "graphs", "language", "sweeps"]
