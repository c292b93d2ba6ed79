"""The two-hop family of Identity Bridge (§3.1, §3.2, §4.1): the config :class:`TwoHop`.

First relations ``r1_j`` lead from subjects ``a_i`` to bridges ``b_k``, and second
relations ``r2_s`` lead from bridges to objects ``c_i``. A zero-hop identity ``b → b``
may be added.
"""

from typing import Literal

import numpy as np

from inweights.config import MOST, Config
from inweights.errors import ConfigError
from inweights.seeds import WORLD, Streams
from inweights.worlds.size import check_counts, check_fraction, check_world
from inweights.worlds.vocabulary import numbered
from inweights.worlds.world import Ids, Vocabulary, World

#: For each role of queries, whether the first and the second hop are in no trained
#: two-hop fact.
_UNSEEN = {
    "composition": (False, False),
    "first_unseen": (True, False),
    "second_unseen": (False, True),
    "both_unseen": (True, True),
}


class TwoHop(Config, tag_field="kind", tag="two-hop"):
    """Two-hop worlds with ``N`` subjects, ``N`` objects and ``|R1|·N`` bridges.

    Facts have the roles ``first_hop``, ``second_hop``, ``two_hop`` and ``identity``;
    queries are two-hop statements that are not facts, with the role ``composition``.

    Bridge ``k = jN + i`` (0-based; index ``i`` in slice ``j``) is the answer to ``(a_i,
    r1_j)``, and ``(b_k, r2_s)`` has the answer ``c_{(i + (j + s) mod C) mod N}``. With
    the defaults, this is the world of Identity Bridge (§4.1): each subject leads to
    exactly ``C`` objects. (The map as printed in the paper, ``⌊k/N⌋ + k mod N``, is not
    injective or exceeds the range; this interpretation avoids both.)

    Attributes:
        n: Number ``N`` of subjects, and of objects, at least 2.
        complexity: Number ``C`` of objects to which a subject leads, 1 to ``N``.
        first_relations: Number ``|R1|`` of first relations, each with a slice of
            bridges; by default ``C``.
        second_relations: Number ``|R2|`` of second relations, at least 1.
        maps: ``shift``: the maps above. ``permutation``: the same structure with the
            entities permuted, differently for each seed. ``sampled``: every hop is
            drawn independently, with replacement, so that bridges and objects may be
            shared or unused.
        identity: Whether identities ``b → b`` of all bridges are facts, or the fraction
            (0 to 1) of the bridges that have one.
        trained: Fraction of the two-hop statements that are facts, at least 0 and below 1;
            with :attr:`unseen`, this is a fraction of the statements without unseen
            hops.
        bridges: Number of bridges of a slice, at most ``N``, so that several subjects
            share one; by default ``N``. It requires ``sampled`` maps, which are then
            drawn once for all seeds; a seed only permutes the entities, so that all
            worlds have the same number of statements of each role.
        unseen: Fraction of the first hops, and of the second hops, that no two-hop fact
            uses; requires :attr:`bridges`. Queries then have four roles:
            ``composition`` (both hops are in two-hop facts), ``first_unseen`` (only the
            second hop is in one), ``second_unseen`` (only the first hop is in one) and
            ``both_unseen`` (neither hop is).

    Raises:
        ConfigError: A number is out of range, the relations reach fewer than
            ``complexity`` objects, no two-hop statement remains as a query, ``bridges``
            is given without ``sampled`` maps, or ``unseen`` is given without
            ``trained`` and ``bridges``.

    Example:
        >>> world = TwoHop(n=10, complexity=2).build(seed=0)
        >>> world
        World('two-hop', 43 tokens, 60 facts, 20 queries, seed=0)
        >>> world.complexity
        2
    """

    later = {"bridges": None, "unseen": 0.0}
    newer = ("bridges", "unseen")

    n: int = 20
    complexity: int = 1
    first_relations: int | None = None
    second_relations: int = 1
    maps: Literal["shift", "permutation", "sampled"] = "shift"
    identity: bool | float = True
    trained: float = 0.0
    bridges: int | None = None
    unseen: float = 0.0

    def __post_init__(self) -> None:
        check_counts("two-hop", self, n=2)
        if not 1 <= self.complexity <= self.n:
            raise ConfigError(
                f"two-hop: 'complexity' must be from 1 to n = {self.n}, got "
                f"{self.complexity}; a subject cannot reach more objects than exist"
            )
        if not 1 <= self.second_relations <= MOST or not 1 <= self.slices <= MOST:
            raise ConfigError(
                f"two-hop: the numbers of first and second relations must be from 1 to {MOST}, "
                f"got {self.slices} first and {self.second_relations} second relations"
            )
        if self.slices + self.second_relations - 1 < self.complexity:
            raise ConfigError(
                f"two-hop: with {self.slices} first relations and {self.second_relations} second "
                f"relations, a subject reaches fewer objects than complexity = {self.complexity}; "
                "add first relations"
            )
        check_fraction("two-hop", "identity", self.identity)
        total = self.n * self.slices * self.second_relations
        if not 0.0 <= self.trained < 1.0 or round(self.trained * total) == total:
            raise ConfigError(
                f"two-hop: 'trained' must be at least 0 and below 1, got {self.trained}; "
                f"of {total} two-hop facts, at least one must be a query"
            )
        if self.bridges is not None and self.maps != "sampled":
            raise ConfigError(
                f"two-hop: 'bridges' requires maps = 'sampled', got maps = '{self.maps}'"
            )
        if self.bridges is not None and not 1 <= self.bridges <= self.n:
            raise ConfigError(
                f"two-hop: 'bridges' must be from 1 to n = {self.n}, got {self.bridges}"
            )
        if not 0.0 <= self.unseen < 1.0:
            raise ConfigError(
                f"two-hop: 'unseen' must be at least 0 and below 1, got {self.unseen}"
            )
        if self.unseen and (not self.trained or self.bridges is None):
            raise ConfigError(
                "two-hop: unseen hops require trained two-hop facts and shared bridges; set "
                f"'trained' and 'bridges', got trained = {self.trained} and bridges = "
                f"{self.bridges}"
            )

    @property
    def slices(self) -> int:
        """Number ``|R1|`` of first relations, each of which has its own slice of bridges."""
        return self.complexity if self.first_relations is None else self.first_relations

    def build(self, seed: int = 0) -> World:
        """Build the world.

        The seed determines sampled and permuted maps, and which identities and two-hop
        statements are facts if :attr:`identity` and :attr:`trained` are fractions. If
        :attr:`bridges` is set, the seed only permutes the entities.

        Args:
            seed: Root seed, from 0 to 2**63 - 1.

        Raises:
            ConfigError: The world does not fit in memory, or the seed is out of
                range.
        """
        rng = Streams(seed if self.bridges is None else 0).numpy(WORLD, "two-hop")
        n = self.n
        slices = self.slices
        each = n if self.bridges is None else self.bridges
        # Statements are hops, compositions and identities.
        statements = n * slices * (2 + 3 * self.second_relations)
        tokens = n * (2 + slices) + self.second_relations
        check_world("two-hop", tokens=tokens, statements=statements)
        groups = {
            "subject": numbered("a", n),
            "bridge": numbered("b", slices * each),
            "object": numbered("c", n),
            "first_relation": _relations("r1", slices),
            "second_relation": _relations("r2", self.second_relations),
        }
        vocabulary = Vocabulary(groups)
        a = vocabulary["subject"]
        b = vocabulary["bridge"]
        c = vocabulary["object"]
        r1 = vocabulary["first_relation"]
        r2 = vocabulary["second_relation"]
        if self.bridges is not None:
            relabel = Streams(seed).numpy(WORLD, "two-hop labels").permutation
            a = relabel(a)
            b = relabel(b)
            c = relabel(c)
        to_bridge, to_object = self._maps(rng)

        first = _hop_facts(a, r1, b[to_bridge])
        second = _hop_facts(b, r2, c[to_object])
        axes = np.meshgrid(np.arange(n), np.arange(slices), np.arange(len(r2)))
        i, j, s = (axis.ravel() for axis in axes)
        bridge = to_bridge[j, i]
        prompts = np.stack([a[i], r1[j], r2[s]], axis=1)
        answers = c[to_object[s, bridge]][:, None]
        # Indices of the first and second hop of each composition.
        hops = np.stack([j * n + i, s * len(b) + bridge])
        seen = self._trained(rng, hops)
        if self.unseen:
            queries = _queries_by_hops(prompts, answers, hops, seen)
            sizes = [len(part) for part, _ in queries.values()]
            outside = np.repeat([role != "composition" for role in queries], sizes)
        else:
            queries = {"composition": (prompts[~seen], answers[~seen])}
            # As in §3.2, a query is out of distribution if its bridge is in no two-hop
            # fact of the training set.
            outside = ~np.isin(bridge, bridge[seen])[~seen]
        bridges = b[_choose(rng, len(b), float(self.identity))][:, None]
        facts = {
            "first_hop": first,
            "second_hop": second,
            "two_hop": (prompts[seen], answers[seen]),
            "identity": (bridges, bridges),
        }
        part = "one of the hops" if self.unseen else "the bridge"
        why = f"no trained two-hop fact contains {part}"
        return World.of(
            self, seed, vocabulary, facts, queries, why, out_of_distribution=outside
        )

    def _trained(self, rng: np.random.Generator, hops: Ids) -> np.ndarray:
        """Draw the two-hop facts that are trained.

        Args:
            rng: Random generator.
            hops: Index of the first and of the second hop of each two-hop fact, ``[2,
                m]``.

        Returns:
            Whether each two-hop fact is trained, ``[m]``.
        """
        if not self.unseen:
            return _choose(rng, hops.shape[1], self.trained)
        allowed = np.ones(hops.shape[1], dtype=bool)
        for hop in hops:
            known = np.unique(hop)
            allowed &= ~np.isin(hop, known[_choose(rng, len(known), self.unseen)])
        seen = np.zeros(hops.shape[1], dtype=bool)
        chosen = _choose(rng, int(allowed.sum()), self.trained)
        seen[np.flatnonzero(allowed)[chosen]] = True
        return seen

    def _maps(self, rng: np.random.Generator) -> tuple[Ids, Ids]:
        """Return bridges by slice and subject, and objects by second relation and bridge."""
        n = self.n
        slices = self.slices
        second = self.second_relations
        if self.maps == "sampled":
            each = n if self.bridges is None else self.bridges
            places = rng.integers(each, size=(slices, n))
            to_object = rng.integers(n, size=(second, slices * each))
            return places + each * np.arange(slices)[:, None], to_object
        i = np.tile(np.arange(n), slices)
        j = np.repeat(np.arange(slices), n)
        shift = (j[None] + np.arange(second)[:, None]) % self.complexity
        to_object = (i[None] + shift) % n
        to_bridge = np.arange(slices * n).reshape(slices, n)
        if self.maps == "permutation":
            subjects = rng.permutation(n)
            objects = rng.permutation(n)
            within = np.concatenate([rng.permutation(n) + n * s for s in range(slices)])
            to_bridge = within[to_bridge[:, subjects]]
            to_object = objects[to_object[:, np.argsort(within)]]
        return to_bridge, to_object


