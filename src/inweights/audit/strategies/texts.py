"""Strategies whose texts combine several facts, a strategy for identities, and one for replay.

Entities are described and related in the manner of EntiGraph (Yang et al. 2024,
*Synthetic continued pretraining*, arXiv:2409.07431), but the texts are written by
templates instead of a language model. Each function takes a
:class:`~inweights.audit.strategies.inputs.StrategyInput` and yields rows.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations, product
from pathlib import Path

from inweights.audit.strategies.inputs import Row, StrategyInput
from inweights.audit.strategies.mentions import Mentions
from inweights.errors import ConfigError, DataError
from inweights.support.limits import read_text
from inweights.worlds.knowledge.triples import bridges_of, identities_of
from inweights.worlds.knowledge.words.sentences import ended
from inweights.worlds.knowledge.words.wording import DERIVED, IDENTITY

#: Maximum number of facts in one passage. An entity with more facts has several
#: passages.
_FACTS = 8


def derive(inputs: StrategyInput) -> Iterator[Row]:
    """Yield rows that state the end of each chain of two or more facts, and name its relations.

    In our measurements (``docs/own-facts-measured.md``), models trained with this
    strategy answer more questions about the stated chains in other wordings, but their
    accuracy on chains through held-out bridges (``hold_out``) remains at chance.

    Args:
        inputs: The facts, their wordings, and the limits on the amount of text.

    Yields:
        Rows of the role ``derived``, with the latest stage of the facts of the chain:
        up to ``inputs.wordings`` (at most 3) for each chain of 2 to ``inputs.hops``
        facts.

    Raises:
        ConfigError: The seed of ``inputs`` is not between 0 and 2**63 - 1.
    """
    facts = inputs.facts
    words = inputs.words
    for hops in range(2, inputs.hops + 1):
        for chain in inputs.chains(hops):
            s, o = inputs.ends(*chain)
            subject = facts.entities[s]
            answer = facts.entities[o]
            for k in range(min(inputs.wordings, DERIVED)):
                text = words.derive(_relations(inputs, chain), subject, answer, k)
                yield _row(inputs, "derived", text, chain, ((s, o),))


def steps(inputs: StrategyInput) -> Iterator[Row]:
    """Yield a row for each chain of two facts: a question with a step-by-step answer.

    The prompt ends with ``Step by step:``, unlike the prompts of held-out questions.

    Args:
        inputs: The facts, their wordings, and the limits on the amount of text.

    Yields:
        Rows of the role ``steps``, at most ``inputs.most``.

    Raises:
        ConfigError: The seed of ``inputs`` is not between 0 and 2**63 - 1.
    """
    facts = inputs.facts
    words = inputs.words
    for chain in inputs.chains(2):
        s, o = inputs.ends(*chain)
        question = words.ask(_relations(inputs, chain), facts.entities[s])
        completion = f" {_statements(inputs, chain)} So: {ended(facts.entities[o])}"
        says = ((s, o), *map(inputs.ends, chain))
        yield _row(
            inputs, "steps", (f"{question} Step by step:", completion), chain, says
        )


def identities(inputs: StrategyInput) -> Iterator[Row]:
    """Yield rows that state ``b → b`` for each bridge without an identity (*Identity Bridge*, §4).

    A bridge is an entity that is the object of one fact and the subject of another. A
    fact states an identity if its relation connects every subject only with itself, as
    in ``rome,is,rome``.

    Args:
        inputs: The facts, their wordings, and the limits on the amount of text.

    Yields:
        Rows of the role ``identity``, in stage 0, up to ``inputs.wordings`` for each
        bridge.
    """
    facts = inputs.facts
    stated = set(facts.triples[identities_of(facts), 0].tolist())
    for b in bridges_of(facts).tolist():
        if b not in stated:
            for k in range(min(inputs.wordings, len(IDENTITY))):
                text = inputs.words.identify(facts.entities[b], k)
                yield Row(-1, -1, "identity", 0, *text, ((b, b),))


def passages(inputs: StrategyInput) -> Iterator[Row]:
    """Yield texts that state all facts of an entity, in several orders.

    Entities with a single fact are left out. The text contains all facts whose subject
    or object is the entity. No sentence combines two facts. The prompt does not name
    the entity; otherwise, the text would name the object of some facts before their
    subject.

    Args:
        inputs: The facts, their wordings, and the limits on the amount of text.

    Yields:
        Rows of the role ``passage``: ``inputs.wordings`` orders for each entity, each
        in several texts if the entity has more than 8 facts.

    Raises:
        ConfigError: The seed of ``inputs`` is not between 0 and 2**63 - 1.
    """
    facts = inputs.facts
    rng = inputs.rng("passages")
    about: defaultdict[int, list[int]] = defaultdict(list)
    for i, (s, _, o) in enumerate(facts.triples.tolist()):
        about[s].append(i)
        if o != s:
            about[o].append(i)
    for mine in about.values():
        for k in range(inputs.wordings if len(mine) > 1 else 0):
            order = [mine[i] for i in rng.permutation(len(mine)).tolist()]
            for start in range(0, len(order), _FACTS):
                page = order[start : start + _FACTS]
                text = (
                    "Facts that belong together:",
                    f" {_statements(inputs, page, k)}",
                )
                says = tuple(map(inputs.ends, page))
                yield _row(inputs, "passage", text, page, says)


def entities(inputs: StrategyInput) -> Iterator[Row]:
    """Yield texts that describe each entity with all of its facts, and texts about related pairs.

    A related pair consists of the two ends of a chain of two facts, or of two subjects
    that share an object. Pairs that are connected by a held-out bridge are left out,
    because no strategy states chains through such a bridge.

    Args:
        inputs: The facts, their wordings, and the limits on the amount of text.

    Yields:
        Rows of the role ``entity``: one for each entity, then at most ``inputs.most``
        for pairs of each type.

    Raises:
        ConfigError: The seed of ``inputs`` is not between 0 and 2**63 - 1.
    """
    facts = inputs.facts
    about: defaultdict[int, list[int]] = defaultdict(list)
    reached: defaultdict[int, list[int]] = defaultdict(list)
    for i, (s, _, o) in enumerate(facts.triples.tolist()):
        for entity in dict.fromkeys((s, o)):
            about[entity].append(i)
        reached[o].append(i)
    rng = inputs.rng("entities")
    for entity, own in about.items():
        order = [own[i] for i in rng.permutation(len(own)).tolist()]
        yield _described(inputs, f"About {facts.entities[entity]}:", [entity], order)
    for chain in inputs.chains(2):
        s, o = inputs.ends(*chain)
        yield _related(inputs, s, o, chain)
    pairs: list[tuple[int, int]] = []
    for entity, leading in reached.items():
        if entity not in inputs.held:
            pairs.extend(combinations(leading, 2))
    for i in sorted(rng.permutation(len(pairs))[: inputs.most].tolist()):
        one, other = (inputs.ends(fact)[0] for fact in pairs[i])
        if one != other:
            yield _related(inputs, one, other, pairs[i])


def _related(inputs: StrategyInput, one: int, other: int, facts: Sequence[int]) -> Row:
    """Return a text about how two entities are related: the facts that connect them."""
    names = inputs.facts.entities
    prompt = f"How {names[one]} and {names[other]} are related:"
    return _described(inputs, prompt, (one, other), facts)


def _described(
    inputs: StrategyInput, prompt: str, named: Sequence[int], facts: Sequence[int]
) -> Row:
    """Return a text whose prompt names entities, and whose completion states facts."""
    first, *others = map(inputs.ends, facts)
    says = (*combinations((*named, *first), 2), *others)
    return _row(
        inputs, "entity", (prompt, f" {_statements(inputs, facts)}"), facts, says
    )


def _relations(inputs: StrategyInput, chain: Sequence[int]) -> list[str]:
    """Return the names of the relations of a chain, in order."""
    return [inputs.facts.names(fact)[1] for fact in chain]


def _statements(inputs: StrategyInput, facts: Sequence[int], wording: int = 0) -> str:
    """Return facts as consecutive sentences."""
    return " ".join("".join(inputs.statement(fact, wording)) for fact in facts)


def _row(
    inputs: StrategyInput,
    role: str,
    text: tuple[str, str],
    facts: Sequence[int],
    says: tuple[tuple[int, int], ...],
) -> Row:
    """Return a row whose text states several facts; its stage is the latest of their stages."""
    stage = int(inputs.stages[list(facts)].max())
    return Row(-1, -1, role, stage, *text, says)


def replay(inputs: StrategyInput) -> Iterator[Row]:
    """Yield the user's texts, or the lines of the user's file, in random order.

    Args:
        inputs: The facts and settings. Its attribute ``replay`` is the path of the
            file, or a sequence of texts.

    Yields:
        Rows of the role ``replay``, in stage 0, with an empty prompt; blank lines are
        left out.

    Raises:
        ConfigError: ``replay`` of ``inputs`` is ``None``, or ``seed`` of ``inputs`` is
            not between 0 and 2**63 - 1.
        DataError: The file cannot be read, or all its lines (or all texts) are blank.
    """
    if inputs.replay is None:
        raise ConfigError(
            "the strategy 'replay' requires a text file with one text per line; give "
            "--replay FILE"
        )
    given = Path(inputs.replay) if isinstance(inputs.replay, str) else inputs.replay
    lines = read_text(given).splitlines() if isinstance(given, Path) else given
    texts = [line.strip() for line in lines if line.strip()]
    if not texts:
        raise DataError(
            f"{given if isinstance(given, Path) else 'the list of texts for replay'} contains "
            "no text; expected one text per line"
        )
    named = Mentions(inputs.facts.entities)
    for i in inputs.rng("replay").permutation(len(texts)).tolist():
        # A line is treated as one sentence, so that a text is marked too often rather
        # than not at all.
        yield Row(-1, -1, "replay", 0, "", texts[i], _pairs_in_order(named(texts[i])))


def _pairs_in_order(entities: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Return all pairs of entities of which the first is named before the second."""
    last = {entity: place for place, entity in enumerate(entities)}
    first: dict[int, int] = {}
    for place in reversed(range(len(entities))):
        first[entities[place]] = place
    return tuple((a, b) for a, b in product(first, last) if first[a] < last[b])
