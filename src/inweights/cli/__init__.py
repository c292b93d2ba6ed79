"""The command line: commands, how answers look, errors and exit codes."""

from inweights.support.lazy import lazily

__all__ = ["main"]

__getattr__, __dir__ = lazily(__name__, {"entry": ("main",)})
