"""Facts trained in one direction and queried in the other: the reversal curse.

A model that is trained on ``(a_i, forward) → b_i`` is queried with the prompt ``(b_i,
reverse)``, whose answer is ``a_i``. *Breaking the Reversal Curse via Identity Bridge*
(arXiv 2602.02470) adds identities. Here, some reversals may be facts, too.
:class:`Reversal` is the config.
"""

from typing import Literal

import numpy as np

from inweights.config import Config
from inweights.errors import ConfigError
from inweights.seeds import WORLD, Streams
from inweights.worlds.size import check_counts, check_world
from inweights.worlds.vocabulary import numbered
from inweights.worlds.world import Vocabulary, World

#: Ends of the pairs that a setting selects.
Ends = Literal["none", "first", "second", "both"]


class Reversal(Config, tag_field="kind", tag="reversal"):
    """Pairs of entities; for some pairs, there are facts in both directions.

    Facts have the roles ``edge`` for ``(a, forward) → b``, ``turned`` for ``(b,
    reverse) → a``, ``identity``, and ``further`` (see :attr:`targeted`). Queries have
    the role ``reversal``. :attr:`identity` and :attr:`targeted` select entities of each
    pair: ``none``, ``first`` (``a``), ``second`` (``b``) or ``both``.

    Attributes:
        n: Number of pairs, at least 2.
        told: Number of pairs whose reversal is a fact, from 0 to ``n - 1``; the other
            reversals are queries.
        identity: Which entities of a pair have an identity ``a → a`` among the facts.
        phrased: Whether identities have a relation of their own, ``(a, same) → a``.
        targeted: Which entities of a pair are the answer to an additional fact whose
            subject occurs nowhere else: ``(x, leads) → a``.

    Raises:
        ConfigError: ``n`` is below 2 or above 10**12, or ``told`` is not between 0 and
            ``n
            - 1``.

    Example:
        >>> world = Reversal(n=5, told=2, identity="both").build()
        >>> world, world.vocabulary.text(world.queries.prompt(0))
        (World('reversal', 12 tokens, 17 facts, 3 queries, seed=0), 'b2 reverse')
    """

    later = {"targeted": "none"}
    newer = ("targeted",)

    n: int = 20
    told: int = 0
    identity: Ends = "both"
    phrased: bool = False
    targeted: Ends = "none"

    def __post_init__(self) -> None:
        check_counts("reversal", self, n=2)
        if not 0 <= self.told < self.n:
            raise ConfigError(
                f"reversal.told must be at least 0 and below n = {self.n}, got {self.told}; of "
                f"{self.n} reversals, at least one must be a query"
            )

    def build(self, seed: int = 0) -> World:
        """Build the world; the seed determines the pairs, and which have facts in both directions.

        Args:
            seed: Root seed, from 0 to 2**63 - 1.

        Raises:
            ConfigError: The world does not fit in memory (the message gives the
                required and the available memory), or the seed is out of range.
        """
        further = {"none": 0, "both": 2 * self.n}.get(self.targeted, self.n)
        check_world(
            "reversal", tokens=2 * self.n + further, statements=4 * self.n + further
        )
        rng = Streams(seed).numpy(WORLD, "reversal")
        relations = ["forward", "reverse"]
        if self.phrased:
            relations.append("same")
        if self.targeted != "none":
            relations.append("leads")
        groups = {"first": numbered("a", self.n), "second": numbered("b", self.n)}
        if further:
            groups["further"] = numbered("x", further)
        vocabulary = Vocabulary({**groups, "relation": relations})
        a = vocabulary["first"]
        b = rng.permutation(vocabulary["second"])
        trained = np.zeros(self.n, dtype=bool)
        trained[rng.permutation(self.n)[: self.told]] = True
        order = np.argsort(b)
        a, b = a[order], b[order]  # queries are sorted by their first token
        forward, reverse, *others = vocabulary["relation"].tolist()
        same = others[: self.phrased]
        own = _ends(self.identity, a, b)[:, None]
        marks = np.full((len(own), len(same)), same[0] if same else 0)
        facts = {
            "edge": (_with(a, forward), b[:, None]),
            "turned": (_with(b[trained], reverse), a[trained][:, None]),
            "identity": (np.hstack([own, marks]), own),
        }
        if further:
            starts = _with(vocabulary["further"], others[-1])
            facts["further"] = (starts, _ends(self.targeted, a, b)[:, None])
        queries = {"reversal": (_with(b[~trained], reverse), a[~trained][:, None])}
        why = "the reversal of this pair is not trained"
        return World.of(self, seed, vocabulary, facts, queries, why)


def _ends(which: Ends, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the chosen entities of the pairs, sorted.

    Args:
        which: ``none``, ``first``, ``second`` or ``both``.
        a: Token ids of the first entities, ``[n]``.
        b: Token ids of the second entities, ``[n]``.
    """
    chosen = {
        "none": [],
        "first": [a],
        "second": [b],
        "both": [a, b],
    }[which]
    return np.sort(np.concatenate([np.zeros(0, dtype=np.int64), *chosen]))


def _with(entities: np.ndarray, relation: int) -> np.ndarray:
    """Return a prompt for each entity, which consists of the entity and the relation."""
    return np.stack([entities, np.full(len(entities), relation)], axis=1)
