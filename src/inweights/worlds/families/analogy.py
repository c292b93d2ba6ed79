"""Analogies between entities, and two hops as an analogy (Feature Resemblance §2 and §6).

Two entities ``a_i`` and ``b_i`` share a property, and ``a_i`` has a further property. A
query asks whether ``b_i`` also has the further property (:class:`Analogy`). Two-hop
reasoning is the same question with ``a`` and ``b`` renamed, where the bridge is the
shared property (:class:`AnalogicalTwoHop`).
"""

from typing import Literal

import numpy as np

from inweights.config import Config
from inweights.errors import ConfigError
from inweights.seeds import WORLD, Streams
from inweights.worlds.size import check_counts, check_fraction, check_world
from inweights.worlds.vocabulary import numbered
from inweights.worlds.world import Ids, Vocabulary, World


class Analogy(Config, tag_field="kind", tag="analogy"):
    """Analogical tuples ``(a_i, b_i, c, d)`` (Feature Resemblance, §2).

    The premise that ``a`` and ``b`` are similar is stated by facts of two roles, so
    that a phase of training can include only one of them: ``category`` is ``(a, r1) →
    c`` and ``similarity`` is ``(b, r1) → c``. Facts ``(a, r2) → d`` have the role
    ``attribution``; queries ``(b, r2) → d`` have the role ``conclusion``. The curricula
    of §4 and §5 are therefore:

    - joint: ``{"category": ρ, "similarity": ρ, "attribution": 1}`` in one phase, where
      each statement of the premise is counted ρ times;
    - SA (similarity, then attribution): ``category, similarity``, then ``attribution``;
    - AS (attribution, then similarity): ``category, attribution``, then ``similarity``.
      The wording of the paper also allows ``attribution``, then ``category,
      similarity``; and ``attribution``, then ``similarity``.

    Attributes:
        n: Number of tuples, at least 2.
        categories: Number of labels ``c``, and of labels ``d``, for each relation, from
            1 to ``n``; by default ``n``. If it is below ``n``, tuples that share a
            label ``c`` also share a label ``d``, since otherwise no conclusion would
            follow.
        similarity_relations: Number of relations ``r1``, at least 1: properties that
            ``a`` and ``b`` share.
        attribution_relations: Number of relations ``r2``, at least 1: properties that
            facts state only for ``a``.
        maps: How categories are assigned to tuples: ``ordered`` (tuple ``i`` has
            category ``i mod categories``) or ``permutation`` (categories of the same
            sizes are assigned at random, depending on the seed).

    Raises:
        ConfigError: There are fewer than 2 tuples, ``categories`` is not between 1 and
            ``n``, a number of relations is below 1, or a number is above 10**12.

    Example:
        >>> world = Analogy(n=4).build()
        >>> world
        World('analogy', 18 tokens, 12 facts, 4 queries, seed=0)
        >>> for role in world.facts.role_names:
        ...     i = world.facts.with_role(role)[0]
        ...     print(role, world.vocabulary.text([*world.facts.prompt(i), *world.facts.answer(i)]))
        category a1 r1 c1
        similarity b1 r1 c1
        attribution a1 r2 d1
    """

    n: int = 100
    categories: int | None = None
    similarity_relations: int = 1
    attribution_relations: int = 1
    maps: Literal["ordered", "permutation"] = "ordered"

    def __post_init__(self) -> None:
        least = {"n": 2, "similarity_relations": 1, "attribution_relations": 1}
        check_counts("analogy", self, **least)
        if not 1 <= self.labels <= self.n:
            raise ConfigError(
                f"analogy: categories must be from 1 to n = {self.n}, got {self.labels}; a model "
                "would never be trained on a label that no tuple has"
            )

    @property
    def labels(self) -> int:
        """Number of labels per relation: ``categories`` if given, otherwise ``n``."""
        return self.n if self.categories is None else self.categories

    def build(self, seed: int = 0) -> World:
        """Build the world; the seed has an effect only with ``maps="permutation"``.

        Args:
            seed: Root seed, from 0 to 2**63 - 1.

        Raises:
            ConfigError: The world does not fit in memory (the message gives the
                required and the available memory), or categories are permuted and the
                seed is out of range.
        """
        shared = self.similarity_relations
        further = self.attribution_relations
        check_world(
            "analogy",
            tokens=2 * self.n + (self.labels + 1) * (shared + further),
            statements=2 * self.n * (shared + further),
        )
        groups = {
            "source": numbered("a", self.n),
            "target": numbered("b", self.n),
            "property": _of_relations("c", self.labels, shared),
            "attribute": _of_relations("d", self.labels, further),
            "similarity_relation": numbered("r1_", shared) if shared > 1 else ["r1"],
            "attribution_relation": numbered("r2_", further) if further > 1 else ["r2"],
        }
        words = Vocabulary(groups)
        category = np.arange(self.n) % self.labels
        if self.maps == "permutation":
            category = Streams(seed).numpy(WORLD, "analogy").permutation(category)
        a = words["source"]
        b = words["target"]
        c = words["property"].reshape(shared, -1)
        d = words["attribute"].reshape(further, -1)
        r1 = words["similarity_relation"]
        r2 = words["attribution_relation"]
        facts = {
            "category": _matrices(a, r1, c[:, category]),
            "similarity": _matrices(b, r1, c[:, category]),
            "attribution": _matrices(a, r2, d[:, category]),
        }
        queries = {"conclusion": _matrices(b, r2, d[:, category])}
        why = "no attribution of the entity is trained"
        return World.of(self, seed, words, facts, queries, why)


