"""Export a run for a paper: figures as PDF, claims as a LaTeX table or CSV, tables as CSV.

``inweights export`` calls :func:`write_export`.
"""

import io
import unicodedata
from collections.abc import Sequence
from operator import attrgetter
from pathlib import Path

import polars as pl

from inweights.config import load_toml
from inweights.errors import ConfigError, WriteError
from inweights.experiments.claims.claim_result import ClaimResult
from inweights.experiments.engine.outcome import Outcome
from inweights.report.base import style
from inweights.report.base.frames import csv_text
from inweights.report.figures.draw import draw
from inweights.support.progress import plural
from inweights.support.publish import publish_file

#: Replacements of characters that are special in LaTeX or that it lacks.
_SPECIAL: dict[str, str] = load_toml(Path(__file__).with_name("latex.toml"))
#: Columns of ``claims.csv``.
_CSV = (
    "id claim place source published least most verdict measured low high level seeds "
    "condition case"
)
#: Greek letters, and the names of those that LaTeX and Unicode call differently.
_GREEK = "αβγδεηθκλμνρστφωΔΣΩΘ"
_OTHERWISE = {"ε": "varepsilon", "λ": "lambda", "φ": "varphi"}


def write_export(
    outcome: Outcome,
    folder: Path,
    *,
    pdf: bool = False,
    latex: bool = False,
    csv: bool = False,
    raw: bool = False,
) -> list[Path]:
    """Write the results of a finished run to files for use in a paper.

    Args:
        outcome: The run.
        folder: Folder of the files, which is created if necessary. Existing files with
            the same names are replaced.
        pdf: Whether to write ``<figure>.pdf`` for each figure; False by default.
        latex: Whether to write ``claims.tex``, if the run has claims; False by default.
        csv: Whether to write ``claims.csv`` and, for each table, ``<table>.csv``; False
            by default. Columns of lists, arrays, structs and objects are left out.
        raw: Whether text in CSV is written unchanged, even if a spreadsheet would run
            it as a formula. By default a ``'`` is added before such text.

    Returns:
        Paths of the written files: the figures, ``claims.tex``, ``claims.csv`` and the
        tables, in this order. The list is empty if nothing was requested.

    Raises:
        ConfigError: Only ``latex`` is set, and the run has no claims; only ``pdf`` is
            set, and the run has no figures; or a figure names an unknown drawing
            function or option, or the wrong number of tables.
        WriteError: A file cannot be written.
        DataError: A figure names a missing table or column, or a table without rows.
    """
    if latex and not outcome.claims and not (pdf or csv):
        raise ConfigError(f"{outcome.recipe.name} has no claims for --latex")
    if pdf and not outcome.recipe.figures and not (latex or csv):
        raise ConfigError(f"{outcome.recipe.name} has no figures for --pdf")
    files: dict[str, bytes] = {}
    if pdf:
        for figure in outcome.recipe.figures:
            picture = draw(figure, outcome.tables)
            stream = io.BytesIO()
            with style.context():  # the same figure always has the same bytes
                about = {"CreationDate": None, "Producer": None}
                picture.savefig(stream, format="pdf", metadata=about)
            files[f"{figure.id}.pdf"] = stream.getvalue()
    if latex and outcome.claims:
        files["claims.tex"] = claims_latex(outcome).encode()
    if csv:
        files["claims.csv"] = claims_csv(outcome.claims, raw=raw).encode()
        for name, rows in outcome.tables.items():
            plain = rows.select(pl.exclude(pl.List, pl.Array, pl.Struct, pl.Object))
            files[f"{name}.csv"] = csv_text(plain, raw=raw).encode()
    try:
        for name, content in files.items():
            publish_file(folder / name, content)
    except OSError as error:
        raise WriteError(f"cannot write {folder}: {error.strerror}") from error
    return [folder / name for name in files]


def claims_latex(outcome: Outcome) -> str:
    r"""Return the claims of a run as a LaTeX table, for the package ``booktabs``.

    Args:
        outcome: The run.

    Returns:
        The text of the table, with one row per claim. The columns are the claim's
        sentence, the target, the measured value, its interval, the number of seeds and
        the verdict.
    """
    rows = []
    for claim in outcome.claims:
        cells = (claim.text, claim.target.text, *_numbers(claim), claim.verdict)
        # Names from data must be text and not commands.
        rows.append(
            " & ".join("".join(map(_in_latex, cell)) for cell in cells) + r" \\"
        )
    head = "claim & target & measured & 95\\% interval & seeds & verdict"
    about = f"{outcome.recipe.name}, {outcome.scale} scale, {plural(len(outcome.seeds), 'seed')}"
    return "\n".join(
        [
            f"% {about}; written by inweights; needs the package booktabs",
            r"\begin{tabular}{p{0.45\linewidth}lrlrl}",
            r"\toprule",
            rf"{head} \\",
            r"\midrule",
            *rows,
            r"\bottomrule",
            r"\end{tabular}",
            "",
        ]
    )


def claims_csv(claims: Sequence[ClaimResult], *, raw: bool = False) -> str:
    """Return claims as CSV, with one row per claim.

    Args:
        claims: The judged claims.
        raw: Whether text is written unchanged, even if a spreadsheet would run it as a
            formula. By default a ``'`` is added before such text.

    Returns:
        The CSV text. Its columns are ``id``; ``claim``, the sentence; ``place`` in the
        paper; ``source``, the short name of the paper or ``ours``; ``published``, the
        printed number as text; ``least`` and ``most``, the ends of the target range;
        ``verdict``; ``measured`` with its interval from ``low`` to ``high`` at the
        confidence level ``level``; ``seeds``, the number of seeds; ``condition``; and
        ``case``, the name of the case that is farthest from being reproduced, if the
        claim has several cases. Missing values are empty.
    """
    named = {
        "claim": "text",
        "seeds": "replicates",
        "least": "target.least",
        "most": "target.most",
    }
    attributes = [named.get(name, name) for name in _CSV.split()]
    read = attrgetter(*attributes)
    rows = [dict(zip(_CSV.split(), read(claim), strict=True)) for claim in claims]
    numbers = ("least", "most", "measured", "low", "high")
    types = dict.fromkeys(numbers, pl.Float64) | {"published": pl.String}
    return csv_text(pl.DataFrame(rows, schema_overrides=types), raw=raw)


def _numbers(claim: ClaimResult) -> tuple[str, str, str]:
    if claim.measured is None:
        return "", "", ""
    between = "" if claim.low is None else f"{claim.low:.3g} to {claim.high:.3g}"
    return f"{claim.measured:.3g}", between or "computed", str(claim.replicates)


def _in_latex(letter: str) -> str:
    if letter not in _GREEK:
        return _SPECIAL.get(letter, letter)
    name = unicodedata.name(letter).rpartition(" ")[2]
    return rf"$\{_OTHERWISE.get(letter, name.lower() if letter.islower() else name.title())}$"
