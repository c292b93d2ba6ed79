"""Interface of an open run of every tracker, and the format of names and settings.

:class:`Tool` is one open run; :mod:`~inweights.training.trackers.tools` implements it
for each tracker.
"""

import importlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from inweights.errors import ConfigError, check_names

#: The module of each tracker; the tracker's name is also that of its package.
MODULES = {
    "tensorboard": "torch.utils.tensorboard",
    "wandb": "wandb",
    "trackio": "trackio",
    "mlflow": "mlflow",
}


class Tool(Protocol):
    """One open run of a tracker."""

    def log(self, step: int | None, numbers: Mapping[str, float]) -> None:
        """Log numbers, such as losses and accuracies.

        Args:
            step: The step to which they belong; ``None`` for the run as a whole.
            numbers: The numbers by name.
        """

    def files(self, paths: Sequence[Path]) -> None:
        """Store copies of files with the run.

        Args:
            paths: The files.
        """

    def end(self, *, failed: bool) -> None:
        """Close the run.

        Args:
            failed: Whether the work failed.
        """


def module_of(tool: str) -> Any:
    """Import and return the module of a tracker.

    Args:
        tool: ``wandb``, ``trackio``, ``mlflow`` or ``tensorboard``.

    Raises:
        ConfigError: The tracker is unknown, or its package is not installed.
    """
    check_names("tracker", [tool], MODULES)
    try:
        return importlib.import_module(MODULES[tool])
    except ImportError:
        raise ConfigError(
            f"the tracker {tool} is not installed: pip install {tool}"
        ) from None


def plain_name(name: str) -> str:
    """Return a name in which characters that a tracker may reject are replaced.

    An equals sign becomes a hyphen, a comma before a space is dropped, and every other
    character that is not a letter, a digit or one of ``_ . / , -`` or a space becomes
    an underscore.

    Args:
        name: Any text.

    Example:
        >>> plain_name("width = 8; rate: 0.1")
        'width - 8_ rate_ 0.1'
    """
    return re.sub(r"[^\w.=/, -]", "_", name).replace(", ", " ").replace("=", "-")


def flat_settings(config: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Return settings by their dotted paths, such as ``learner.phases.0.steps``.

    An item of a list of mappings has its index in the path; other lists are unchanged.

    Args:
        config: The settings, as plain values.
        before: Prefix of every path.

    Example:
        >>> flat_settings({"learner": {"phases": [{"steps": 5}]}})
        {'learner.phases.0.steps': 5}
    """
    found: dict[str, Any] = {}
    for key, value in config.items():
        inner = value
        if isinstance(value, list | tuple) and value and isinstance(value[0], Mapping):
            inner = {str(i): item for i, item in enumerate(value)}
        if isinstance(inner, Mapping):
            found |= flat_settings(inner, f"{before}{key}.")
        else:
            found[f"{before}{key}"] = inner
    return found
