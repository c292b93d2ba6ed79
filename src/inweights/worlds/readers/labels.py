"""Read labels of ids from a second file, such as the names of ``Q142`` and ``P27``.

:func:`read_labels` returns a dictionary that maps ids to labels; :class:`Labels`
replaces the ids in triples by their labels, for ``knowledge/knowledge``.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from inweights.errors import DataError
from inweights.support.limits import read_text
from inweights.worlds.readers.graphs.graph_files import read_json
from inweights.worlds.readers.neo4j import distinct_names, node_name
from inweights.worlds.readers.remark import Remark
from inweights.worlds.readers.tables.table import read_cells

_IDS = (
    "id",
    "qid",
    "uri",
    "iri",
    "entity",
    "key",
    "code",
    "node",
    "item",
    "identifier",
    "mid",
)


def read_labels(path: str | Path) -> dict[str, str]:
    r"""Read a file of ids and labels: a table, or JSON with ids as keys.

    A first row that contains a word for ids (``id``, ``qid``, ``uri``, …) is a header;
    labels are then in the column ``label``, ``name`` or ``title``, or else in another
    column whose name ends in ``label`` or ``name``. Otherwise the first column contains
    ids and the second one labels.

    Args:
        path: The file: delimited text; or ``.json`` with an object that maps ids to
            labels, or with a list of objects, each with an id and a label.

    Returns:
        A dictionary that maps ids to labels. If two ids have the same label, the id is
        appended to the second label.

    Raises:
        DataError: The file is missing, damaged or has no labels, or a row has too few
            cells for an id and a label.

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp()) / "labels.tsv"
        >>> _ = file.write_text("Q142\tFrance\nP27\tcitizen of\n")
        >>> read_labels(file)
        {'Q142': 'France', 'P27': 'citizen of'}
    """
    file = Path(path)
    found = _from_json(file) if file.suffix.lower() == ".json" else _from_text(file)
    if not found:
        raise DataError(
            f"{file} contains no labels; expected lines of the form 'id,label'"
        )
    return distinct_names(found)


class Labels:
    """Labels that replace ids in triples, with a record of the ids that occurred.

    Args:
        file: File of ids and labels, which :func:`read_labels` reads.

    Raises:
        DataError: The file is missing or damaged, or contains no labels.
    """

    def __init__(self, file: str | Path) -> None:
        """Read the labels that replace ids.

        Args:
            file: File of ids and labels, which :func:`read_labels` reads.

        Raises:
            DataError: The file is missing or damaged, or contains no labels.
        """
        self._file = file
        self._labels = read_labels(file)
        self._met: set[str] = set()
        self._lacking: dict[str, None] = {}

    def replaced(self, triple: tuple[str, str, str]) -> tuple[str, str, str]:
        """Return a triple with its ids replaced by labels; names without a label are unchanged.

        An address, such as ``http://www.wikidata.org/entity/Q142``, is treated like the
        id at its end.

        Args:
            triple: Subject, relation and object.
        """
        s, r, o = map(self._label, triple)
        return s, r, o

    def _label(self, name: str) -> str:
        """Return the label of an id; a name without a label is returned unchanged."""
        for key in (name, name.rstrip(">/").rsplit("/", 1)[-1]):
            if key in self._labels:
                self._met.add(key)
                return self._labels[key]
        self._lacking[name] = None
        return name

    def remark(self, path: str | Path) -> Remark:
        """Return a remark that states how many ids have been replaced so far.

        Args:
            path: Source of the triples, used in the message.

        Returns:
            The remark. Its attribute ``sure`` is False if some names have no label.

        Raises:
            DataError: No id was replaced.
        """
        if not self._met:
            some = ", ".join(list(self._lacking)[:3])
            raise DataError(f"no name in {path} ({some}, …) is an id in {self._file}")
        text = f"{len(self._met)} ids are replaced by their labels in {self._file}"
        if self._lacking:
            some = ", ".join(list(self._lacking)[:3])
            text += f"; names without a label: {len(self._lacking)}, such as {some}"
        return Remark("labels", (), text, sure=not self._lacking)


def _from_text(file: Path) -> dict[str, str]:
    """Read a table of ids and labels."""
    rows = read_cells(file, read_text(file), least=2).rows
    if not rows:
        return {}
    header = [cell.strip().lower().lstrip(":?#").split(":")[0] for cell in rows[0][1]]
    headed = any(name in _IDS for name in header)
    place = next((k for k, name in enumerate(header) if name in _IDS), 0)
    names = [k for k, name in enumerate(header) if name in ("label", "name", "title")]
    # Exact names first, then names such as `propLabel`.
    ends = [k for k, name in enumerate(header) if name.endswith(("label", "name"))]
    names += [k for k in ends if k != place]
    other = names[0] if headed and names else 1 - min(place, 1)
    found: dict[str, str] = {}
    for number, cells in rows[headed:]:
        if len(cells) <= max(place, other):
            raise DataError(
                f"{file}, line {number}: expected an id and a label, got {cells}"
            )
        key = cells[place].strip()
        label = " ".join(cells[other].split())
        if key and label:
            found.setdefault(key, label)
    return found


def _from_json(file: Path) -> dict[str, str]:
    """Read JSON: an object with ids as keys, or a list of objects, each with an id."""
    found = read_json(file)
    if isinstance(found, list) and all(isinstance(one, Mapping) for one in found):
        found = [("", one) for one in found]
    elif isinstance(found, Mapping):
        found = list(found.items())
    else:
        raise DataError(
            f"{file}: expected an object with ids as keys, or a list of objects that each have "
            "an id"
        )
    labels: dict[str, str] = {}
    for key, value in found:
        name, label = _labelled(key, value)
        if name and label:
            labels.setdefault(name, label)
    return labels


def _labelled(key: str, value: Any) -> tuple[str, str]:
    """Return the id and the label of an entry; an empty label if there is none."""
    if isinstance(value, Mapping):
        lower = {str(k).lower(): v for k, v in value.items()}
        own = next((str(lower[name]) for name in _IDS if name in lower), key)
        named = {k: v for k, v in lower.items() if k not in _IDS}
        return own, node_name(named, "")
    return key, " ".join(str(value).split()) if isinstance(
        value, str | int | float
    ) else ""
