"""Random facts with the irregularities of real knowledge: the config :class:`RandomFacts`.

Some answers are more frequent than others, some entities have more facts than others,
and relations may share answers, be symmetric, or have several values. Such worlds are
used to test predictions and measures.
"""

from collections import Counter

import numpy as np

from inweights.config import Config, check_size
from inweights.errors import ConfigError
from inweights.seeds import WORLD, Streams
from inweights.worlds.knowledge.questions import Kind, questions
from inweights.worlds.size import check_counts, check_world
from inweights.worlds.vocabulary import numbered
from inweights.worlds.world import Ids, Vocabulary, World

Rows = list[tuple[int, int, int]]


class RandomFacts(Config, tag_field="kind", tag="random-facts"):
    """Relations from each level of entities to the next, drawn at random.

    Facts have the roles ``triple`` and ``identity``. Queries have the roles
    ``composition`` (chains of two facts) and, with more than two hops, ``chain`` (three
    facts).

    All worlds of one config have the same number of facts and answers, so that models
    of different worlds can be trained together. Prompts with several correct answers,
    and prompts whose answer is their subject, are not among the queries.

    Attributes:
        subjects: Number of entities of the first level. Each level must have at least 2
            entities, and at least as many entities as ``relations``.
        bridges: Number of entities of each level between the first and the last.
        objects: Number of entities of the last level.
        hops: Number of steps from the first level to the last, 2 to 8.
        relations: Number of relations from each level to the next, at least 1.
        told: Fraction of the entities of a level that have a fact of each relation to
            the next level, above 0 and at most 1.
        popularity: Concentration parameter of the Dirichlet distributions that
            determine how often an entity has a fact, and how often it is an answer;
            from 0 to 65,536. With 0, entities are drawn uniformly.
        crossing: Whether relations of one level share all their answers, as *born in*
            and *works in* do; otherwise each relation has separate answers.
        pairs: Number of pairs of subjects that are joined by a symmetric relation, with
            a fact for each direction; at most ``subjects / 2``.
        several: Number of entities of each level for which the first relation has two
            values; at most the number of entities of a level that have a fact.
        identity: Whether identities ``b → b`` of all bridges, and of all subjects in
            pairs, are facts; or the fraction of these entities that have one.
        asked: Maximum number of queries of each role, at least 1. If more are possible,
            they are drawn at random.

    Raises:
        ConfigError: A number is out of the range given here.

    Example:
        >>> world = RandomFacts(popularity=0.7, told=0.75, identity=0.5).build(seed=3)
        >>> world, world.vocabulary.text(world.queries.prompt(0))
        (World('random-facts', 34 tokens, 40 facts, 24 queries, seed=3), 'a4 r1 s1')
    """

    subjects: int = 16
    bridges: int = 8
    objects: int = 6
    hops: int = 2
    relations: int = 2
    told: float = 1.0
    popularity: float = 0.0
    crossing: bool = False
    pairs: int = 0
    several: int = 0
    identity: bool | float = True
    asked: int = 24

    def __post_init__(self) -> None:
        for name in ("relations", "asked"):
            check_size(f"random-facts: {name}", getattr(self, name))
        # If each relation has its own answers, it needs at least one of them per level.
        least = max(2, self.relations)
        check_counts("random-facts", self, subjects=least, bridges=least, objects=least)
        if not 2 <= self.hops <= 8:
            raise ConfigError(
                f"random-facts: 'hops' must be from 2 to 8, got {self.hops}"
            )
        check_size("random-facts: popularity", self.popularity, least=0)
        if not (0 < self.told <= 1 and 0 <= float(self.identity) <= 1):
            raise ConfigError(
                "random-facts.told must be above 0 and at most 1, and random-facts.identity "
                f"from 0 to 1; got random-facts.told = {self.told} and random-facts.identity = "
                f"{self.identity}"
            )
        least = min(round(self.told * n) for n in self.levels[:-1])
        if not 0 <= self.several <= least or not 0 <= 2 * self.pairs <= self.levels[0]:
            raise ConfigError(
                f"random-facts: 'several' must be from 0 to {least} and 'pairs' from 0 to "
                f"{self.levels[0] // 2}, got several = {self.several} and pairs = {self.pairs}"
            )

    @property
    def levels(self) -> tuple[int, ...]:
        """Number of entities of each of the ``hops + 1`` levels, from subjects to objects."""
        return (self.subjects, *[self.bridges] * (self.hops - 1), self.objects)

    def build(self, seed: int = 0) -> World:
        """Build the world; all its facts and queries are drawn with the seed.

        Args:
            seed: Root seed, from 0 to 2**63 - 1.

        Raises:
            ConfigError: The world does not fit in memory (the message gives the
                required and the available memory), the seed is out of range, ``told``
                is so small that no fact is drawn, or ``several`` is set and a relation
                has a single answer.
        """
        most = self.relations * sum(self.levels) + 2 * self.pairs
        check_world(
            "random-facts",
            tokens=sum(self.levels),
            statements=3 * most + 3 * self.asked,
        )
        rng = Streams(seed).numpy(WORLD, "random-facts")
        levels = {}
        for k, n in enumerate(self.levels):
            levels[f"level_{k + 1}"] = numbered("abcdefghi"[k], n)
        names = []
        for stem in "rstuvwxy"[: self.hops]:
            names += numbered(stem, self.relations)
        if self.pairs:
            names.append("with")
        vocabulary = Vocabulary({**levels, "relation": names})
        entities = [vocabulary[f"level_{k + 1}"] for k in range(len(self.levels))]
        relations = vocabulary["relation"]
        rows: Rows = []
        for k in range(self.hops):
            weights = self._weights(rng, entities[k])
            answer_weights = self._weights(rng, entities[k + 1])
            for j in range(self.relations):
                own = slice(None) if self.crossing else slice(j, None, self.relations)
                subjects = self._draw_entities(rng, entities[k], weights)
                answers = entities[k + 1][own]
                chances = answer_weights[own]
                values = _draw_values(rng, len(subjects), answers, chances)
                relation = int(relations[k * self.relations + j])
                new = []
                for subject, value in zip(subjects, values, strict=True):
                    new.append((int(subject), relation, int(value)))
                rows += new
                # One relation of each level has second values, and their number is
                # always the same.
                if j == 0:
                    rows += _second_values(rng, new[: self.several], answers, chances)
        paired = entities[0][: 2 * self.pairs]
        for one, other in paired.reshape(-1, 2).tolist():
            rows.append((one, int(relations[-1]), other))
            rows.append((other, int(relations[-1]), one))
        bridges = np.sort(np.concatenate([*entities[1:-1], paired]))
        some = rng.permutation(len(bridges))[
            : round(float(self.identity) * len(bridges))
        ]
        column = bridges[np.sort(some)][:, None]
        if not rows:
            raise ConfigError(
                f"no fact is drawn, since random-facts.told = {self.told} times "
                f"{max(self.levels)} entities rounds to 0; increase random-facts.told or the "
                "number of entities"
            )
        table = np.array(rows)
        facts = {"triple": (table[:, :2], table[:, 2:]), "identity": (column, column)}
        why = "no chain of two facts is trained"
        return World.of(self, seed, vocabulary, facts, self._queries(rng, rows), why)

    def _weights(self, rng: np.random.Generator, entities: Ids) -> np.ndarray:
        """Draw the relative frequency of each entity of a level, in facts or as an answer."""
        if not self.popularity:
            return np.ones(len(entities))
        return rng.dirichlet(np.full(len(entities), self.popularity)) + 1e-9

    def _draw_entities(
        self, rng: np.random.Generator, entities: Ids, weights: np.ndarray
    ) -> Ids:
        """Draw the entities of a level that have a fact of one relation.

        Args:
            rng: Random generator.
            entities: Token ids of the level, ``[n]``.
            weights: Relative frequency of each entity, ``[n]``.
        """
        count = round(self.told * len(entities))
        return rng.choice(entities, count, replace=False, p=weights / weights.sum())

    def _queries(
        self, rng: np.random.Generator, rows: Rows
    ) -> dict[str, tuple[Ids, Ids]]:
        """Draw queries from the chains with one possible end, which differs from their start."""
        kinds: list[Kind] = ["composition"]
        if self.hops > 2:
            kinds.append("chain")
        chosen = {}
        for kind, (prompts, answers) in questions(rows, kinds).items():
            counts = Counter(map(tuple, prompts.tolist()))
            single = np.array(
                [counts[tuple(p)] == 1 for p in prompts.tolist()], dtype=bool
            )
            usable = np.flatnonzero(single & (prompts[:, 0] != answers[:, 0]))
            drawn = np.sort(rng.permutation(usable)[: self.asked])
            chosen[kind] = prompts[drawn], answers[drawn]
        return chosen


def _draw_values(
    rng: np.random.Generator, count: int, answers: Ids, weights: np.ndarray
) -> Ids:
    """Draw ``count`` values; if ``count`` is large enough, each answer is drawn at least once.

    Args:
        rng: Random generator.
        count: Number of values.
        answers: Token ids from which values are drawn, ``[n]``.
        weights: Relative frequency of each answer, ``[n]``.
    """
    more = rng.choice(answers, max(0, count - len(answers)), p=weights / weights.sum())
    return rng.permutation(np.concatenate([rng.permutation(answers), more]))[:count]


def _second_values(
    rng: np.random.Generator, rows: Rows, answers: Ids, weights: np.ndarray
) -> Rows:
    """Return a further fact with a different value for each given fact."""
    if rows and len(answers) < 2:
        raise ConfigError(
            "random-facts: 'several' requires that each relation has at least two possible "
            "answers; increase the number of bridges or objects, or set 'crossing'"
        )
    further: Rows = []
    for subject, relation, value in rows:
        others = np.where(answers == value, 0.0, weights)
        further.append(
            (subject, relation, int(rng.choice(answers, p=others / others.sum())))
        )
    return further
