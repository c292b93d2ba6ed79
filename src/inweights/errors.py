"""The errors a user meets. Each says what was given, what was expected and what to do."""

import difflib
from collections.abc import Collection, Iterable


class CautionWarning(UserWarning):
    """A study has run, and its numbers do not say what they seem to say."""


class InweightsError(Exception):
    """Base of all errors that the package raises on purpose.

    Attributes:
        exit_code: What the command line exits with: 2 for bad input, 1 for a failed run.
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
    """Return the known name closest to ``given``, or ``None`` where none is close.

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
    """Refuse what is of none of the given types.

    Args:
        what: Name of the argument, as the message says it.
        given: What was given for it.
        kinds: Types of which it has to be one.
        error: The error that is raised.
        hint: What to do, appended to the message.

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
    """Refuse the first of the given names that is not among ``known``."""
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
    """Return the error for a name that is not among ``known``.

    Where more than twenty are known, the nearest eight are named.

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
