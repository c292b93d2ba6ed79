"""Check that the numbers of configs are in range, and that every given setting has an effect."""

from collections.abc import Mapping

from inweights.errors import ConfigError

#: Largest size, unless another limit is given.
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
    """Raise an error for a number that is out of range; NaN always is.

    Args:
        name: Name of the setting, for the message.
        value: The number.
        least: Smallest valid number, 1 by default.
        most: Largest valid number; by default :data:`MOST`, also with ``above`` or
            ``below``.
        above: Limit that the number must exceed, which replaces ``least``; ``None`` for
            no such limit.
        below: Limit that the number must not reach, besides being at least ``least``;
            ``None`` for no such limit.

    Raises:
        ConfigError: The number is out of range.

    Example:
        >>> check_size("gpt.width", 0)
        Traceback (most recent call last):
        ...
        inweights.errors.ConfigError: gpt.width must be at least 1, got 0
    """
    if below is not None and not least <= value < below:
        raise ConfigError(
            f"{name} must be at least {least:g} and below {below:g}, got {value}"
        )
    if above is not None and not value > above:
        raise ConfigError(f"{name} must be above {above:g}, got {value}")
    if not value >= (least if above is None else above):
        raise ConfigError(f"{name} must be at least {least:g}, got {value}")
    if not value <= most:
        raise ConfigError(f"{name} must be at most {most:.10g}, got {value}")


def refuse_idle(
    owner: str, given: Mapping[str, object], has_effect: bool, where: str
) -> None:
    """Raise an error for given settings that have no effect together with another setting.

    Args:
        owner: Name of the config, for the message.
        given: The settings; a value that is false, such as 0, counts as not given.
        has_effect: Whether they have an effect; if so, no error is raised.
        where: The setting that makes them ineffective, as text.

    Raises:
        ConfigError: A given setting has no effect.

    Example:
        >>> refuse_idle("schedule", {"final": 0.1}, False, "kind = 'constant'")
        Traceback (most recent call last):
        ...
        inweights.errors.ConfigError: schedule.final has no effect with kind = 'constant'; leave it
        out
    """
    if has_effect:
        return
    for name, value in given.items():
        if value:
            raise ConfigError(
                f"{owner}.{name} has no effect with {where}; leave it out"
            )
