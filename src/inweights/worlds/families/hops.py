"""Chains of any number of hops, one entity and one relation a level."""

from __future__ import annotations

import numpy as np

from inweights.config import Config, to_plain
from inweights.errors import ConfigError, unknown_name
from inweights.seeds import WORLD, Streams
from inweights.worlds.size import check_fraction, check_world
from inweights.worlds.vocabulary import numbered
from inweights.worlds.world import Ids, Statements, Vocabulary, World


class Hops(Config, tag_field="kind", tag="hops"):
    """``n`` chains of ``hops`` facts; queries ask for the end of two, three, … hops.

    At two hops it is the two-hop world of complexity one.

    Attributes:
        n: Number of chains, at least 2.
        hops: Facts of a chain, at least 2.
        identity: Whether identities of the entities in between are trained, or for which fraction.
            Or levels: ``bridge`` (the second entity of a chain), ``second bridge``, ``third
            bridge``, ….

    Example:
        >>> world = Hops(n=4, hops=3).build()
        >>> world, world.vocabulary.text(world.queries.prompt(4))
        (World('hops', 19 tokens, 20 facts, 8 queries, seed=0), 'e1_1 r1 r2 r3')
    """

    n: int = 20
    hops: int = 3
    identity: bool | float | tuple[str, ...] = True

    def __post_init__(self) -> None:
        if self.n < 2 or self.hops < 2:
            raise ConfigError(f"hops: n and hops must be at least 2, got {self.n} and {self.hops}")
        if isinstance(self.identity, tuple):
            for level in self.identity:
                if level not in self.bridges:
                    raise unknown_name("level in identity of hops", level, self.bridges)
        else:
            check_fraction("hops", "identity", self.identity)

    @property
    def bridges(self) -> tuple[str, ...]:
        """Names of the levels in between, from the start of a chain."""
        ordinals = ("", "second ", "third ", *(f"{n}th " for n in range(4, self.hops)))
        return tuple(f"{ordinal}bridge" for ordinal in ordinals[: self.hops - 1])

    def build(self, seed: int = 0) -> World:
        """Make the world; which entities follow each other, and the fraction, follow the seed."""
        n, hops = self.n, self.hops
        check_world("hops", tokens=n * (hops + 1), statements=3 * n * hops, length=3 + hops / 2)
        rng = Streams(seed).numpy(WORLD, "hops")
        levels = {f"level_{k + 1}": numbered(f"e{k + 1}_", n) for k in range(hops + 1)}
        vocabulary = Vocabulary({**levels, "relation": numbered("r", hops)})
        chains = [vocabulary["level_1"]]
        chains += [rng.permutation(vocabulary[f"level_{k + 2}"]) for k in range(hops)]
        path, relations = np.stack(chains, axis=1), vocabulary["relation"]
        bridges = self._chosen(path[:, 1:-1], rng)[:, None]
        prompts = np.concatenate(
            [np.stack([path[:, k], np.full(n, relations[k])], axis=1) for k in range(hops)]
        )
        facts = {"edge": (prompts, path[:, 1:].T.reshape(-1, 1)), "identity": (bridges, bridges)}
        queries = Statements.build({})
        for depth in range(2, hops + 1):
            asked = np.hstack([path[:, :1], np.tile(relations[:depth], (n, 1))])
            role = "composition" if depth == 2 else "chain"
            part = Statements.build({role: (asked, path[:, depth : depth + 1])}, True)
            queries = queries.joined(part)
        return World(
            name="hops",
            vocabulary=vocabulary,
            facts=Statements.build(facts),
            queries=queries,
            settings=to_plain(self),
            seed=seed,
            why_out_of_distribution="no chain of two facts is trained",
        )

    def _chosen(self, between: Ids, rng: np.random.Generator) -> Ids:
        """Entities in between, ``[n, hops - 1]``, that get an identity; sorted."""
        if isinstance(self.identity, tuple):
            levels = [self.bridges.index(level) for level in dict.fromkeys(self.identity)]
            return np.sort(between[:, levels].ravel())
        middle = np.sort(between.ravel())
        chosen = rng.permutation(len(middle))[: round(float(self.identity) * len(middle))]
        return middle[np.sort(chosen)]
