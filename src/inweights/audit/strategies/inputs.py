"""The input of a strategy, and the rows that it yields.

:class:`StrategyInput` contains the facts, their wording and the settings of
:func:`~inweights.audit.augment`, and lists chains of facts; a :class:`Row` is one
training text.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from inweights.audit.homonyms import doubtful_facts
from inweights.errors import ConfigError
from inweights.seeds import WORLD, Streams
from inweights.worlds.knowledge.knowledge import Knowledge
from inweights.worlds.knowledge.triples import bridges_of
from inweights.worlds.knowledge.words.wording import Wording
from inweights.worlds.world import Ids


class Row(NamedTuple):
    """One training text.

    Attributes:
        fact: Index of the fact that the text states; -1 if it states none or several.
        line: Line of that fact in the file; -1 if ``fact`` is -1.
        role: Kind of text: ``fact``, or the kind that a strategy adds (``derived``,
            ``steps``, ``paraphrase``, ``rewritten``, ``qa``, ``passage``, ``entity``,
            ``reverse``, ``identity``, ``replay``).
        stage: Stage of the curriculum in which a model is trained on the text, from 0.
        prompt: Beginning of the text, which does not contribute to the loss if the loss
            is restricted to completions; may be empty.
        completion: The rest of the text, including the space before it.
        says: Pairs of entities, as indices, that one sentence of the text names in this
            order. The text directly answers questions that ask about the first entity
            and have the second entity as their answer.
    """

    fact: int
    line: int
    role: str
    stage: int
    prompt: str
    completion: str
    says: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, eq=False)
class StrategyInput:
    """The facts, their wording, and settings for the amount of text that strategies add.

    Attributes:
        facts: The ``M`` facts.
        words: Sentence templates.
        stages: Stage of the curriculum of each fact, ``[M]``.
        seed: Root seed of all random choices.
        wordings: Largest number of wordings in which a strategy states the same fact or
            chain.
        hops: Largest number of facts in a chain whose end is stated.
        most: Largest number of chains of each length.
        hold_out: Fraction (0 to 1) of the bridges whose chains are not stated.
        replay: Path of a text file, or a sequence of texts, for the strategy
            ``replay``; ``None`` if there are none.
        first: Chains of two facts, as pairs of indices. They are stated before all
            other chains if ``most`` limits the number of chains.
        rewrite: Function that takes a list of texts and returns one reworded text for
            each; ``None`` if only the templates are used.
    """

    facts: Knowledge
    words: Wording
    stages: Ids
    seed: int = 0
    wordings: int = 3
    hops: int = 2
    most: int = 10_000
    hold_out: float = 0.0
    replay: str | Path | Sequence[str] | None = None
    first: Sequence[tuple[int, int]] = ()
    rewrite: Callable[[Sequence[str]], Sequence[str]] | None = None

    def rng(self, name: str) -> np.random.Generator:
        """Return a new random generator, determined by the seed and the name of its purpose.

        Args:
            name: Name of the purpose.

        Raises:
            ConfigError: :attr:`seed` is not between 0 and 2**63 - 1.
        """
        return Streams(self.seed).numpy(WORLD, "strategies", name)

    @cached_property
    def held(self) -> frozenset[int]:
        """Indices of the held-out bridges: no stated chain passes through these entities.

        Raises:
            ConfigError: :attr:`seed` is not between 0 and 2**63 - 1.
        """
        bridges = bridges_of(self.facts)
        drawn = self.rng("hold out").permutation(bridges)
        return frozenset(drawn[: round(self.hold_out * len(bridges))].tolist())

    @cached_property
    def doubtful(self) -> frozenset[int]:
        """Indices of the facts that cannot begin a chain because their object may be a homonym."""
        return doubtful_facts(self.facts, self.words)

    def statement(self, fact: int, wording: int = 0) -> tuple[str, str]:
        """Return the prompt and the completion of a sentence that states a fact.

        Args:
            fact: Index of the fact.
            wording: Index of the wording; 0 is the first, and indices beyond the last
                start again from 0.

        Returns:
            Two texts: the beginning of the sentence, and its end, which consists of a
            space, the object and a full stop.
        """
        s, r, o = self.facts.names(fact)
        return self.words.state(r, s, o, wording)

    def ends(self, *chain: int) -> tuple[int, int]:
        """Return the first subject and the last object of a chain of facts.

        Args:
            chain: Indices of the facts, in order, at least one.

        Returns:
            The indices of the two entities.
        """
        return int(self.facts.triples[chain[0], 0]), int(
            self.facts.triples[chain[-1], 2]
        )

    def chains(self, hops: int) -> list[tuple[int, ...]]:
        """Return chains of facts, in which the object of each fact is the subject of the next.

        Chains through the entities in :attr:`held` are left out, and so are chains that
        begin with a fact in :attr:`doubtful`. A chain never visits an entity twice. If
        there are more than :attr:`most` chains, the chains in :attr:`first` (which have
        two hops) are selected before all others. The other chains are selected in
        rounds. In each round, at most one chain is selected for each first fact, with
        the first facts in random order.

        Args:
            hops: Number of facts in a chain.

        Returns:
            A tuple of ``hops`` indices of facts for each chain, at most :attr:`most`,
            sorted by these indices.

        Raises:
            ConfigError: :attr:`seed` is not between 0 and 2**63 - 1.
        """
        first = [
            pair for pair in self.first if hops == 2 and self._can_be_stated(*pair)
        ]
        wanted = dict.fromkeys(first)
        others = (found for found in self._all_chains(hops) if found not in wanted)
        return sorted(islice(chain(wanted, others), self.most))

    def _can_be_stated(self, i: int, j: int) -> bool:
        """Return whether a chain of two facts may be stated."""
        s, _, bridge = self.facts.triples[i].tolist()
        _, _, o = self.facts.triples[j].tolist()
        excluded = bridge in self.held or i in self.doubtful
        return not excluded and len({s, bridge, o}) == 3

    def _all_chains(self, hops: int) -> Iterator[tuple[int, ...]]:
        """Yield all chains in rounds; a round has one chain per first fact, in random order."""
        triples = self.facts.triples.tolist()
        after: defaultdict[int, list[int]] = defaultdict(list)
        for j, (s, _, o) in enumerate(triples):
            if s != o and s not in self.held:
                after[s].append(j)

        def grow(
            begun: tuple[int, ...], seen: frozenset[int]
        ) -> Iterator[tuple[int, ...]]:
            if len(begun) == hops:
                yield begun
                return
            if begun[-1] in self.doubtful:
                return
            for j in after.get(triples[begun[-1]][2], ()):
                if triples[j][2] not in seen:
                    yield from grow((*begun, j), seen | {triples[j][2]})

        starts = self.rng(f"chains of {hops}").permutation(len(triples)).tolist()
        real = [i for i in starts if triples[i][0] != triples[i][2]]
        waiting = deque(
            grow((i,), frozenset((triples[i][0], triples[i][2]))) for i in real
        )
        while waiting:
            begun = waiting.popleft()
            for found in islice(begun, 1):
                yield found
                waiting.append(begun)


def check_ranges(inputs: StrategyInput, floor: float, budget: int) -> None:
    """Check the numbers that are given to :func:`~inweights.audit.augment`.

    Args:
        inputs: The facts and settings.
        floor: Smallest fraction of the text that states individual facts.
        budget: Length of the training set, in words or tokens; 0 for no limit.

    Raises:
        ConfigError: ``wordings`` is not between 1 and the largest number of templates
            of a relation, ``hops`` is not between 2 and 6, ``most`` is below 1,
            ``budget`` is negative, ``hold_out`` is not between 0 and 1, or ``floor`` is
            negative or not below 0.9.
    """
    there = max(len(inputs.words.templates(r)) for r in inputs.facts.relations)
    if not 1 <= inputs.wordings <= there:
        raise ConfigError(
            f"'wordings' must be from 1 to {there}, the number of sentence templates, got "
            f"{inputs.wordings}; define more templates with --wording"
        )
    if not 2 <= inputs.hops <= 6:
        raise ConfigError(f"hops must be from 2 to 6, got {inputs.hops}")
    if inputs.most < 1 or budget < 0:
        raise ConfigError(
            f"'most' must be at least 1 and 'budget' at least 0, got most = {inputs.most} "
            f"and budget = {budget}"
        )
    if not 0 <= inputs.hold_out <= 1:
        raise ConfigError(
            f"'hold_out' must be a fraction from 0 to 1, got {inputs.hold_out:g}"
        )
    if not 0 <= floor < 0.9:
        raise ConfigError(f"'floor' must be at least 0 and below 0.9, got {floor:g}")