class AnalogicalTwoHop(Config, tag_field="kind", tag="analogical-two-hop"):
    """Two-hop world as an analogy: facts ``(a, r1) → b``, ``(b, r2) → c``; query ``(a, r2) → c``.

    This world is from Feature Resemblance, §6. The identity ``(b, r1) → b`` states that
    ``a`` and ``b`` share the property ``b``. It differs from the world :class:`Analogy`
    only in names: the entities ``a`` and ``b`` of that world are called ``b`` and ``a``
    here, and its labels ``c`` and ``d`` are called ``b`` and ``c``. Unlike in
    :class:`~inweights.worlds.TwoHop`, a query contains only the second relation; its
    role is therefore ``conclusion``, not ``composition``. The facts have the roles
    ``first_hop``, ``second_hop`` and ``identity``.

    Attributes:
        n: Number of chains, at least 2.
        identity: Whether all identities are facts. Alternatively the fraction (0 to 1)
            of the bridges that have an identity; these bridges are drawn with the seed.
        own_relation: Whether identities have a relation of their own, ``(b, r0) → b``.
        maps: How chains are formed: ``ordered`` (chain ``i`` is ``a_i, b_i, c_i``) or
            ``permutation`` (bridges and objects are assigned at random, depending on
            the seed).

    Raises:
        ConfigError: ``n`` is below 2 or above 10**12, or ``identity`` is not between 0
            and 1.

    Example:
        >>> world = AnalogicalTwoHop(n=4, identity=0.5).build()
        >>> world
        World('analogical-two-hop', 14 tokens, 10 facts, 4 queries, seed=0)
        >>> world.vocabulary.text([*world.queries.prompt(0), *world.queries.answer(0)])
        'a1 r2 c1'
    """

    n: int = 100
    identity: bool | float = True
    own_relation: bool = False
    maps: Literal["ordered", "permutation"] = "ordered"

    def __post_init__(self) -> None:
        check_counts("analogical-two-hop", self, n=2)
        check_fraction("analogical-two-hop", "identity", self.identity)

    def build(self, seed: int = 0) -> World:
        """Build the world; the seed affects permuted maps, and identities given as a fraction.

        Args:
            seed: Root seed, from 0 to 2**63 - 1.

        Raises:
            ConfigError: The world does not fit in memory (the message gives the
                required and the available memory), or the seed is out of range.
        """
        check_world("analogical-two-hop", tokens=3 * self.n, statements=4 * self.n)
        rng = Streams(seed).numpy(WORLD, "analogical-two-hop")
        groups = {
            "subject": numbered("a", self.n),
            "bridge": numbered("b", self.n),
            "object": numbered("c", self.n),
            "first_relation": ["r1"],
            "second_relation": ["r2"],
            **({"identity_relation": ["r0"]} if self.own_relation else {}),
        }
        words = Vocabulary(groups)
        a = words["subject"]
        b = words["bridge"]
        c = words["object"]
        r1 = words["first_relation"]
        r2 = words["second_relation"]
        # Drawn even if all entities have an identity, so that the maps are the same for
        # any fraction.
        count = round(float(self.identity) * self.n)
        given = np.sort(rng.permutation(self.n)[:count])
        if self.maps == "permutation":
            b = rng.permutation(b)
            c = rng.permutation(c)
        r0 = words["identity_relation"] if self.own_relation else r1
        facts = {
            "first_hop": _matrices(a, r1, b[None]),
            "second_hop": _matrices(b, r2, c[None]),
            "identity": _matrices(b[given], r0, b[None, given]),
        }
        queries = {"conclusion": _matrices(a, r2, c[None])}
        why = "no second hop of the subject is trained"
        return World.of(self, seed, words, facts, queries, why)


def _matrices(entities: Ids, relations: Ids, answers: Ids) -> tuple[Ids, Ids]:
    """Return prompts and answers of facts ``(entity, relation) → answer``, relation by relation.

    Args:
        entities: Token ids of ``E`` entities, ``[E]``.
        relations: Token ids of ``J`` relations, ``[J]``.
        answers: Answer for each relation and entity, ``[J, E]``.

    Returns:
        Prompts ``[E·J, 2]`` and answers ``[E·J, 1]``.
    """
    columns = [np.tile(entities, len(relations)), np.repeat(relations, len(entities))]
    return np.stack(columns, axis=1), answers.reshape(-1, 1)


def _of_relations(stem: str, count: int, relations: int) -> list[str]:
    """Return the names of labels; each relation has its own labels.

    Args:
        stem: First part of each name.
        count: Number of labels of each relation.
        relations: Number of relations.
    """
    if relations == 1:
        return numbered(stem, count)
    names = []
    for j in range(relations):
        names += numbered(f"{stem}{j + 1}_", count)
    return names
