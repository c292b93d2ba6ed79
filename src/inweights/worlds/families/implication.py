"""Facts about some members of a group, and queries about the others (implication, hallucination).

All members of a group share a value, and facts state a second value for some of them. A
model infers the second value for the others. This answer is right if the first value
implies the second, and a hallucination otherwise; the facts are the same in both cases
(*Generalization or Hallucination? Understanding Out-of-Context Reasoning in
Transformers*, arXiv 2506.10887). :class:`Implication` is the config.
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
    """Groups whose members share a value; some of the members have a second value.

    Facts have the roles ``similarity`` (the shared value of every member),
    ``attribution`` (the second value of some members) and ``counter_example`` (a
    different second value of other members).

    Attributes:
        groups: Number of groups, at least 2.
        members: Number of members of each group, above ``told + denied``.
        told: Number of members of each group with a fact that states the group's second
            value, at least 1.
        denied: Number of other members of each group with a fact that states a
            different second value (counter-examples).
        counter: Value of the counter-examples: ``other`` (the second value of another
            group) or ``unknown`` (one token for all groups). It has no effect if
            :attr:`denied` is 0.
        related: Whether the first value is regarded as implying the second. If so, the
            queries have the role ``implication``; if not, the role ``unstated``. The
            facts are the same in both cases.

    Raises:
        ConfigError: There are fewer than 2 groups, ``told`` is below 1, ``denied`` is
            negative, or no member of a group remains for a query.

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
            raise ConfigError(
                f"implication: 'groups' must be at least 2, got {self.groups}"
            )
        if self.told < 1 or self.denied < 0 or self.told + self.denied >= self.members:
            raise ConfigError(
                "implication.told must be at least 1, implication.denied must be at least 0, "
                f"and their sum must be below members = {self.members}, so that at least one "
                f"query remains; got implication.told = {self.told} and implication.denied = "
                f"{self.denied}"
            )

    def build(self, seed: int = 0) -> World:
        """Build the world; the seed determines the groups and which members have which facts.

        Args:
            seed: Root seed, from 0 to 2**63 - 1.

        Raises:
            ConfigError: The world does not fit in memory (the message gives the
                required and the available memory), or the seed is out of range.
        """
        groups = self.groups
        members = self.members
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
        stated, denied, queried = np.split(
            grouped, [self.told, self.told + self.denied], axis=1
        )
        facts = {
            "similarity": _statements(grouped, shared, vocabulary["value"]),
            "attribution": _statements(stated, attribute, own),
            "counter_example": _statements(denied, attribute, other),
        }
        prompts, answers = _statements(queried, attribute, own)
        order = np.argsort(prompts[:, 0])
        role = "implication" if self.related else "unstated"
        queries = {role: (prompts[order], answers[order])}
        why = "no such fact of this member is trained"
        return World.of(self, seed, vocabulary, facts, queries, why)


def _statements(
    people: np.ndarray, relation: int, answers: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return prompts and answers of members, with one answer for each group.

    Args:
        people: Token ids of ``m`` members of ``G`` groups, ``[G, m]``.
        relation: Token id of the relation.
        answers: Token id of each group's answer, ``[G]``.

    Returns:
        Prompts ``[G·m, 2]`` and answers ``[G·m, 1]``.
    """
    prompts = np.stack([people.ravel(), np.full(people.size, relation)], axis=1)
    return prompts, np.repeat(answers, people.shape[1])[:, None]
