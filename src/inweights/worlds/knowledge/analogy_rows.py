"""Pairs of similar entities and their categories: the data of Feature Resemblance, §8.2.

:func:`read_analogies` reads them as :class:`AnalogyRow`. The paper's own set was
written by a language model, and only Table 5 of it is published. The one here has the
same columns and relations and was written by hand: 126 rows, 21 for each relation, no
subject twice, so that the category of a thing can be known only from its partner.
"""

import csv
from collections import Counter
from collections.abc import Sequence
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
    """A row of Table 5: two things that share an aspect, and the category of both.

    Its properties are sentences, each as a prompt and a completion.

    Attributes:
        subject_1: The thing whose category is queried.
        subject_2: The thing whose category is trained.
        aspect: Property that both share.
        relation: Relation of both to the aspect, one of Table 6.
        category: Category of both.

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
        """Both similarity premises, beginning with that of the first subject."""
        template = TABLE_6[self.relation]
        first = _cut(template, self.subject_1, self.aspect)
        second = _cut(template, self.subject_2, self.aspect)
        return first, second

    @property
    def attribution(self) -> tuple[str, str]:
        """The attribution premise: the category of the second subject."""
        return _cut(_CATEGORY, self.subject_2, self.category)

    @property
    def question(self) -> tuple[str, str]:
        """The query, which is never trained: the category of the first subject."""
        return _cut(_CATEGORY, self.subject_1, self.category)


def read_analogies(
    path: str | Path | None = None, *, limit: int = 0
) -> tuple[AnalogyRow, ...]:
    """Read pairs of similar entities.

    Args:
        path: A TSV file with the columns of Table 5, :data:`COLUMNS`; by default the
            file of the package.
        limit: Largest number of rows, distributed evenly over the relations; 0 for all.

    Raises:
        ConfigError: The limit is negative.
        DataError: The file is missing, or a line is damaged or repeats a subject; the
            message states the line.

    Example:
        >>> rows = read_analogies()
        >>> len(rows), rows[0].category, len({row.relation for row in read_analogies(limit=6)})
        (126, 'Fish', 6)
    """
    if limit < 0:
        raise ConfigError(f"limit must be a number of rows, or 0 for all, got {limit}")
    source = Path(path) if path else _OWN
    text = read_text(source)
    rows: list[AnalogyRow] = []
    seen: dict[str, int] = {}
    for number, cells in enumerate(
        csv.reader(text.split("\n"), delimiter="\t"), start=1
    ):
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


def _row_of(cells: Sequence[str], here: str) -> AnalogyRow:
    """Return the row that the cells of a line are; ``here`` names the line in errors."""
    if len(cells) != len(COLUMNS) or not all(map(str.strip, cells)):
        raise DataError(
            f"{here}: expected {len(COLUMNS)} cells that are not blank, got {cells}"
        )
    for cell in cells:
        check_name(cell, here)
    row = AnalogyRow(*map(str.strip, cells))
    if row.relation not in TABLE_6:
        raise DataError(
            f"{here}: relation '{row.relation}'; expected one of {list(TABLE_6)}"
        )
    return row


def _spread(rows: Sequence[AnalogyRow], limit: int) -> tuple[AnalogyRow, ...]:
    """Return some of the rows, in their order, distributed evenly over the relations."""
    # The first of every relation, then the second of every relation, and so on.
    count: Counter[str] = Counter()
    ranks = []
    for row in rows:
        ranks.append(count[row.relation])
        count[row.relation] += 1
    order = sorted(range(len(rows)), key=lambda i: (ranks[i], i))[:limit]
    return tuple(rows[i] for i in sorted(order))


def shuffled(rows: Sequence[AnalogyRow], seed: int) -> tuple[AnalogyRow, ...]:
    """Return the rows with permuted categories, so that knowledge of the world does not help.

    Every row gets the category of another row, which differs from its own.

    Args:
        rows: The rows.
        seed: Root seed of the permutation.

    Raises:
        DataError: More than half of the rows have one category.
    """
    names = [row.category for row in rows]
    if 2 * max(map(names.count, names)) > len(rows):
        raise DataError(
            "more than half of the rows have the same category; give more categories"
        )
    rng = Streams(seed).numpy(WORLD, "categories")
    # Sorted by category in a drawn order, a shift by the largest group moves each to
    # another.
    mixed = rng.permutation(len(rows)).tolist()
    ranks = {
        name: k for k, name in enumerate(rng.permutation(sorted(set(names))).tolist())
    }
    order = sorted(mixed, key=lambda i: ranks[names[i]])
    shift = max(map(names.count, names))
    given = {i: names[order[(k + shift) % len(order)]] for k, i in enumerate(order)}
    return tuple(row._replace(category=given[i]) for i, row in enumerate(rows))


def _cut(template: str, subject: str, thing: str) -> tuple[str, str]:
    """Return prompt and completion of a template, cut before its object."""
    before, _, after = template.partition("{object}")
    return before.replace("{subject}", subject).rstrip(), f" {thing}{after}"
