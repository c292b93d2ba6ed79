"""A user's own facts as a world: ``subject, relation, object`` from a file.

Every triple is a fact ``(subject, relation) → object``. Every chain of two triples that meet in
one entity is a query ``(subject, r1, r2) → object``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from inweights.config import Config, to_dict
from inweights.errors import ConfigError, DataError
from inweights.limits import check_memory
from inweights.seeds import WORLD, Streams
from inweights.worlds.knowledge import Knowledge, read_knowledge
from inweights.worlds.world import Ids, Statements, Vocabulary, World

__all__ = ["Triples", "bridges_of", "world_of"]


#: Bytes of a question while they are collected.
_CHAIN = 500


class Triples(Config, tag_field="kind", tag="triples"):
    r"""Facts from a file.

    Attributes:
        path: A CSV or TSV file with three columns (with or without a header), or a JSONL file with
            objects of three fields: ``subject``, ``relation``, ``object``. ``@people`` and
            ``@chemistry`` are small sets of real facts that come with the package.
        identity: Whether identities ``b → b`` of bridges are facts, or for which fraction of them.
            A bridge is the object of a triple and the subject of another.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> path = Path(tempfile.mkdtemp()) / "family.csv"
        >>> _ = path.write_text("ann,mother,beth\nbeth,born_in,rome\ncarl,born_in,oslo\n")
        >>> world = Triples(path=str(path), identity=True).build()
        >>> world, world.vocabulary.text(world.queries.prompt(0))
        (World('triples', 7 tokens, 4 facts, 1 queries, seed=0), 'ann mother born_in')
    """

    path: str = ""
    identity: bool | float = False

    def __post_init__(self) -> None:
        if not 0.0 <= float(self.identity) <= 1.0:
            raise ConfigError(f"triples: identity is a fraction from 0 to 1, not {self.identity}")

    def build(self, seed: int = 0) -> World:
        """Read the file; only a fraction of identities depends on the seed.

        Raises:
            DataError: The file is missing, empty or damaged; names the line.
        """
        if not self.path:
            raise DataError("triples: no file is given; set path=facts.csv")
        facts = read_knowledge(self.path)
        bridges = bridges_of(facts)
        chosen = Streams(seed).numpy(WORLD, "triples").permutation(len(bridges))
        kept = bridges[np.sort(chosen[: round(float(self.identity) * len(bridges))])]
        return world_of(facts, identity=kept.tolist(), settings=to_dict(self), seed=seed)


def bridges_of(facts: Knowledge) -> Ids:
    """Entities that end a triple and begin another, sorted."""
    return np.intersect1d(facts.triples[:, 2], facts.triples[:, 0])


def world_of(
    facts: Knowledge,
    *,
    identity: Sequence[int] = (),
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
) -> World:
    """Return the world of a set of triples, with identities of some entities.

    Raises:
        DataError: A name is that of an entity and of a relation.
    """
    both = set(facts.entities) & set(facts.relations)
    if both:
        raise DataError(f"'{min(both)}' is an entity and a relation; rename one of the two")
    vocabulary = Vocabulary({"entity": facts.entities, "relation": facts.relations})
    rows = facts.triples + np.array([0, len(facts.entities), 0])
    entered, left = (
        np.bincount(facts.triples[:, column], minlength=len(facts.entities)) for column in (2, 0)
    )
    chains_there = int(entered @ left)  # a hub has as many as its neighbours on both sides multiply
    check_memory(
        f"the {chains_there:,} questions that chain two of {len(facts):,} facts",
        _CHAIN * chains_there,
        error=DataError,
        hint="leave out facts of the entities that most of them pass through",
    )
    after: dict[int, list[tuple[int, int]]] = {}
    for subject, relation, thing in rows.tolist():
        after.setdefault(subject, []).append((relation, thing))
    chains = dict.fromkeys(
        ((s, r1, r2), end) for s, r1, b in rows.tolist() for r2, end in after.get(b, ())
    )
    kept = np.array(identity, dtype=np.int64)[:, None]
    prompts = np.array([p for p, _ in chains], dtype=np.int64).reshape(-1, 3)
    ends = np.array([e for _, e in chains], dtype=np.int64).reshape(-1, 1)
    return World(
        name="triples",
        vocabulary=vocabulary,
        facts=Statements.build({"triple": (rows[:, :2], rows[:, 2:]), "identity": (kept, kept)}),
        queries=Statements.build(
            {"composition": (prompts, ends)}, np.ones(len(prompts), dtype=bool)
        ),
        settings=settings or {},
        seed=seed,
        why_out_of_distribution="no chain of two facts is trained",
    )
