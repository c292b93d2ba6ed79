"""A user's own facts as a world: ``subject, relation, object`` from a file.

:class:`Triples`, also called :class:`Facts`, is the config. Every triple is a fact
``(subject, relation) → object``. A relation that leads from each of its subjects to
itself (``rome,is,rome``) states identities ``rome → rome``. Queries are questions that
the facts do not answer directly (:mod:`.questions`).
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
from inweights.support.keys.content import fingerprint
from inweights.worlds.arrays import Bools
from inweights.worlds.knowledge.knowledge import Knowledge, read_knowledge
from inweights.worlds.knowledge.questions import KINDS, Kind, names_of, questions
from inweights.worlds.knowledge.two_steps import composed
from inweights.worlds.vocabulary import bridge_levels
from inweights.worlds.world import Ids, Statements, Vocabulary, World

#: Part of the keys of runs on facts with several correct answers to a query. In earlier
#: versions each answer was a separate query, so that other results were stored.
_SETS = "one query for each prompt"


class Triples(Config, kw_only=False, tag_field="kind", tag="triples"):
    r"""A world of facts from a file, as in ``Facts("facts.csv")``; ``Facts`` is an alias.

    Attributes:
        path: Source of the facts: a CSV or TSV file with three columns (subject,
            relation, object), or any other source of
            :func:`inweights.worlds.read_knowledge`. ``@people`` and ``@chemistry`` are
            small sets of real facts that come with the package.
        identity: Whether identities ``b → b`` of all bridges are facts; or the fraction
            (0 to 1) of the bridges that have one, drawn with the seed. A bridge is the
            object of one triple and the subject of another one. A tuple of names
            selects bridges. The name of a relation selects its objects. The name of a
            level (``bridge``, ``second bridge``, …) selects the bridges whose distance
            from an entity that is not an object is one, two, … facts. Identities in the
            file are always facts.
        questions: ``all``, or kinds of questions (:mod:`.questions`) joined by commas:
            ``composition``, ``chain``, ``reversal``, ``implication``, ``unstated``.
        query: Query for a database, if :attr:`path` is the address of one.
        download: Whether the data set on the hub in :attr:`path` may be downloaded.
        header: ``yes`` or ``no``: whether the first row is a header. If empty, this is
            inferred from the rows; if it is unclear, an error is raised.
        columns: Columns of subject, relation and object by name or by number from 1,
            separated by commas. If empty, they are inferred from header or values.
        wide: Whether the first column contains subjects, and all others are relations.
        labels: File of ids and labels; ids in the facts are replaced by their labels.

    Raises:
        ConfigError: A kind of question is unknown, or ``identity`` is not in [0, 1].

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
        share = 0.0 if isinstance(self.identity, tuple) else float(self.identity)
        if not 0.0 <= share <= 1.0:
            raise ConfigError(
                "triples: 'identity' must be a fraction from 0 to 1, or the names of "
                f"relations, got {self.identity}"
            )

    @property
    def contents(self) -> dict[str, str]:
        """Dictionary that maps the paths of the facts and labels to hashes; part of a run's key.

        A database or data set is read (errors as for :func:`read_knowledge`) and its
        rows are hashed. If the path is empty or begins with ``@``, there is no entry.
        If a query has several correct answers, ``<path>: right answers`` is added.
        """
        if not self.path or self.path.startswith("@"):
            return {}  # the package's own files change only with the package
        if not self.query and Path(self.path).exists():
            found = {self.path: fingerprint(self.path)}
            if self.labels:
                found[self.labels] = fingerprint(self.labels)
        else:
            rows = self.read()  # a database or a data set on the hub
            content = [rows.entities, rows.relations, rows.triples.tolist()]
            found = {self.path: digest(content, 16)}
        if _has_sets(structs.replace(self, identity=False), found[self.path]):
            found[f"{self.path}: right answers"] = _SETS
        return found

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """Kinds of questions that become queries, as a tuple; see :attr:`questions`."""
        if self.questions == "all":
            return KINDS
        return tuple(kind.strip() for kind in self.questions.split(","))  # type: ignore[misc]

    def build(self, seed: int = 0) -> World:
        """Read the facts and build the world; the seed is used if ``identity`` is a fraction.

        Raises:
            DataError: :attr:`path` is empty, or the source is missing or damaged.
            ConfigError: A setting does not apply to the source, ``identity`` names an
                unknown relation or level, or the seed is not between 0 and 2**63 - 1.
        """
        if not self.path:
            raise DataError("triples: no file is given; set path=facts.csv")
        return self.world(self.read(), seed)

    def read(self) -> Knowledge:
        """Read the facts, without building a world, by calling :func:`read_knowledge`."""
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
        """Build the world of facts that have already been read, or of a part of them.

        Args:
            facts: The facts, as returned by :meth:`read`.
            seed: Root seed; it only affects identities that are given as a fraction.

        Raises:
            ConfigError: ``identity`` names an unknown relation or level, or is a number
                and the seed is not between 0 and 2**63 - 1.
        """
        bridges = bridges_of(facts)
        if isinstance(self.identity, tuple):
            chosen = _named_bridges(facts, self.identity)
        else:
            order = Streams(seed).numpy(WORLD, "triples").permutation(len(bridges))
            count = round(float(self.identity) * len(bridges))
            chosen = bridges[np.sort(order[:count])]
        return world_of(
            facts,
            identity=chosen.tolist(),
            kinds=self.kinds,
            settings=to_plain(self),
            seed=seed,
        )


