"""Check that numbers in configs are in range, and that given settings have an effect."""

from collections.abc import Mapping

from inweights.errors import ConfigError

#: Largest size, unless a check states another limit.
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
    """Raise an error if a number is out of range; NaN is always out of range.

    Args:
        name: Name of the setting, for the error message.
        value: The number.
        least: Smallest valid number, 1 by default.
        most: Largest valid number; by default :data:`MOST` (65,536), which also applies
            if ``above`` or ``below`` is given.
        above: Exclusive lower limit. It replaces ``least``, unless ``below`` is also
            given. By default there is no such limit.
        below: Exclusive upper limit, in addition to ``least`` and ``most``. By default
            there is no such limit.

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
    """Raise an error if a setting is given that has no effect because of another setting.

    Args:
        owner: Name of the config, for the error message.
        given: Values of the settings, by name; a falsy value, such as 0 or an empty
            tuple, is treated as not given.
        has_effect: Whether the settings have an effect; if so, no error is raised.
        where: Text that names the setting because of which the given settings have no
            effect, such as ``kind = 'constant'``, for the error message.

    Raises:
        ConfigError: A given setting has no effect.

    Example:
        >>> refuse_idle("schedule", {"final": 0.1}, False, "kind = 'constant'")
        Traceback (most recent call last):
        ...
        inweights.errors.ConfigError: schedule.final has no effect when kind = 'constant'; leave it
        out
    """
    if has_effect:
        return
    for name, value in given.items():
        if value:
            raise ConfigError(
                f"{owner}.{name} has no effect when {where}; leave it out"
            )
