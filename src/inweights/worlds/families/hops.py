"""Chains of any number of hops through levels of entities: the config :class:`Hops`.

It generalises the two-hop world of :class:`~inweights.worlds.TwoHop` to longer chains.
"""

from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np

from inweights.config import MOST, Config, check_size
from inweights.errors import ConfigError, check_names
from inweights.seeds import WORLD, Streams
from inweights.worlds.size import check_fraction, check_world
from inweights.worlds.vocabulary import bridge_levels, numbered
from inweights.worlds.world import Ids, Statements, Vocabulary, World


class Hops(Config, tag_field="kind", tag="hops"):
    """Chains of ``hops`` facts through levels of ``n`` entities; queries chain two or more facts.

    Facts have the roles ``edge`` (individual facts), ``identity``, ``two_hop`` (chains
    of two hops that are facts) and ``chain`` (longer chains that are facts). Queries
    have the roles ``composition`` (two hops) and ``chain`` (more).

    With ``hops=2``, this is the two-hop world of complexity one. If there are several
    relations between two levels, each of them is a separate bijection onto the next
    level, so that chains share entities and facts. There are ``n · relations^k`` chains
    of ``k`` hops.

    Attributes:
        n: Number of entities of a level, at least 2; with one relation between levels,
            also the number of chains.
        hops: Number of facts in a chain, at least 2.
        identity: Whether identities ``b → b`` of all entities between the ends of a
            chain are facts; or the fraction (0 to 1) of these entities that have one;
            or the names of the levels whose entities have one: ``bridge`` (the second
            entity of a chain), ``second bridge``, ``third bridge``, ….
        relations: Number of relations from each level to the next, at least 1.
        trained: Fraction of the chains of each length that are facts, at least 0 and
            below 1; the other chains are queries.
        shortest: Number of hops, at least 2, of the shortest chains to which
            :attr:`trained` applies.
        longest: Number of hops of the longest chains to which :attr:`trained` applies;
            by default :attr:`hops`.

    Raises:
        ConfigError: A number is out of range, a level is unknown, or ``shortest`` or
            ``longest`` is changed although ``trained`` is 0.

    Example:
        >>> world = Hops(n=4, hops=3).build()
        >>> world, world.vocabulary.text(world.queries.prompt(4))
        (World('hops', 19 tokens, 20 facts, 8 queries, seed=0), 'e1_1 r1 r2 r3')
    """

    later = {"relations": 1, "trained": 0.0, "shortest": 2, "longest": None}
    newer = ("relations", "trained", "shortest", "longest")

    n: int = 20
    hops: int = 3
    identity: bool | float | tuple[str, ...] = True
    relations: int = 1
    trained: float = 0.0
    shortest: int = 2
    longest: int | None = None

    def __post_init__(self) -> None:
        if self.n < 2 or self.hops < 2:
            raise ConfigError(
                f"hops: 'n' and 'hops' must be at least 2, got {self.n} and {self.hops}"
            )
        check_size("hops: relations", self.relations)
        if not 0 <= self.trained < 1:
            raise ConfigError(
                f"hops: 'trained' must be at least 0 and below 1, got {self.trained}"
            )
        longest = self.hops if self.longest is None else self.longest
        if not 2 <= self.shortest <= longest <= self.hops:
            raise ConfigError(
                "hops: 'shortest' and 'longest' must satisfy 2 <= shortest <= longest <= "
                f"hops = {self.hops}, got shortest = {self.shortest} and longest = "
                f"{longest}"
            )
        if not self.trained and (self.shortest > 2 or self.longest is not None):
            raise ConfigError(
                "hops: 'shortest' and 'longest' have no effect when no chain is trained"
            )
        if isinstance(self.identity, tuple):
            check_names("level in identity of hops", self.identity, self.bridges)
        else:
            check_fraction("hops", "identity", self.identity)

    @property
    def bridges(self) -> tuple[str, ...]:
        """Names of the levels between the ends of a chain: ``bridge``, ``second bridge``, …."""
        return bridge_levels(self.hops - 1)

    def build(self, seed: int = 0) -> World:
        """Build the world; the seed determines which facts and training chains exist.

        Args:
            seed: Root seed, from 0 to 2**63 - 1.

        Raises:
            ConfigError: The world does not fit in memory (the message gives the
                required and the available memory), or the seed is out of range.
        """
        n = self.n
        hops = self.hops
        several = self.relations
        chains = sum(several**k for k in range(2, min(hops, MOST) + 1))
        statements = n * (2 * hops * several + chains)
        check_world(
            "hops", tokens=n * (hops + 1), statements=statements, length=3 + hops / 2
        )
        rng = Streams(seed).numpy(WORLD, "hops")
        groups = {f"level_{k + 1}": numbered(f"e{k + 1}_", n) for k in range(hops + 1)}
        groups["relation"] = _relation_names(hops, several)
        vocabulary = Vocabulary(groups)
        relations = vocabulary["relation"].reshape(hops, several)
        path, steps = _drawn_levels(vocabulary, relations, rng)
        bridges = self._with_identity(np.stack(path[1:-1], axis=1), rng)[:, None]
        prompts = []
        answers = []
        for k, step in enumerate(steps):
            starts = np.tile(path[k], several)
            prompts.append(np.column_stack([starts, np.repeat(relations[k], n)]))
            answers.append(path[k + 1][step.ravel()])
        edges = np.concatenate(prompts), np.concatenate(answers)[:, None]
        facts = Statements.build({"edge": edges, "identity": (bridges, bridges)})
        trained, queries = self._chains(_walks(path, steps, relations), rng)
        why = f"no chain of {'this many' if self.trained else 'two'} facts is trained"
        return World.of(self, seed, vocabulary, facts.joined(trained), queries, why)

    def _chains(
        self, walks: Iterator[tuple[Ids, Ids]], rng: np.random.Generator
    ) -> tuple[Statements, Statements]:
        """Divide the chains of two or more hops into facts and queries."""
        facts = queries = Statements.build({})
        for depth, (prompts, answers) in enumerate(walks, start=1):
            if depth == 1:
                continue
            in_range = self.shortest <= depth <= (self.longest or self.hops)
            some_trained = in_range and self.trained > 0
            seen = np.zeros(len(prompts), dtype=bool)
            if some_trained:
                count = round(self.trained * len(prompts))
                seen[rng.permutation(len(prompts))[:count]] = True
            # Chains of two hops have the roles that they have in other worlds.
            as_fact = "two_hop" if depth == 2 else "chain"
            as_query = "composition" if depth == 2 else "chain"
            trained = {as_fact: (prompts[seen], answers[seen])}
            facts = facts.joined(Statements.build(trained))
            unseen = {as_query: (prompts[~seen], answers[~seen])}
            queries = queries.joined(Statements.build(unseen, not some_trained))
        return facts, queries

    def _with_identity(self, between: Ids, rng: np.random.Generator) -> Ids:
        """Return the entities that get an identity, sorted.

        Args:
            between: Token ids of the entities between the ends of chains,
                ``[n, hops - 1]``.
            rng: Random generator for the choice if :attr:`identity` is a fraction.
        """
        if isinstance(self.identity, tuple):
            chosen_levels = dict.fromkeys(self.identity)
            levels = list(map(self.bridges.index, chosen_levels))
            return np.sort(between[:, levels].ravel())
        middle = np.sort(between.ravel())
        chosen = rng.permutation(len(middle))[
            : round(float(self.identity) * len(middle))
        ]
        return middle[np.sort(chosen)]


