"""The command line: commands, printed output, errors and exit codes."""

from inweights.support.lazy import lazily

__all__ = ["main"]

__getattr__, __dir__ = lazily(__name__, {"entry": ("main",)})
