"""Facts trained in one direction and queried in the other: the reversal curse.

Told that ``a_i`` reaches ``b_i`` under ``r``, a model is asked what ``b_i`` reaches under the
reverse relation. *Breaking the Reversal Curse via Identity Bridge* (arXiv 2602.02470) adds
identities; ours adds a few reversals that are told.
"""

from typing import Literal

import numpy as np

from inweights.config import Config
from inweights.errors import ConfigError
from inweights.seeds import WORLD, Streams
from inweights.worlds.size import check_counts, check_world
from inweights.worlds.vocabulary import numbered
from inweights.worlds.world import Vocabulary, World


class Reversal(Config, tag_field="kind", tag="reversal"):
    """Pairs, some of which are trained in both directions.

    Attributes:
        n: Number of pairs, at least 2.
        told: Of how many pairs the reversal is a fact; those of the others are queries.
        identity: Which ends have identities ``a → a``.
        phrased: Identities are asked with a relation of their own, ``(a, same) → a``.

    Example:
        >>> world = Reversal(n=5, told=2, identity="both").build()
        >>> world, world.vocabulary.text(world.queries.prompt(0))
        (World('reversal', 12 tokens, 17 facts, 3 queries, seed=0), 'b2 reverse')
    """

    n: int = 20
    told: int = 0
    identity: Literal["none", "first", "second", "both"] = "both"
    phrased: bool = False

    def __post_init__(self) -> None:
        check_counts("reversal", self, n=2)
        if not 0 <= self.told < self.n:
            raise ConfigError(
                f"reversal.told must be at least 0 and below n = {self.n}, got {self.told}; of "
                f"{self.n} reversals at least one must be a query"
            )

    def build(self, seed: int = 0) -> World:
        """Build the world; the pairs and which are trained in both directions follow the seed."""
        check_world("reversal", tokens=2 * self.n, statements=4 * self.n)
        rng = Streams(seed).numpy(WORLD, "reversal")
        relations = ["forward", "reverse", *(["same"] if self.phrased else [])]
        first, second = (numbered(stem, self.n) for stem in "ab")
        vocabulary = Vocabulary({"first": first, "second": second, "relation": relations})
        a, b = vocabulary["first"], rng.permutation(vocabulary["second"])
        told = np.zeros(self.n, dtype=bool)
        told[rng.permutation(self.n)[: self.told]] = True
        order = np.argsort(b)
        a, b = a[order], b[order]  # queries in the order of what is asked about
        forward, reverse, *same = vocabulary["relation"].tolist()
        ends = {"none": [], "first": [a], "second": [b], "both": [a, b]}[self.identity]
        own = np.sort(np.concatenate([np.zeros(0, dtype=np.int64), *ends]))[:, None]
        marks = np.full((len(own), len(same)), same[0] if same else 0)
        facts = {
            "edge": (_with(a, forward), b[:, None]),
            "turned": (_with(b[told], reverse), a[told][:, None]),
            "identity": (np.hstack([own, marks]), own),
        }
        queries = {"reversal": (_with(b[~told], reverse), a[~told][:, None])}
        why = "the reversal of this pair is not trained"
        return World.of(self, seed, vocabulary, facts, queries, why)


def _with(entities: np.ndarray, relation: int) -> np.ndarray:
    return np.stack([entities, np.full(len(entities), relation)], axis=1)