def _relation_names(hops: int, several: int) -> list[str]:
    """Return the names of the relations, level by level."""
    names = numbered("r", hops)
    if several == 1:
        return names
    return list(chain.from_iterable(numbered(f"{name}_", several) for name in names))


def _drawn_levels(
    vocabulary: Vocabulary, relations: Ids, rng: np.random.Generator
) -> tuple[list[Ids], list[Ids]]:
    """Draw which entities follow each other.

    Args:
        vocabulary: Vocabulary of the world, with a group for each level.
        relations: Token ids of ``J`` relations for each hop.
        rng: Random generator.

    Returns:
        The entities of each level, in the order of the chains that use only first
        relations; and an array ``[J, n]`` for each hop, which contains, for each
        relation and entity of a level, the position of the next entity in its level.
    """
    path = [vocabulary["level_1"]]
    steps = []
    for k, own in enumerate(relations):
        level = vocabulary[f"level_{k + 2}"]
        ends = np.stack([rng.permutation(level) for _ in own])
        path.append(ends[0])
        # The ids of a level are consecutive: minus the smallest one, they are positions
        # in it.
        steps.append(np.argsort(ends[0])[ends - ends.min()])
    return path, steps


def _walks(
    path: Sequence[Ids], steps: Sequence[Ids], relations: Ids
) -> Iterator[tuple[Ids, Ids]]:
    """Yield prompts and answers of all chains from the first level, one length after another."""
    prompts = path[0][:, None]
    here = np.arange(len(path[0]))
    for k, step in enumerate(steps):
        last = np.tile(relations[k], len(prompts))[:, None]
        prompts = np.hstack([np.repeat(prompts, len(step), axis=0), last])
        here = step[:, here].T.ravel()
        yield prompts, path[k + 1][here][:, None]
