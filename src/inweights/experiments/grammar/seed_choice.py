"""Read and check the root seeds of a run."""

from collections.abc import Sequence

from inweights.config.border import as_list
from inweights.errors import ConfigError

#: Maximum number of seeds of one run. A larger number is probably a mistake.
MAX_SEEDS = 100_000


def parse_seeds(text: str) -> int | tuple[int, ...]:
    """Parse seeds written on the command line: a number, a range or a list.

    This function does not check whether a number or a list is valid (not empty, not
    negative, without repetitions); :func:`choose_seeds` does.

    Args:
        text: A number of seeds (``8``), a range of seeds that includes its end
            (``900..907``), or a list of seeds (``7,8,9``; ``7,`` is the list with the
            single seed 7).

    Returns:
        The number of seeds, or a tuple of the seeds of the range or list, in order.

    Raises:
        ConfigError: The text has none of these forms, or it is a range that decreases
            or has more than 100,000 seeds.

    Example:
        >>> parse_seeds("8"), parse_seeds("900..903"), parse_seeds("7,8,9")
        (8, (900, 901, 902, 903), (7, 8, 9))
    """
    first, dots, last = text.partition("..")
    try:
        if not dots:
            listed = tuple(int(part) for part in text.split(",") if part.strip())
            return listed if "," in text else int(text)
        low = int(first)
        high = int(last)
    except ValueError:
        raise ConfigError(
            f"seeds must be a number (8), a range (900..907) or a list (7,8,9), got '{text}'"
        ) from None
    if high < low:
        raise ConfigError(f"'{text}' is a decreasing range; write {last}..{first}")
    if high - low >= MAX_SEEDS:
        raise ConfigError(f"a run has at most {MAX_SEEDS} seeds, got '{text}'")
    return tuple(range(low, high + 1))


def choose_seeds(seeds: int | Sequence[int], first: int) -> tuple[int, ...]:
    """Return the root seeds of a run: the given seeds, or consecutive seeds beginning at ``first``.

    Args:
        seeds: Number of seeds, or the seeds themselves: a list, tuple, range or array.
        first: The first seed, if ``seeds`` is a number; otherwise it has no effect.

    Returns:
        The seeds, in the given order.

    Raises:
        ConfigError: ``seeds`` is neither a number nor a list, there are no seeds or
            more than 100,000, a seed is given twice, or a seed is not an integer from 0
            to 2^63 - 1.
    """
    seeds = as_list(seeds)
    if isinstance(seeds, bool | str | float | None):
        raise ConfigError(
            f"seeds must be a number (3) or a list ([7, 9]), got {seeds!r}"
        )
    chosen: Sequence[int] = (
        range(first, first + min(seeds, MAX_SEEDS + 1))
        if isinstance(seeds, int)
        else [*seeds]
    )
    others = [one for one in chosen if type(one) is not int]
    if others:
        raise ConfigError(f"a seed must be a whole number, got {others[0]!r}")
    if not chosen:
        raise ConfigError(f"a run needs at least one seed, got {seeds}")
    if len(chosen) > MAX_SEEDS:
        raise ConfigError(f"a run has at most {MAX_SEEDS} seeds, got {seeds}")
    if len(set(chosen)) != len(chosen):
        raise ConfigError("seeds must be different, but one is given twice")
    if min(chosen) < 0 or max(chosen) >= 2**63:
        raise ConfigError(
            f"seeds must be from 0 to 2^63 - 1, got {min(chosen)} to {max(chosen)}"
        )
    return tuple(chosen)
