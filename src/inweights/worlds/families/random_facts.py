"""Facts at random, as uneven as those that people have.

A few answers are popular, some entities have more facts than others, and relations cross, lead back
or have several values.
"""

from collections import Counter

import numpy as np

from inweights.config import Config, check_size
from inweights.errors import ConfigError
from inweights.seeds import WORLD, Streams
from inweights.worlds.knowledge.questions import questions
from inweights.worlds.size import check_counts, check_world
from inweights.worlds.vocabulary import numbered
from inweights.worlds.world import Ids, Vocabulary, World

Rows = list[tuple[int, int, int]]


class RandomFacts(Config, tag_field="kind", tag="random-facts"):
    """Relations from each level of entities to the next, drawn at random.

    All worlds of one config have as many facts and answers, so that they can train together. What
    has more than one right answer is not asked.

    Attributes:
        subjects: Number of entities of the first level.
        bridges: Of each level between.
        objects: Of the last level.
        hops: Steps from the first level to the last, 2 to 8.
        relations: Number of relations from a level to the next.
        told: Share of the entities of a level of which a relation is told.
        popularity: Concentration of the Dirichlet distributions that say how often an entity is
            told of, and how often it is the answer; each is so once at least. 0: all alike.
        crossing: Whether relations of one level share all their answers, as *born in* and *works
            in* do; else each has answers of its own.
        pairs: Pairs of subjects that a symmetric relation joins, told from both ends.
        several: Of how many entities of each level a relation has two values.
        identity: Whether identities of bridges are facts, or for which fraction of them.
        asked: Questions of each length, at most; drawn from those that there are.

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
        least = max(2, self.relations)
        check_counts("random-facts", self, subjects=least, bridges=least, objects=least)
        if not 2 <= self.hops <= 8:
            raise ConfigError(f"random-facts: hops must be from 2 to 8, got {self.hops}")
        if not 0 < self.told <= 1 or not 0 <= float(self.identity) <= 1 or self.popularity < 0:
            raise ConfigError(
                "random-facts.told must be above 0, identity a fraction from 0 to 1 and "
                f"popularity at least 0; got {self.told}, {self.identity}, {self.popularity}"
            )
        least = min(round(self.told * n) for n in self.levels[:-1])
        if not 0 <= self.several <= least or not 0 <= 2 * self.pairs <= self.levels[0]:
            raise ConfigError(
                f"random-facts: at most {least} entities of a level have several values, and "
                f"{self.levels[0] // 2} pairs fit, not {self.several} and {self.pairs}"
            )

    @property
    def levels(self) -> tuple[int, ...]:
        """Number of entities of each level."""
        return (self.subjects, *[self.bridges] * (self.hops - 1), self.objects)

    def build(self, seed: int = 0) -> World:
        """Draw the world."""
        most = self.relations * sum(self.levels) + 2 * self.pairs
        check_world("random-facts", tokens=sum(self.levels), statements=3 * most + 3 * self.asked)
        rng = Streams(seed).numpy(WORLD, "random-facts")
        levels = {f"level_{k + 1}": numbered("abcdefghi"[k], n) for k, n in enumerate(self.levels)}
        names = [name for k in range(self.hops) for name in numbered("rstuvwxy"[k], self.relations)]
        vocabulary = Vocabulary({**levels, "relation": names + ["with"] * bool(self.pairs)})
        entities = [vocabulary[f"level_{k + 1}"] for k in range(len(self.levels))]
        relations = vocabulary["relation"]
        rows: Rows = []
        for k in range(self.hops):
            begins, ends = self._weights(rng, entities[k]), self._weights(rng, entities[k + 1])
            for j in range(self.relations):
                own = slice(None) if self.crossing else slice(j, None, self.relations)
                rows += self._drawn(
                    rng, int(relations[k * self.relations + j]), entities[k], begins,
                    entities[k + 1][own], ends[own], self.several if j == 0 else 0,
                )  # fmt: skip
        together = entities[0][: 2 * self.pairs].reshape(-1, 2).tolist()
        rows += [(a, int(relations[-1]), b) for p in together for a, b in (p, p[::-1])]
        bridges = np.sort(np.concatenate([*entities[1:-1], entities[0][: 2 * self.pairs]]))
        some = rng.permutation(len(bridges))[: round(float(self.identity) * len(bridges))]
        column = bridges[np.sort(some)][:, None]
        table = np.array(rows)
        facts = {"triple": (table[:, :2], table[:, 2:]), "identity": (column, column)}
        why = "no chain of two facts is trained"
        return World.of(self, seed, vocabulary, facts, self._queries(rng, rows), why)

    def _weights(self, rng: np.random.Generator, entities: Ids) -> np.ndarray:
        """How likely each entity of a level is to be told of, or to be an answer."""
        if not self.popularity:
            return np.ones(len(entities))
        return rng.dirichlet(np.full(len(entities), self.popularity)) + 1e-9

    def _drawn(
        self,
        rng: np.random.Generator,
        relation: int,
        entities: Ids,
        begins: np.ndarray,
        answers: Ids,
        ends: np.ndarray,
        several: int,
    ) -> Rows:
        """Facts of one relation; every answer occurs, where there are facts enough."""
        count = round(self.told * len(entities))
        subjects = rng.choice(entities, count, replace=False, p=begins / begins.sum())
        more = rng.choice(answers, max(0, count - len(answers)), p=ends / ends.sum())
        values = rng.permutation(np.concatenate([rng.permutation(answers), more]))[:count]
        rows = [(int(s), relation, int(v)) for s, v in zip(subjects, values, strict=True)]
        for subject, _, value in rows[:several]:
            chances = np.where(answers == value, 0.0, ends)
            rows.append((subject, relation, int(rng.choice(answers, p=chances / chances.sum()))))
        return rows

    def _queries(self, rng: np.random.Generator, rows: Rows) -> dict[str, tuple[Ids, Ids]]:
        """Some of the chains that end in one entity, and not where they began."""
        deep = self.hops > 2
        chosen = {}
        for kind, (prompts, answers) in questions(
            rows, ("composition", "chain") if deep else ("composition",)
        ).items():
            often = Counter(map(tuple, prompts.tolist()))
            alone = np.array([often[tuple(p)] == 1 for p in prompts.tolist()], dtype=bool)
            fair = np.flatnonzero(alone & (prompts[:, 0] != answers[:, 0]))
            kept = np.sort(rng.permutation(fair)[: self.asked])
            chosen[kind] = prompts[kept], answers[kept]
        return chosen