def _hop_facts(entities: Ids, relations: Ids, answers: Ids) -> tuple[Ids, Ids]:
    """Return prompts and answers of hops, relation by relation.

    Args:
        entities: Token ids of ``E`` entities, ``[E]``.
        relations: Token ids of ``J`` relations, ``[J]``.
        answers: Answer for each relation and entity, ``[J, E]``.

    Returns:
        Prompts ``[J·E, 2]`` and answers ``[J·E, 1]``.
    """
    starts = np.tile(entities, len(relations))
    prompts = np.stack([starts, np.repeat(relations, len(entities))], axis=1)
    return prompts, answers.reshape(-1, 1)


def _queries_by_hops(
    prompts: Ids, answers: Ids, hops: Ids, seen: np.ndarray
) -> dict[str, tuple[Ids, Ids]]:
    """Group the queries by which of their hops occur in no trained two-hop fact."""
    unseen = np.stack([~np.isin(hop, hop[seen]) for hop in hops])
    queries = {}
    for role, pattern in _UNSEEN.items():
        chosen = ~seen & (unseen == np.array(pattern)[:, None]).all(0)
        queries[role] = prompts[chosen], answers[chosen]
    return queries


def _relations(name: str, count: int) -> list[str]:
    """Return the names of relations, which are numbered if there are several."""
    return numbered(f"{name}_", count) if count > 1 else [name]


def _choose(rng: np.random.Generator, count: int, fraction: float) -> np.ndarray:
    """Return a mask in which ``round(fraction · count)`` random entries are True."""
    mask = np.zeros(count, dtype=bool)
    mask[rng.permutation(count)[: round(fraction * count)]] = True
    return mask
