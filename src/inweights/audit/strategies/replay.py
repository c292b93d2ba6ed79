"""Text that the model is to keep: a file of the user's, such as what the model wrote itself."""

from collections.abc import Iterator
from pathlib import Path

from inweights.audit.strategies.mentions import Mentions
from inweights.audit.strategies.telling import Row, Telling
from inweights.errors import ConfigError, DataError
from inweights.support.limits import read_text


def replay(telling: Telling) -> Iterator[Row]:
    """Return the lines of the file as separate texts, in random order.

    Raises:
        ConfigError: No file is given.
        DataError: It cannot be read, or is empty.
    """
    if telling.replay is None:
        raise ConfigError(
            "strategy 'replay' needs a text file, one text per line: give --replay FILE"
        )
    given = telling.replay
    lines = read_text(given).splitlines() if isinstance(given, Path) else given
    texts = [line.strip() for line in lines if line.strip()]
    if not texts:
        raise DataError(
            f"{given if isinstance(given, Path) else 'replay'} contains no text; expected one "
            "text per line"
        )
    named = Mentions(telling.facts.entities)
    for i in telling.rng("replay").permutation(len(texts)).tolist():
        # A line is taken for one sentence: rather marked too often than not at all.
        met = named(texts[i])
        last = {name: at for at, name in enumerate(met)}
        first = {name: len(met) - 1 - at for at, name in enumerate(reversed(met))}
        says = tuple((a, b) for a in first for b in last if first[a] < last[b])
        yield Row(-1, -1, "replay", 0, "", texts[i], says)
