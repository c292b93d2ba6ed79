"""Numbers of configs: in range, or refused."""

from inweights.errors import ConfigError

#: The largest number that a size may be, unless something else is said.
MOST = 65_536


def check_size(
    name: str,
    value: float,
    *,
    least: float = 1,
    most: float = MOST,
    above: float | None = None,
    below: float | None = None,
) -> None:
    """Refuse a number out of range; one that is not a number is.

    ``above`` and ``below`` are limits that it must not reach.

    Raises:
        ConfigError: It is.

    Example:
        >>> check_size("gpt.width", 0)
        Traceback (most recent call last):
        ...
        inweights.errors.ConfigError: gpt.width must be at least 1, got 0
    """
    if below is not None and not least <= value < below:
        raise ConfigError(f"{name} must be at least {least:g} and below {below:g}, got {value}")
    if above is not None and not value > above:
        raise ConfigError(f"{name} must be above {above:g}, got {value}")
    if not value >= (least if above is None else above):
        raise ConfigError(f"{name} must be at least {least:g}, got {value}")
    if not value <= most:
        raise ConfigError(f"{name} must be at most {most:.10g}, got {value}")
