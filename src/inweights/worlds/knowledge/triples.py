"""A user's own facts as a world: ``subject, relation, object`` from a file.

Every triple is a fact ``(subject, relation) → object``. A relation that leads from every subject to
itself (``rome,is,rome``) states identities ``rome → rome``. Queries are what the facts leave open
(``knowledge_questions.py``): every chain of two triples that meet in one entity, and more kinds.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from msgspec import structs

from inweights.config import Config, digest, to_plain
from inweights.errors import ConfigError, DataError, InweightsError, unknown_name
from inweights.seeds import WORLD, Streams
from inweights.support.content import fingerprint
from inweights.worlds.arrays import Bools
from inweights.worlds.knowledge.knowledge import Knowledge, read_knowledge
from inweights.worlds.knowledge.questions import KINDS, Kind, composed, names_of, questions
from inweights.worlds.vocabulary import bridge_levels
from inweights.worlds.world import Ids, Statements, Vocabulary, World

#: What a key says of facts with several right answers to a query: before, each was a query of its
#: own, and other numbers were stored.
_SETS = "one query for each prompt"


class Triples(Config, kw_only=False, tag_field="kind", tag="triples"):
    r"""Facts from a file, ``Facts("facts.csv")``; the two names mean the same.

    Attributes:
        path: A CSV or TSV file with three columns (with or without a header), a JSONL file with
            objects of three fields: ``subject``, ``relation``, ``object``, or any other source of
            :func:`inweights.worlds.read_knowledge`. ``@people`` and ``@chemistry`` are small sets
            of real facts that come with the package.
        identity: Whether identities ``b → b`` of bridges are facts, or for which fraction of them.
            A bridge is the object of a triple and the subject of another. Or names: of relations,
            for the bridges that they lead to; or of levels, ``bridge``, ``second bridge``, …, by
            the least number of facts (one, two, …) from an entity that no fact leads to. Those that
            the file states are facts anyway.
        questions: Kinds of questions, with commas between: ``composition``, ``chain``,
            ``reversal``, ``implication``, ``unstated``; or ``all``.
        query: What to ask, where the path is a database's address.
        download: Whether a data set of the hub may be fetched, where the path is its name.
        header: ``yes`` or ``no``: whether the first row is a header. Empty: decided by what is
            there, or refused.
        columns: The columns of subject, relation and object by name or number, with commas between,
            where the file does not show them.
        wide: Whether each column is a relation of what the first column names.
        labels: A file of ids and labels, which replace ids in the facts.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> path = Path(tempfile.mkdtemp()) / "family.csv"
        >>> _ = path.write_text("ann,mother,beth\nbeth,born_in,rome\ncarl,born_in,oslo\n")
        >>> world = Triples(path=str(path), identity=True).build()
        >>> len(world.facts), world.vocabulary.text(world.queries.prompt(0))
        (4, 'ann mother born_in')
        >>> world.asks
        "composition; questions='all' adds chain, reversal, implication, unstated"
    """

    later = {
        "questions": "composition",
        "query": "",
        "download": False,
        "header": "",
        "columns": "",
        "wide": False,
        "labels": "",
    }
    newer = ("header", "columns", "wide", "labels")

    path: str = ""
    identity: bool | float | tuple[str, ...] = False
    questions: str = "composition"
    query: str = ""
    download: bool = False
    header: Literal["", "yes", "no"] = ""
    columns: str = ""
    wide: bool = False
    labels: str = ""

    def __post_init__(self) -> None:
        for kind in self.kinds:
            if kind not in KINDS:
                raise unknown_name("kind of question", kind, (*KINDS, "all"))
        if not isinstance(self.identity, tuple) and not 0.0 <= float(self.identity) <= 1.0:
            raise ConfigError(
                "triples: identity must be a fraction from 0 to 1, or names of relations, got "
                f"{self.identity}"
            )

    @property
    def contents(self) -> dict[str, str]:
        if not self.path or self.path.startswith("@"):  # those of the package have its version
            return {}
        if not self.query and Path(self.path).exists():
            found = {self.path: fingerprint(self.path)}
            if self.labels:
                found[self.labels] = fingerprint(self.labels)
        else:
            rows = self.read()  # of a database or a data set
            found = {self.path: digest([rows.entities, rows.relations, rows.triples.tolist()], 16)}
        if _has_sets(structs.replace(self, identity=False), found[self.path]):
            found[f"{self.path}: right answers"] = _SETS
        return found

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """Kinds of questions, one by one."""
        if self.questions == "all":
            return KINDS
        return tuple(kind.strip() for kind in self.questions.split(","))  # type: ignore[misc]

    def build(self, seed: int = 0) -> World:
        """Read the file; only the selection of identities depends on the seed.

        Raises:
            DataError: The file is missing, empty or damaged; names the line.
        """
        if not self.path:
            raise DataError("triples: no file is given; set path=facts.csv")
        return self.world(self.read(), seed)

    def read(self) -> Knowledge:
        """Read the facts alone."""
        return read_knowledge(
            self.path,
            query=self.query,
            download=self.download,
            header=self.header == "yes" if self.header else None,
            columns=self.columns,
            wide=self.wide,
            labels=self.labels,
        )

    def world(self, facts: Knowledge, seed: int = 0) -> World:
        """Build the world of facts that are read already, or of a part of them."""
        bridges = bridges_of(facts)
        if isinstance(self.identity, tuple):
            kept = _named_bridges(facts, self.identity)
        else:
            chosen = Streams(seed).numpy(WORLD, "triples").permutation(len(bridges))
            kept = bridges[np.sort(chosen[: round(float(self.identity) * len(bridges))])]
        settings, found = to_plain(self), kept.tolist()
        return world_of(facts, identity=found, kinds=self.kinds, settings=settings, seed=seed)


@lru_cache(maxsize=64)
def _has_sets(facts: Triples, content: str) -> bool:  # noqa: ARG001  # another content, another answer
    """Whether some query of the facts has several right answers."""
    try:
        return bool(len(facts.build().queries.further))
    except InweightsError:  # whoever builds the world says so
        return False


#: The name under which own facts are found first.
Facts = Triples


def _named_bridges(facts: Knowledge, names: Sequence[str]) -> Ids:
    """Bridges to which the named relations lead, or that stand at the named levels."""
    _, relation, thing = facts.triples.T
    levels = {} if set(names) <= set(facts.relations) else _levels(facts)
    found = []
    for name in names:
        if name in facts.relations:
            found.append(thing[relation == facts.relations.index(name)])
        elif name in levels:
            found.append(levels[name])
        else:
            raise unknown_name("relation or level in identity", name, (*facts.relations, *levels))
    return np.intersect1d(bridges_of(facts), np.concatenate([thing[:0], *found]))


def _levels(facts: Knowledge) -> dict[str, Ids]:
    """Bridges by the least number of facts from an entity that no fact leads to."""
    subject, _, thing = facts.triples[~identities_of(facts)].T
    left, here, found = bridges_of(facts), np.setdiff1d(subject, thing), []
    while len(here := np.intersect1d(left, thing[np.isin(subject, here)])):
        left = np.setdiff1d(left, here)
        found.append(here)
    return dict(zip(bridge_levels(len(found)), found, strict=True))


def identities_of(facts: Knowledge) -> Bools:
    """Which triples state an identity: those of relations that lead from each subject to itself."""
    subject, relation, thing = facts.triples.T
    loops = subject == thing
    found: Bools = loops & ~np.isin(relation, relation[~loops])
    return found


def two_step_questions(facts: Knowledge) -> int:
    """Return how many questions of two steps facts leave open: prompts, not chains nor answers.

    Example:
        >>> two_step_questions(read_knowledge("@people"))
        70
    """
    return composed(facts.triples[~identities_of(facts)], 0)[2]


def bridges_of(facts: Knowledge) -> Ids:
    """Entities that end a triple and begin another one, sorted; an identity is neither."""
    rows = facts.triples[~identities_of(facts)]
    return np.intersect1d(rows[:, 2], rows[:, 0])


def world_of(
    facts: Knowledge,
    *,
    identity: Sequence[int] = (),
    kinds: Sequence[Kind] = ("composition",),
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
) -> World:
    """Return the world of a set of triples, with identities of some entities besides its own."""
    vocabulary = Vocabulary(names_of(facts))
    stated = identities_of(facts)
    rows = facts.triples[~stated] + np.array([0, len(facts.entities), 0])
    kept = dict.fromkeys([*facts.triples[stated, 0].tolist(), *identity])
    column = np.array(list(kept), dtype=np.int64)[:, None]
    asked = questions([tuple(row) for row in rows.tolist()], kinds)
    return World(
        name="triples",
        vocabulary=vocabulary,
        facts=Statements.build(
            {"triple": (rows[:, :2], rows[:, 2:]), "identity": (column, column)}
        ),
        queries=Statements.build(asked, True),
        settings=settings or {},
        seed=seed,
        why_out_of_distribution="no answer to any of these is trained",
        asks=_asks(kinds),
    )


def _asks(kinds: Sequence[Kind]) -> str:
    left = ", ".join(kind for kind in KINDS if kind not in kinds)
    return ", ".join(kinds) + (f"; questions='all' adds {left}" if left else "")
