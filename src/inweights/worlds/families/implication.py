"""Facts of some members of a group, queried for the others: implication and hallucination.

All members of a group share a value; of some of them a second fact is told. A model concludes it
of the others, which is right where the one implies the other, and a hallucination where it does
not: the facts do not tell which. (*Generalization or Hallucination? Understanding Out-of-Context
Reasoning in Transformers*, arXiv 2506.10887.)
"""

from typing import Literal

import numpy as np

from inweights.config import Config
from inweights.errors import ConfigError
from inweights.seeds import WORLD, Streams
from inweights.worlds.size import check_world
from inweights.worlds.vocabulary import numbered
from inweights.worlds.world import Vocabulary, World


class Implication(Config, tag_field="kind", tag="implication"):
    """Groups whose members share a value, and of which some have a second one.

    Attributes:
        groups: Number of groups, at least 2.
        members: Members of each group.
        told: Of how many members of each group the second value is told, the group's own.
        denied: Of how many more something else is told: counter-examples.
        counter: What that is: ``other``, the value of the next group, or ``unknown``, a token of
            its own, the same for all.
        related: Whether the first value implies the second: the queries have the role
            ``implication``, else ``unstated``. The facts are the same.

    Example:
        >>> world = Implication(groups=3, members=4, told=2, denied=1).build()
        >>> world, world.vocabulary.text(world.queries.prompt(0))
        (World('implication', 20 tokens, 21 facts, 3 queries, seed=0), 'a2 attribute')
    """

    groups: int = 5
    members: int = 4
    told: int = 1
    denied: int = 0
    counter: Literal["other", "unknown"] = "other"
    related: bool = True

    def __post_init__(self) -> None:
        if self.groups < 2:
            raise ConfigError(f"implication: groups must be at least 2, got {self.groups}")
        if self.told < 1 or self.denied < 0 or self.told + self.denied >= self.members:
            raise ConfigError(
                f"implication: of {self.members} members at least 1 is trained and at least 1 is "
                f"a query, got implication.told = {self.told} and implication.denied = "
                f"{self.denied}"
            )

    def build(self, seed: int = 0) -> World:
        """Build the world; groups and their values follow the seed."""
        groups, members = self.groups, self.members
        people = groups * members
        check_world("implication", tokens=people + 2 * groups, statements=2 * people)
        rng = Streams(seed).numpy(WORLD, "implication")
        named = {
            "member": numbered("a", people),
            "value": numbered("b", groups),
            "attribute": numbered("c", groups),
            "unknown": ["unknown"] if self.denied and self.counter == "unknown" else [],
            "relation": ["shared", "attribute"],
        }
        vocabulary = Vocabulary(named)
        grouped = rng.permutation(vocabulary["member"]).reshape(groups, members)
        shared, attribute = vocabulary["relation"].tolist()
        own = rng.permutation(vocabulary["attribute"])
        other = np.roll(own, 1)
        if len(vocabulary["unknown"]):
            other = np.full(groups, int(vocabulary["unknown"][0]))
        ends = np.cumsum([0, self.told, self.denied, members - self.told - self.denied])

        def say(part: int, answers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return _statements(grouped[:, ends[part] : ends[part + 1]], attribute, answers)

        queries = say(2, own)
        order = np.argsort(queries[0][:, 0])
        role = "implication" if self.related else "unstated"
        facts = {
            "similarity": _statements(grouped, shared, vocabulary["value"]),
            "attribution": say(0, own),
            "counter_example": say(1, other),
        }
        asked = {role: (queries[0][order], queries[1][order])}
        why = "no such fact of this member is trained"
        return World.of(self, seed, vocabulary, facts, asked, why)


def _statements(
    people: np.ndarray, relation: int, answers: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Prompts and answers of members ``[G, m]``, one answer a group."""
    prompts = np.stack([people.ravel(), np.full(people.size, relation)], axis=1)
    return prompts, np.repeat(answers, people.shape[1])[:, None]
