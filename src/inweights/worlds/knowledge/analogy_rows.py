"""Pairs of similar entities and their categories: the data of Feature Resemblance, §8.2.

:func:`read_analogies` reads them as :class:`AnalogyRow`. A language model wrote the
paper's own set, of which only Table 5 is published. The set in this package has the
same columns and relations and was written by hand: 126 rows, 21 for each relation. No
subject occurs twice, so that the category of a subject can only be inferred from the
other subject of its row.
"""

import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from inweights.errors import ConfigError, DataError
from inweights.seeds import WORLD, Streams
from inweights.support.limits import check_name, read_text
from inweights.worlds.knowledge.words.wording import TABLE_6

COLUMNS = ("subject_1", "subject_2", "aspect", "relation", "category")
_OWN = Path(__file__).parents[1] / "facts" / "analogies.tsv"
_CATEGORY = "{subject} is classified as {object}."


class AnalogyRow(NamedTuple):
    """A row of Feature Resemblance, Table 5: two subjects, an aspect and the category of both.

    The properties of this class are sentences. Each is a pair of a prompt and the
    completion that the model is trained on or evaluated with.

    Attributes:
        subject_1: The subject whose category the model is evaluated on.
        subject_2: The subject whose category the model is trained on.
        aspect: Property that both subjects share.
        relation: Relation of both subjects to the aspect, a key of
            :data:`.wording.TABLE_6` such as ``UsedFor``. It is not checked here.
        category: Category of both subjects.

    Example:
        >>> row = AnalogyRow("Bed", "Sofa", "Resting", "UsedFor", "Furniture")
        >>> row.similarity
        (('Bed is used for', ' Resting.'), ('Sofa is used for', ' Resting.'))
        >>> row.attribution, row.question
        (('Sofa is classified as', ' Furniture.'), ('Bed is classified as', ' Furniture.'))
    """

    subject_1: str
    subject_2: str
    aspect: str
    relation: str
    category: str

    @property
    def similarity(self) -> tuple[tuple[str, str], tuple[str, str]]:
        """Prompt and completion that state the shared aspect, once for each of the two subjects.

        An example of a pair is ``("Bed is used for", " Resting.")``.

        Raises:
            KeyError: :attr:`relation` is not a relation of Feature Resemblance, Table
                6.
        """
        template = TABLE_6[self.relation]
        first = _cut(template, self.subject_1, self.aspect)
        second = _cut(template, self.subject_2, self.aspect)
        return first, second

    @property
    def attribution(self) -> tuple[str, str]:
        """Prompt and completion of the fact that states the second subject's category.

        An example is ``("Sofa is classified as", " Furniture.")``.
        """
        return _cut(_CATEGORY, self.subject_2, self.category)

    @property
    def question(self) -> tuple[str, str]:
        """Prompt and correct completion of the query for the first subject's category.

        An example is ``("Bed is classified as", " Furniture.")``. The model is never
        trained on it.
        """
        return _cut(_CATEGORY, self.subject_1, self.category)


def read_analogies(
    path: str | Path | None = None, *, limit: int = 0
) -> tuple[AnalogyRow, ...]:
    """Read pairs of similar entities from a TSV file.

    Args:
        path: A file with the columns of Table 5, :data:`COLUMNS`; by default the file
            that comes with the package.
        limit: Maximum number of rows to return, distributed evenly over the relations.
            With 0 (the default), all rows are returned.

    Returns:
        The rows, in the order of the file; with ``limit``, a selection in this order.

    Raises:
        ConfigError: The limit is negative.
        DataError: The file is missing, has a different header or no rows, or a line has
            a blank, missing or overlong cell, an unknown relation, or a subject that
            occurs before; the message gives the line number.

    Example:
        >>> rows = read_analogies()
        >>> len(rows), rows[0].category, len({row.relation for row in read_analogies(limit=6)})
        (126, 'Fish', 6)
    """
    if limit < 0:
        raise ConfigError(f"limit must be >= 0 (0 for all rows), got {limit}")
    source = Path(path) if path else _OWN
    text = read_text(source)
    rows: list[AnalogyRow] = []
    seen: dict[str, int] = {}
    for number, cells in _cells_of(text, source):
        here = f"{source}, line {number}"
        if number == 1:
            if tuple(cells) != COLUMNS:
                raise DataError(
                    f"{here}: the header is {cells}; expected {list(COLUMNS)}"
                )
            continue
        if not cells:
            continue
        row = _row_of(cells, here)
        for subject in (row.subject_1, row.subject_2):
            if subject in seen:
                raise DataError(
                    f"{here}: '{subject}' already occurs in line {seen[subject]}"
                )
            seen[subject] = number
        rows.append(row)
    if not rows:
        raise DataError(f"{source} has no rows below its header")
    return _spread(rows, limit) if limit else tuple(rows)


