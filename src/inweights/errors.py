"""The errors a user meets: each says what was given, what was expected and what to do.

All are subclasses of :class:`InweightsError`; :func:`check_kind`, :func:`check_names`
and
:func:`unknown_name` write the common messages, with the nearest valid name.
"""

import difflib
from collections.abc import Collection, Iterable


class CautionWarning(UserWarning):
    """Warning that a study has run, and its numbers do not mean what they seem to mean."""


class InweightsError(Exception):
    """Base of all errors that the package raises on purpose.

    Attributes:
        exit_code: Exit code of the command line: 2 for bad input, 1 for a failed run.
    """

    exit_code = 2


class ConfigError(InweightsError, ValueError):
    """A configuration, a recipe's name or an option is not valid."""


class DataError(InweightsError, ValueError):
    """A world, a batch or a file of facts is not valid."""


class SolverError(InweightsError, ArithmeticError):
    """A solver of the theory cannot work on what it was given."""


class RunError(InweightsError, RuntimeError):
    """A run failed."""

    exit_code = 1


class WriteError(RunError):
    """Something cannot be written (a full disk, say), so that no other result could be stored."""


class FolderError(RunError):
    """A run's folder is incomplete or was edited."""

    exit_code = 2


def nearest(given: str, known: Iterable[str]) -> str | None:
    """Return the known name closest to a given one, or ``None`` if none is close.

    Args:
        given: The given name.
        known: The valid names.

    Example:
        >>> nearest("identity-bridge/fig22", ["identity-bridge/fig2", "identity-bridge/fig3"])
        'identity-bridge/fig2'
    """
    found = difflib.get_close_matches(given, list(known), n=1, cutoff=0.5)
    return found[0] if found else None


def check_kind(
    what: str,
    given: object,
    *kinds: type,
    error: type[InweightsError] = ConfigError,
    hint: str = "",
) -> None:
    """Raise an error if a value has none of the given types.

    Args:
        what: Name of the argument, for the message.
        given: Its value.
        *kinds: Types of which it must have one.
        error: Class of the error.
        hint: What to do, appended to the message.

    Raises:
        InweightsError: It has another type; of the class ``error``.

    Example:
        >>> check_kind("where", ["seed"], dict, hint="Give {'seed': 0}.")
        Traceback (most recent call last):
        ...
        inweights.errors.ConfigError: where must be a dict, got list: ['seed']. Give {'seed': 0}.
    """
    if isinstance(given, kinds):
        return
    names = " or ".join(kind.__name__ for kind in kinds)
    shown = repr(given)
    shown = shown if len(shown) <= 60 else f"{shown[:57]}..."
    article = "an" if names[0] in "AEIOUaeiou" else "a"
    text = f"{what} must be {article} {names}, got {type(given).__name__}: {shown}"
    raise error(f"{text}. {hint}" if hint else text)


def check_names(
    kind: str,
    given: Iterable[str],
    known: Collection[str],
    *,
    error: type[InweightsError] = ConfigError,
    hint: str = "",
) -> None:
    """Raise an error for the first of the given names that is not among the known ones.

    Args:
        kind: What is named, such as ``strategy``, for the message.
        given: The given names.
        known: The valid names.
        error: Class of the error.
        hint: What to do, appended to the message.

    Raises:
        InweightsError: A name is unknown; of the class ``error``.
    """
    for name in given:
        if name not in known:
            raise unknown_name(kind, name, known, error=error, hint=hint)


def unknown_name(
    kind: str,
    given: str,
    known: Iterable[str],
    *,
    error: type[InweightsError] = ConfigError,
    hint: str = "",
) -> InweightsError:
    """Return the error for a name that is not among the known ones.

    If more than twenty are known, the nearest eight are named.

    Args:
        kind: What is named, such as ``strategy``.
        given: The unknown name.
        known: The valid names.
        error: Class of the error.
        hint: What to do, appended to the message.

    Example:
        >>> print(unknown_name("role", "first_hopp", ["first_hop", "second_hop"]))
        unknown role 'first_hopp'; did you mean 'first_hop'? Known: first_hop, second_hop
    """
    names = sorted(known)
    close = nearest(given, names)
    question = f"; did you mean '{close}'?" if close else "."
    shown = ", ".join(names) if names else "none"
    if len(names) > 20:
        near = difflib.get_close_matches(given, names, n=8, cutoff=0.0)
        shown = f"{', '.join(near)}, and {len(names) - 8} more"
    text = f"unknown {kind} '{given}'{question} Known: {shown}"
    return error(f"{text}. {hint}" if hint else text)
