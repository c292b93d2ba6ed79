"""A user's own facts: ``subject, relation, object`` from a CSV, TSV or JSONL file.

Every triple is a fact ``(subject, relation) → object``. Every chain of two triples that meet in
one entity is a query ``(subject, r1, r2) → object``.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np

from inweights.config import Config, to_dict
from inweights.errors import ConfigError, DataError, unknown_name
from inweights.seeds import WORLD, Streams
from inweights.worlds.world import Statements, Vocabulary, World

__all__ = ["Triples"]

_OWN = Path(__file__).with_name("facts")
_COLUMNS = (
    ("subject", "head", "source", "s", "h"),
    ("relation", "predicate", "property", "r", "p"),
    ("object", "tail", "target", "o", "t"),
)


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
        triples = list(dict.fromkeys(_read(_find(self.path))))
        if not triples:
            raise DataError(f"{self.path} holds no facts; a line is 'subject,relation,object'")
        entities = list(dict.fromkeys(x for s, _, o in triples for x in (s, o)))
        relations = list(dict.fromkeys(r for _, r, _ in triples))
        both = set(entities) & set(relations)
        if both:
            raise DataError(
                f"{self.path}: '{min(both)}' is an entity and a relation; rename one of the two"
            )
        vocabulary = Vocabulary({"entity": entities, "relation": relations})
        number = vocabulary.id
        rows = np.array([[number(x) for x in triple] for triple in triples], dtype=np.int64)
        after: dict[int, list[tuple[int, int]]] = {}
        for subject, relation, thing in rows.tolist():
            after.setdefault(subject, []).append((relation, thing))
        chains = dict.fromkeys(
            ((s, r1, r2), end) for s, r1, b in rows.tolist() for r2, end in after.get(b, ())
        )
        bridges = np.array([t for t in np.unique(rows[:, 2]) if int(t) in after], dtype=np.int64)
        chosen = Streams(seed).numpy(WORLD, "triples").permutation(len(bridges))
        kept = bridges[np.sort(chosen[: round(float(self.identity) * len(bridges))])][:, None]
        prompts = np.array([p for p, _ in chains], dtype=np.int64).reshape(-1, 3)
        ends = np.array([e for _, e in chains], dtype=np.int64).reshape(-1, 1)
        return World(
            name="triples",
            vocabulary=vocabulary,
            facts=Statements.build(
                {"triple": (rows[:, :2], rows[:, 2:]), "identity": (kept, kept)}
            ),
            queries=Statements.build(
                {"composition": (prompts, ends)}, np.ones(len(prompts), dtype=bool)
            ),
            settings=to_dict(self),
            seed=seed,
            why_out_of_distribution="no chain of two facts is trained",
        )


def _find(name: str) -> Path:
    """The file itself, or the package's own set of facts."""
    if not name.startswith("@"):
        return Path(name)
    own = {f"@{path.stem}": path for path in sorted(_OWN.glob("*.csv"))}
    if name not in own:
        raise unknown_name("set of facts", name, own, error=DataError)
    return own[name]


def _read(path: Path) -> Iterator[tuple[str, str, str]]:
    if not path.is_file():
        raise DataError(f"there is no file {path}; facts come from a CSV, TSV or JSONL file")
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 text ({error.reason}); save it as UTF-8") from None
    objects = path.suffix.lower() in (".jsonl", ".ndjson")
    for number, fields in _objects(path, lines) if objects else _cells(lines):
        if len(fields) != 3 or not all(field.strip() for field in fields):
            raise DataError(
                f"{path}, line {number}: {len(fields)} field(s) {fields}; expected three that are "
                "not blank: subject, relation, object"
            )
        subject, relation, thing = (field.strip() for field in fields)
        yield subject, relation, thing


def _cells(lines: list[str]) -> Iterator[tuple[int, list[str]]]:
    """Cells of every line, with its number; a header and empty lines are left out."""
    first = next((line for line in lines if line.strip()), "")
    delimiter = max("\t;,", key=first.count)
    head = True
    for number, cells in enumerate(csv.reader(lines, delimiter=delimiter), start=1):
        if not any(cell.strip() for cell in cells):
            continue
        names = [cell.strip().lower() for cell in cells]
        if head and all(n in known for n, known in zip(names, _COLUMNS, strict=False)):
            head = False
            continue
        head = False
        yield number, cells


def _objects(path: Path, lines: list[str]) -> Iterator[tuple[int, list[str]]]:
    """The three fields of every object, with its line."""
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            record = msgspec.json.decode(line, type=dict[str, str | int | float | None])
        except msgspec.DecodeError as error:
            raise DataError(f"{path}, line {number}: not a JSON object ({error})") from None
        lower = {key.lower(): value for key, value in record.items()}
        fields = [next((lower[n] for n in names if n in lower), None) for names in _COLUMNS]
        yield number, ["" if field is None else str(field) for field in fields]
