"""Define the errors and warnings of the package, and check arguments with common messages.

All errors are subclasses of :class:`InweightsError`. Their messages say what was given,
what was expected, and what to do. :func:`check_kind`, :func:`check_names` and
:func:`unknown_name` write the common messages, which suggest the most similar valid
name.
"""

import difflib
from collections.abc import Collection, Iterable


class CautionWarning(UserWarning):
    """Warning that the results of a study may be misleading."""


class InweightsError(Exception):
    """Base class of the exceptions that are defined by this package.

    Attributes:
        exit_code: Exit code of the command line if it ends with this error: 2 for
            invalid input, 1 for a failed run.
    """

    exit_code = 2


class ConfigError(InweightsError, ValueError):
    """Error for an invalid config, option or name, such as the name of a recipe."""


class DataError(InweightsError, ValueError):
    """Error for an invalid world, batch or data file."""


class SolverError(InweightsError, ArithmeticError):
    """Error for input that a solver of the theory cannot handle."""


class RunError(InweightsError, RuntimeError):
    """Error for a run that failed."""

    exit_code = 1


class WriteError(RunError):
    """Error for a result that cannot be written, for example because the disk is full."""


class FolderError(RunError):
    """Error for a run's folder that is incomplete, was edited or cannot be used."""

    exit_code = 2


def nearest(given: str, known: Iterable[str]) -> str | None:
    """Return the valid name most similar to the given one, or ``None`` if none is similar.

    Two names are similar if their similarity ratio, as computed by
    :class:`difflib.SequenceMatcher`, is at least 0.5.

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
    """Raise an error unless a value is an instance of one of the given types.

    Args:
        what: Name of the argument, for the error message.
        given: The value of the argument; the message shows at most 60 characters of it.
        *kinds: Allowed types, at least one.
        error: Class of the error; by default ``ConfigError``.
        hint: Advice that is appended to the message; empty by default.

    Raises:
        InweightsError: The value has a different type. The class of the error is
            ``error``.

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
    """Raise an error for the first given name that is not among the valid ones.

    Args:
        kind: Kind of the names, such as ``strategy``, for the error message.
        given: The given names.
        known: The valid names.
        error: Class of the error; by default ``ConfigError``.
        hint: Advice that is appended to the message; empty by default.

    Raises:
        InweightsError: A name is unknown. The class of the error is ``error``.
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
    """Build the error for a name that is not among the valid ones, without raising it.

    The message suggests the most similar valid name, if one is similar. It also lists
    all valid names, or the eight most similar ones if there are more than twenty.

    Args:
        kind: Kind of the name, such as ``strategy``.
        given: The unknown name.
        known: The valid names.
        error: Class of the error; by default ``ConfigError``.
        hint: Advice that is appended to the message; empty by default.

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