@lru_cache(maxsize=64)
def _has_sets(facts: Triples, content: str) -> bool:  # noqa: ARG001  # another content, another answer
    """Return whether some query of the facts has several correct answers."""
    try:
        return bool(len(facts.build().queries.further))
    except InweightsError:  # the same error is raised when the world is built
        return False


#: The same class under the name that the guides use.
Facts = Triples


def _named_bridges(facts: Knowledge, names: Sequence[str]) -> Ids:
    """Return the bridges to which the named relations lead, and those at the named levels."""
    _, relation, thing = facts.triples.T
    levels = {} if set(names) <= set(facts.relations) else _levels(facts)
    found = []
    for name in names:
        if name in facts.relations:
            found.append(thing[relation == facts.relations.index(name)])
        elif name in levels:
            found.append(levels[name])
        else:
            raise unknown_name(
                "relation or level in identity", name, (*facts.relations, *levels)
            )
    return np.intersect1d(bridges_of(facts), np.concatenate([thing[:0], *found]))


def _levels(facts: Knowledge) -> dict[str, Ids]:
    """Return the bridges by their smallest distance from an entity that is not an object."""
    subject, _, thing = facts.triples[~identities_of(facts)].T
    left = bridges_of(facts)
    here = np.setdiff1d(subject, thing)
    found = []
    while len(here := np.intersect1d(left, thing[np.isin(subject, here)])):
        left = np.setdiff1d(left, here)
        found.append(here)
    return dict(zip(bridge_levels(len(found)), found, strict=True))


def identities_of(facts: Knowledge) -> Bools:
    """Return whether each of the ``M`` triples states an identity, ``[M]``.

    A triple states an identity if its subject equals its object, and this is also true
    of all other triples with the same relation.
    """
    subject, relation, thing = facts.triples.T
    loops = subject == thing
    found: Bools = loops & ~np.isin(relation, relation[~loops])
    return found


def two_step_questions(facts: Knowledge) -> int:
    """Return the number of distinct prompts that chain two facts, neither of which is an identity.

    Args:
        facts: The facts, as returned by :func:`read_knowledge`.

    Example:
        >>> two_step_questions(read_knowledge("@people"))
        70
    """
    return composed(facts.triples[~identities_of(facts)], 0)[2]


def bridges_of(facts: Knowledge) -> Ids:
    """Return the sorted indices of the entities in the middle of chains of two facts."""
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
    """Build the world of a set of triples.

    Args:
        facts: The triples, which may state identities ``b → b``.
        identity: Indices of entities for which an identity is added.
        kinds: Kinds of questions that become queries, as for :class:`Triples`.
        settings: Settings that the world records; none by default.
        seed: Seed that the world records; this function draws no random numbers.
    """
    vocabulary = Vocabulary(names_of(facts))
    stated = identities_of(facts)
    rows = facts.triples[~stated] + np.array([0, len(facts.entities), 0])
    identities = dict.fromkeys([*facts.triples[stated, 0].tolist(), *identity])
    column = np.array(list(identities), dtype=np.int64)[:, None]
    queries = questions(list(map(tuple, rows.tolist())), kinds)
    return World(
        name="triples",
        vocabulary=vocabulary,
        facts=Statements.build(
            {"triple": (rows[:, :2], rows[:, 2:]), "identity": (column, column)}
        ),
        queries=Statements.build(queries, True),
        settings=settings or {},
        seed=seed,
        why_out_of_distribution="no answer to any of these is trained",
        asks=_asks(kinds),
    )


def _asks(kinds: Sequence[Kind]) -> str:
    """Describe which kinds of questions were generated, and how to get the others."""
    made = ", ".join(kinds)
    others = ", ".join(kind for kind in KINDS if kind not in kinds)
    return f"{made}; questions='all' adds {others}" if others else made
