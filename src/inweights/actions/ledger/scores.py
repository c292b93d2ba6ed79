"""Store the scores of claims: one row per claim, version, case and seed.

:func:`read_scores` reads all scores, :func:`add_scores` adds the scores of a run
(:func:`rows_of`), and :func:`numbers_in` selects the numbers of one claim, which
:mod:`~.board` judges.
"""

import io
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from inweights.actions.ledger.lines import BLOCK, Stated
from inweights.errors import DataError
from inweights.experiments.claims.numbers import Numbers
from inweights.support.limits import check_file
from inweights.support.publish import publish_file

#: Name of the folder of scores within the folder of results.
SCORES = "scores"
#: Columns of the scores. If a run has no number for a claim, ``number`` is null and
#: ``why`` states the reason.
SCHEMA = pl.Schema(
    {
        "claim": pl.String,
        "scale": pl.String,
        "version": pl.Int32,
        "case": pl.String,
        "seed": pl.Int64,
        "number": pl.Float64,
        "why": pl.String,
        "environment": pl.String,
    }
)
_KEY = ["claim", "scale", "version", "case", "seed"]


def read_scores(results: Path) -> pl.DataFrame:
    """Read all scores in a folder of results.

    Args:
        results: Folder of the results; the files are ``scores/<paper>.parquet`` in it.

    Returns:
        One row per ``claim`` (its id), ``scale``, ``version``, ``case`` (the values of
        the columns that distinguish the score's cases, as text) and ``seed``. Further
        columns: ``number`` (the score); ``why`` (the reason if there is no number); and
        ``environment`` (the processor, the version of torch and the commit of the run).
        There are no rows if the folder has no scores.

    Raises:
        DataError: A file is damaged.
    """
    parts = [_read(file) for file in sorted((results / SCORES).glob("*.parquet"))]
    return pl.concat(parts) if parts else pl.DataFrame(schema=SCHEMA)


def _read(file: Path) -> pl.DataFrame:
    """Return the scores of one file."""
    check_file(file)
    try:
        # Without ``glob=False``, brackets in the name of a folder would be a pattern.
        return pl.read_parquet(file, glob=False).select(SCHEMA.names()).cast(SCHEMA)
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        why = str(error).partition("\n")[0]
        raise DataError(f"{file} does not contain scores: {why}; restore it") from None


def with_rows(scores: pl.DataFrame, rows: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    """Return a table of scores with further rows; existing rows are not changed.

    Args:
        scores: A table of scores, as returned by :func:`read_scores`.
        rows: Further rows, as mappings from the names of the same columns to values.
            Missing columns are filled with null.

    Returns:
        The table with the new rows at its end. A row whose claim, scale, version, case
        and seed are already in the table is left out.
    """
    new = pl.DataFrame(list(rows), schema=SCHEMA)
    return pl.concat([scores, new]).unique(_KEY, keep="first", maintain_order=True)


def add_scores(results: Path, rows: Iterable[Mapping[str, Any]]) -> int:
    """Add new scores to the files of a folder of results; existing scores are not changed.

    Args:
        results: Folder of the results.
        rows: Scores, as mappings from the columns of :func:`read_scores` to values.

    Returns:
        Number of new scores.

    Raises:
        DataError: A file is damaged.
        OSError: A file cannot be written.
    """
    new = pl.DataFrame(list(rows), schema=SCHEMA)
    added = 0
    paper_of = pl.col("claim").str.split("/").list.first()
    for (paper,), part in new.group_by(paper_of):
        file = results / SCORES / f"{paper}.parquet"
        known = _read(file) if file.exists() else pl.DataFrame(schema=SCHEMA)
        every = with_rows(known, part.iter_rows(named=True))
        fresh = every.height - known.height
        added += fresh
        if fresh:
            content = io.BytesIO()
            ordered = every.sort(_KEY)
            # Statistics are omitted so that a file has the same bytes on every machine.
            ordered.write_parquet(content, compression="zstd", statistics=False)
            publish_file(file, content.getvalue())
    return added


def rows_of(
    stated: Stated, numbers: Numbers, seeds: Iterable[int], environment: str
) -> list[dict[str, Any]]:
    """Return the rows of a claim: its numbers or, if it has none, a reason for each seed.

    Args:
        stated: The line that states the claim.
        numbers: The claim's numbers in a run.
        seeds: Root seeds of the run.
        environment: Machine and versions of the run, as text.

    Returns:
        One mapping per case and seed. The keys are the columns that :func:`read_scores`
        describes. If there are no numbers, there is one mapping per seed, with an empty
        case.
    """
    about = {
        "claim": stated.claim.id,
        "scale": stated.scale,
        "version": stated.version,
        "environment": environment,
    }
    rows = []
    if numbers.why:
        for seed in seeds:
            row = {
                "case": "",
                "seed": seed,
                "number": None,
                "why": numbers.why,
            }
            rows.append({**about, **row})
        return rows
    for case, of_seeds in numbers.cases.items():
        for seed, number in of_seeds.items():
            row = {"case": case, "seed": seed, "number": number, "why": None}
            rows.append({**about, **row})
    return rows


def numbers_in(scores: pl.DataFrame, stated: Stated) -> Numbers:
    """Return the numbers of the stated version of a claim, for consecutive seeds of its block.

    Seeds after a missing seed are ignored, so that no seed can be left out on purpose.

    Args:
        scores: A table of scores, as returned by :func:`read_scores`.
        stated: The line that states the claim.

    Returns:
        Numbers by case and seed. If a row of this version contains a reason instead of
        a number, there are no numbers and ``why`` is this reason. If there is no row,
        ``why`` is ``no scores yet``. The seeds of an exact score, which does not depend
        on seeds, need not be consecutive.
    """
    rows = scores.filter(
        pl.col("claim") == stated.claim.id,
        pl.col("scale") == stated.scale,
        pl.col("version") == stated.version,
    )
    if reasons := rows["why"].drop_nulls().unique(maintain_order=True).to_list():
        return Numbers(why=reasons[0])
    cases: dict[str, dict[int, float]] = {}
    first = stated.block * BLOCK
    ordered = rows.sort("seed").select("case", "seed", "number")
    for case, seed, number in ordered.iter_rows():
        of_seeds = cases.setdefault(case, {})
        # A score that depends on the seed counts only if the scores of all earlier
        # seeds of the block are stored. The order does not matter for an exact score,
        # which is the same for every seed.
        if stated.claim.score.exact or seed == first + len(of_seeds):
            of_seeds[seed] = number
    cases = {case: of_seeds for case, of_seeds in cases.items() if of_seeds}
    return Numbers(cases) if cases else Numbers(why="no scores yet")
