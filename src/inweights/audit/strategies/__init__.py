"""Ways to tell a model more than the facts one by one; each has a name for ``--strategy``."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from inweights.audit.strategies.derive import derive
from inweights.audit.strategies.identities import identities
from inweights.audit.strategies.passages import passages
from inweights.audit.strategies.replay import replay
from inweights.audit.strategies.statements import (
    paraphrases,
    plain,
    questions_and_answers,
    reversals,
)
from inweights.audit.strategies.steps import steps
from inweights.audit.strategies.telling import Row, Telling
from inweights.errors import unknown_name

__all__ = ["MEASURED_ON", "STRATEGIES", "Row", "Strategy", "Telling", "plain", "strategies_of"]

#: What the evidence of the strategies was measured on; of other models it says little.
MEASURED_ON = (
    "SmolLM2-135M fine-tuned with LoRA on 24 invented people; two new facts, asked directly"
)


@dataclass(frozen=True)
class Strategy:
    """A way to tell more.

    Attributes:
        tell: Makes the rows.
        what: What it tells, in one line.
        evidence: What was measured, and of how many seeds.
    """

    tell: Callable[[Telling], Iterator[Row]]
    what: str
    evidence: str


#: By name, those that have helped most first.
STRATEGIES = {
    "derive": Strategy(
        derive,
        "the ends of chains of facts, in wordings that are not asked",
        "two hops .54, .75, .67 against .08, .17, .13 (three seeds, same tokens), .17 by chance; "
        "through bridges that nothing was derived of .00 to .08 (one seed): memory, not a skill",
    ),
    "steps": Strategy(
        steps,
        "the question, the bridge, then the answer",
        "untried as training text; asked in two steps the model is .54 to .89 right without it",
    ),
    "paraphrases": Strategy(
        paraphrases,
        "each fact in several wordings",
        "two hops +.02 ± .09 over the control, step by step .89 against .78 (five seeds)",
    ),
    "qa": Strategy(questions_and_answers, "each fact as question and answer", "untried here"),
    "passages": Strategy(
        passages,
        "facts that share an entity, told together",
        "two hops .08, .25, .13 against .08, .17, .13 (three seeds, both hops in one text)",
    ),
    "reversals": Strategy(
        reversals,
        "each fact from its object",
        "two hops +.03 ± .06 over the control, step by step .54 against .78 (five seeds)",
    ),
    "identities": Strategy(
        identities,
        "b is b, of each bridge",
        "two hops +.03 ± .10 over the control (five seeds), though models that are trained from "
        "scratch on the facts alone need them",
    ),
    "replay": Strategy(
        replay, "lines of a file, so that what the model knew stays", "untried here"
    ),
}


def strategies_of(names: Sequence[str]) -> dict[str, Strategy]:
    """Return strategies by name, each once.

    Raises:
        ConfigError: There is none of that name; says the nearest.

    Example:
        >>> list(strategies_of(["qa", "derive", "qa"]))
        ['qa', 'derive']
    """
    for name in names:
        if name not in STRATEGIES:
            raise unknown_name("strategy", name, (*STRATEGIES, "auto"))
    return {name: STRATEGIES[name] for name in names}
