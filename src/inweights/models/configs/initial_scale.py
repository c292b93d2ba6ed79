"""The initial scale of a model's weight matrices, :class:`Init`, a setting of every config.

:func:`~inweights.models.layers.initialise` uses it to draw the initial values. Nothing
here imports torch.
"""

from __future__ import annotations

import sys

from inweights.config import Config, check_size
from inweights.errors import ConfigError

#: Largest scale of logits or initial values: the largest finite float.
MAX_SCALE = sys.float_info.max


class Init(Config):
    """Initial scale of every weight matrix: entries are drawn from ``N(0, σ²)``.

    Identity Bridge §3.4: GPT-2 uses ``σ = 0.02``; a small initialisation uses ``σ =
    d_in^-γ`` with ``γ > 0.5``. The input width ``d_in`` of an embedding is the model's
    width, as for its tied head.

    Attributes:
        std: Standard deviation ``σ``; unused if ``gamma`` is given.
        gamma: Exponent ``γ`` of the input width; ``None`` (the default) to use ``std``.

    Raises:
        ConfigError: A value is not a number above 0, or is above 65,536.

    Example:
        >>> Init().sigma(64), round(Init(gamma=1.25).sigma(64), 4)
        (0.02, 0.0055)
    """

    std: float = 0.02
    gamma: float | None = None

    def __post_init__(self) -> None:
        check_size("init.std", self.std, above=0)
        check_size("init.gamma", 1.0 if self.gamma is None else self.gamma, above=0)

    def sigma(self, fan_in: int) -> float:
        """Return the standard deviation: ``fan_in ** -gamma``, or ``std`` if ``gamma`` is ``None``.

        Args:
            fan_in: Input width of the matrix, at least 1.
        """
        if self.gamma is None:
            return self.std
        return float(fan_in) ** -self.gamma


def check_std(name: str, std: float | None) -> None:
    """Raise an error unless an initial standard deviation is ``None`` or a valid number.

    Args:
        name: Name of the setting in messages, such as ``gpt.embedding_std``.
        std: The standard deviation; ``None`` means that the config's ``init``
            determines it.

    Raises:
        ConfigError: The standard deviation is not above 0, or is above 65,536.
    """
    if std is not None and not 0 < std <= MAX_SCALE:
        raise ConfigError(
            f"{name} must be above 0, got {std}; leave it out to use the scale that 'init' "
            "gives"
        )
