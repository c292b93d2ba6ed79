"""Interface of an open run of a tracker, and the format of names and settings.

A :class:`Tool` is one open run; :mod:`~inweights.training.trackers.tools` implements
this interface for each tracker.
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
    """Interface of one open run of an experiment tracker."""

    def log(self, step: int | None, numbers: Mapping[str, float]) -> None:
        """Log numbers, such as losses and accuracies.

        Args:
            step: The step to which the numbers belong; ``None`` for the entire run.
            numbers: Mapping from the name of each number to its value.
        """

    def files(self, paths: Sequence[Path]) -> None:
        """Store copies of files with the run. TensorBoard stores only PNG images.

        Args:
            paths: Paths of the files.
        """

    def end(self, *, failed: bool) -> None:
        """Close the run.

        Args:
            failed: Whether the work failed. Weights & Biases and MLflow record this;
                other trackers do not.
        """


def module_of(tool: str) -> Any:
    """Import the module of a tracker, and return it.

    Args:
        tool: Name of the tracker: ``wandb``, ``trackio``, ``mlflow`` or
            ``tensorboard``.

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

    An equals sign becomes a hyphen, and a comma before a space is removed. Letters,
    digits, spaces and ``_ . / , -`` are unchanged. Every other character becomes an
    underscore.

    Args:
        name: Any text.

    Example:
        >>> plain_name("width = 8; rate: 0.1")
        'width - 8_ rate_ 0.1'
    """
    return re.sub(r"[^\w.=/, -]", "_", name).replace(", ", " ").replace("=", "-")


def flat_settings(config: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Return nested settings as a flat dictionary with keys such as ``learner.phases.0.steps``.

    The path of an item in a list of mappings contains its index. Any other list is
    treated as a single value. Empty mappings are left out.

    Args:
        config: The settings, as plain values.
        before: Prefix of every path, including the last dot; empty by default.

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
