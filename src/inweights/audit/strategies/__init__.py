"""Strategies that add texts to the facts; each has a name for ``--strategy``."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from inweights.audit.strategies.statements import (
    paraphrases,
    plain,
    questions_and_answers,
    reversals,
)
from inweights.audit.strategies.telling import Row, Telling
from inweights.audit.strategies.texts import (
    derive,
    entities,
    identities,
    passages,
    replay,
    steps,
)
from inweights.errors import unknown_name

__all__ = ["STRATEGIES", "Row", "Strategy", "Telling", "plain", "strategies_of"]


@dataclass(frozen=True)
class Strategy:
    """A strategy that adds texts."""

    tell: Callable[[Telling], Iterator[Row]]
    what: str


#: By name; what was measured of each is in :mod:`inweights.audit.strategies.measured`.
STRATEGIES = {
    "derive": Strategy(derive, "the results of chains of facts, in wordings that no question uses"),
    "steps": Strategy(steps, "the question, the bridge, then the answer"),
    "paraphrases": Strategy(paraphrases, "each fact in several wordings"),
    "qa": Strategy(questions_and_answers, "each fact as question and answer"),
    "passages": Strategy(passages, "facts that share an entity, in one text"),
    "entities": Strategy(entities, "each entity described, and pairs related, as in EntiGraph"),
    "reversals": Strategy(reversals, "each fact from its object"),
    "identities": Strategy(identities, "b is b, of each bridge"),
    "replay": Strategy(replay, "lines of a file, to preserve earlier knowledge"),
}


def strategies_of(names: Sequence[str]) -> dict[str, Strategy]:
    """Return strategies by name, each once.

    Example:
        >>> list(strategies_of(["qa", "derive", "qa"]))
        ['qa', 'derive']
    """
    for name in names:
        if name not in STRATEGIES:
            raise unknown_name("strategy", name, (*STRATEGIES, "auto"))
    return {name: STRATEGIES[name] for name in names}