def _cells_of(text: str, source: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of each line, from 1, and its cells."""
    reader = csv.reader(text.split("\n"), delimiter="\t")
    try:
        yield from enumerate(reader, start=1)
    except csv.Error as error:
        raise DataError(f"{source}, line {reader.line_num}: {error}") from None


def _row_of(cells: Sequence[str], here: str) -> AnalogyRow:
    """Return the row in the cells of a line.

    Args:
        cells: Cells of the line.
        here: File and line, used in error messages.

    Raises:
        DataError: A cell is missing or blank, or the relation is unknown.
    """
    if len(cells) != len(COLUMNS) or not all(map(str.strip, cells)):
        raise DataError(
            f"{here}: expected {len(COLUMNS)} cells that are not blank, got {cells}"
        )
    for cell in cells:
        check_name(cell, here)
    row = AnalogyRow(*map(str.strip, cells))
    if row.relation not in TABLE_6:
        raise DataError(
            f"{here}: unknown relation '{row.relation}'; expected one of {list(TABLE_6)}"
        )
    return row


def _spread(rows: Sequence[AnalogyRow], limit: int) -> tuple[AnalogyRow, ...]:
    """Return at most ``limit`` rows, in their order, distributed evenly over the relations."""
    # Takes the first row of every relation, then the second one, and so on.
    count: Counter[str] = Counter()
    ranks = []
    for row in rows:
        ranks.append(count[row.relation])
        count[row.relation] += 1
    order = sorted(range(len(rows)), key=lambda i: (ranks[i], i))[:limit]
    return tuple(rows[i] for i in sorted(order))


def shuffled(rows: Sequence[AnalogyRow], seed: int) -> tuple[AnalogyRow, ...]:
    """Permute the categories of rows, so that real-world knowledge does not help.

    Each row receives the category of another row. The new category of a row always
    differs from its original one.

    Args:
        rows: The rows, at least one.
        seed: Root seed of the permutation.

    Returns:
        The rows in their order, with permuted categories.

    Raises:
        DataError: More than half of the rows have the same category.
        ConfigError: The seed is not between 0 and 2**63 - 1.
    """
    names = [row.category for row in rows]
    if 2 * max(map(names.count, names)) > len(rows):
        raise DataError(
            "more than half of the rows have the same category, so not every row can be given "
            "a different category; use rows with more categories"
        )
    rng = Streams(seed).numpy(WORLD, "categories")
    # The rows are sorted by category, in a random order. A shift by the size of the
    # largest category then gives every row a different category.
    mixed = rng.permutation(len(rows)).tolist()
    ranks = {
        name: k for k, name in enumerate(rng.permutation(sorted(set(names))).tolist())
    }
    order = sorted(mixed, key=lambda i: ranks[names[i]])
    shift = max(map(names.count, names))
    given = {i: names[order[(k + shift) % len(order)]] for k, i in enumerate(order)}
    return tuple(row._replace(category=given[i]) for i, row in enumerate(rows))


def _cut(template: str, subject: str, thing: str) -> tuple[str, str]:
    """Fill in a template, and split it into prompt and completion before its object."""
    before, _, after = template.partition("{object}")
    return before.replace("{subject}", subject).rstrip(), f" {thing}{after}"
