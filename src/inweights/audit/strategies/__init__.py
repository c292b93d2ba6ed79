"""Strategies that add training texts to facts; ``--strategy`` selects them by name.

:data:`STRATEGIES` lists them by name. A strategy takes a :class:`StrategyInput` (the
facts and settings) and yields a :class:`Row` for each text;
:func:`~inweights.audit.augment` runs the strategies.
"""

from collections.abc import Callable, Iterator, Sequence

from inweights.audit.strategies.inputs import Row, StrategyInput
from inweights.audit.strategies.statements import (
    paraphrases,
    plain,
    questions_and_answers,
    reversals,
)
from inweights.audit.strategies.texts import (
    derive,
    entities,
    identities,
    passages,
    replay,
    steps,
)
from inweights.errors import unknown_name

__all__ = ["STRATEGIES", "Row", "Strategy", "StrategyInput", "plain", "strategies_of"]

#: Function that yields further texts, given the facts and settings.
Strategy = Callable[[StrategyInput], Iterator[Row]]
#: Strategies by name; :mod:`inweights.audit.strategies.measured` contains their
#: measured effects.
STRATEGIES: dict[str, Strategy] = {
    "derive": derive,
    "steps": steps,
    "paraphrases": paraphrases,
    "qa": questions_and_answers,
    "passages": passages,
    "entities": entities,
    "reversals": reversals,
    "identities": identities,
    "replay": replay,
}


def strategies_of(names: Sequence[str]) -> dict[str, Strategy]:
    """Return the strategies of the given names.

    Args:
        names: Keys of :data:`STRATEGIES`; repetitions are ignored. ``auto`` is not
            allowed here: :func:`~inweights.audit.augment` replaces it with the
            strategies that it chooses.

    Returns:
        The function of each strategy, by name, in the order given.

    Raises:
        ConfigError: A name is not a key of :data:`STRATEGIES`.

    Example:
        >>> list(strategies_of(["qa", "derive", "qa"]))
        ['qa', 'derive']
    """
    for name in names:
        if name not in STRATEGIES:
            # "auto" is suggested for a misspelt name, because it is valid for
            # `augment`. It is not suggested for "auto" itself, which is not valid here.
            known = [*STRATEGIES, *(["auto"] if name != "auto" else [])]
            raise unknown_name("strategy", name, known)
    return {name: STRATEGIES[name] for name in names}
