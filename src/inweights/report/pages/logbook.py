"""Write a finished run as a page of a public logbook, in the format of trackio.

``inweights export --logbook`` calls :func:`write_logbook`. A logbook is a folder of
Markdown files with a marker before each cell. Trackio reads, serves and publishes these
files, but is not needed for writing them.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from inweights.errors import ConfigError, WriteError
from inweights.experiments.claims.claim_result import ClaimResult
from inweights.experiments.engine.outcome import Outcome
from inweights.report.base.html import data_uri, escape, in_order, tag
from inweights.report.base.save import Still
from inweights.report.figures.draw import draw
from inweights.report.pages.beside_paper import in_numbers
from inweights.report.pages.claims import headline
from inweights.report.pages.sections import command_of
from inweights.support.progress import plural
from inweights.support.publish import publish_file

#: Path of the pages of a logbook for trackio, relative to the folder of the logbook.
PAGES = Path(".trackio", "logbook", "pages")
#: Line that precedes a cell in a page.
_MARKER = "<!-- trackio-cell"
#: Attribute of all cells that are written here, which distinguishes them from other
#: cells.
_OWN = '"written_by": "inweights"'
_HEADING = "## Pages"


def write_logbook(
    outcome: Outcome, folder: Path, *, ledger: Path | None = None
) -> list[Path]:
    """Write a run as a page of a logbook, and update the logbook's index.

    If the folder has no logbook, a logbook is created. Otherwise the page is added to
    the logbook, or replaces an earlier page of the same run. Pages of the same run are
    identical, byte for byte.

    Args:
        outcome: The run.
        folder: Folder of the logbook, whose files are in its subfolder ``.trackio``. It
            is created if necessary.
        ledger: Path of the ledger, the file of claims that were recorded before their
            runs. Its hash is recorded if the file exists. ``None`` for no ledger.

    Returns:
        Paths of the two files: the page and the index, below
        ``.trackio/logbook/pages``.

    Raises:
        ConfigError: The existing page has cells that were not written by this function;
            a figure names an unknown drawing function or option, or the wrong number of
            tables; or the settings of the run do not match its recipe.
        WriteError: A file cannot be written, or an existing page cannot be read.
        DataError: A figure names a missing table or column, or a table without rows.
        OSError: The ledger, or the folder of the run, cannot be read.
    """
    run = outcome.folder.path.name
    title = f"{outcome.recipe.name}, {outcome.scale}, {run}"
    slug = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
    index = folder / PAGES / "index.md"
    page = folder / PAGES / slug / "page.md"
    cells = "".join(_cells(outcome, ledger))
    try:
        if page.exists() and _has_others(page.read_text(encoding="utf-8")):
            raise ConfigError(
                f"{page} contains cells that inweights did not write, and would overwrite; "
                "move them to another page, or choose another folder"
            )
        before = index.read_text(encoding="utf-8") if index.exists() else ""
        listed = _with_page(before or _index(outcome), title, slug)
        publish_file(page, f"# {_plain(title)}\n{cells}".encode())
        publish_file(index, listed.encode())
    except OSError as error:
        raise WriteError(f"cannot write {folder}: {error.strerror}") from error
    return [page, index]


def _has_others(text: str) -> bool:
    """Return whether a page has cells that were not written by this module."""
    return text.count(_MARKER) != text.count(_OWN)


def _index(outcome: Outcome) -> str:
    """Return the first page of a new logbook, which explains its pages and may be edited."""
    return (
        f"# {_plain(outcome.recipe.paper)}: runs of inweights\n\n"
        "Each page is one finished run: what was asked, the command that repeats it, "
        "its claims with verdicts, its figures, and the environment. A claim is judged "
        "by an interval over seeds.\n\n"
        f"{_HEADING}\n\n| Page |\n| --- |\n"
    )


def _with_page(index: str, title: str, slug: str) -> str:
    """Return the index with a link to a page after the existing links."""
    if f"(#/{slug})" in index:
        return index
    # An empty logbook of trackio has a row that explains how to add a page.
    lines = [line for line in index.split("\n") if "`trackio logbook page" not in line]
    row = f"| [{_cell_text(title)}](#/{slug}) |"
    if _HEADING not in lines:
        begun = "\n".join(lines).rstrip()
        return f"{begun}\n\n{_HEADING}\n\n| Page |\n| --- |\n{row}\n"
    at = lines.index(_HEADING) + 1
    while at < len(lines) and not lines[at].startswith("|"):
        at += 1
    while at < len(lines) and lines[at].startswith("|"):
        at += 1
    lines.insert(at, row)
    return "\n".join(lines)


def _cells(outcome: Outcome, ledger: Path | None) -> list[str]:
    """Return all cells of a run's page, in order."""
    cells = [
        _cell(outcome, "markdown", "What was asked", _asked(outcome)),
        _cell(outcome, "code", "Run it again", _fence("bash", command_of(outcome))),
    ]
    if outcome.results:
        found = "\n".join(f"- {_plain(text)}" for text in outcome.results)
        cells.append(_cell(outcome, "markdown", "What came out", found))
    if outcome.claims:
        body = _claims(outcome)
        cells.append(_cell(outcome, "markdown", headline(outcome.claims), body))
    for figure in outcome.figures:
        still = Still(draw(figure, outcome.tables), figure.id)
        picture = tag(
            "img",
            src=data_uri(still.png, "image/png"),
            alt=figure.title,
            style="max-width:100%;height:auto;",
        )
        caption = tag("figcaption", escape(figure.caption))
        body = _fence("html", tag("figure", picture, caption))
        cells.append(_cell(outcome, "figure", figure.title, body))
    if outcome.cautions:
        said = "\n".join(f"- {_plain(text)}" for text in outcome.cautions)
        cells.append(_cell(outcome, "markdown", "Before you conclude", said))
    settings = _fence("json", _json(outcome.settings))
    environment = _fence("json", _json(outcome.environment))
    cells += [
        _cell(outcome, "code", "All settings", settings),
        _cell(outcome, "code", "Environment", environment),
        _cell(outcome, "markdown", "Where it is from", _origin(outcome, ledger)),
    ]
    return cells


def _asked(outcome: Outcome) -> str:
    recipe = outcome.recipe
    where = ", ".join(part for part in (recipe.paper, recipe.place) if part)
    about = (
        f"Recipe `{recipe.name}` at scale `{outcome.scale}`, "
        f"{plural(len(outcome.seeds), 'seed')}."
    )
    parts = [f"**{_plain(outcome.heading)}**", _plain(where), _plain(recipe.summary)]
    if rows := outcome.differences:
        about += f" Beside the paper, {in_numbers(rows)}."
    return "\n\n".join(part for part in (*parts, about) if part)


def _claims(outcome: Outcome) -> str:
    """Return the table of claims; it has only four columns, since pages of a logbook are narrow."""
    rows = ["| verdict | claim | target | measured |\n|---|---|---|---|"]
    for claim in outcome.claims:
        name = claim.id.rpartition("/")[2]
        about = f"`{name}` {claim.text} ({claim.place})"
        target = f"{claim.target.text}; published: {claim.published or 'nothing'}"
        texts = (claim.shown, about, target, _measured(claim))
        rows.append(f"| {' | '.join(map(_cell_text, texts))} |")
    whys = dict.fromkeys(claim.why for claim in outcome.claims if claim.why)
    if whys:
        rows += ["", *(f"- Not judged: {_plain(why)}" for why in whys)]
    return "\n".join(rows)


def _measured(claim: ClaimResult) -> str:
    """Return the measured number, its interval, and the number of seeds that meet the target."""
    if claim.measured is None:
        return ""
    if claim.low is not None and claim.high is not None:
        between = f"{claim.level:.0%} interval {claim.low:.3g} to {claim.high:.3g}"
    elif claim.hits is None:
        between = "computed"
    else:
        between = "too few seeds for an interval"
    seeds = claim.met or (plural(claim.replicates, "seed") if claim.replicates else "")
    said = [f"{claim.measured:.3g}", between, seeds]
    return "; ".join(part for part in said if part)


def _origin(outcome: Outcome, ledger: Path | None) -> str:
    said = [
        f"- Run `{outcome.folder.path.name}`: the hash of recipe, settings and seeds.",
        f"- Seeds: {', '.join(map(str, outcome.seeds))}.",
    ]
    if outcome.claims and ledger and ledger.exists():
        content = ledger.read_bytes()
        said.append(
            f"- Ledger of claims when this was written: SHA-256 "
            f"`{hashlib.sha256(content).hexdigest()}`, {len(content.splitlines())} lines."
        )
    return "\n".join(said)


def _cell(outcome: Outcome, kind: str, title: str, body: str) -> str:
    """Return one cell as text: its marker, followed by its content.

    Args:
        outcome: The run, from which the cell's id and time are derived.
        kind: ``markdown``, ``code`` or ``figure``.
        title: Title of the cell.
        body: Content of the cell, as Markdown.
    """
    named = f"{outcome.folder.path.name} {kind} {title}"
    about = {
        "type": kind,
        "id": f"cell_{hashlib.sha256(named.encode()).hexdigest()[:12]}",
        "created_at": _made(outcome.folder.path),
        "title": in_order(title),
        "written_by": "inweights",
    }
    # The marker is a comment, which the characters "-->" would end.
    marker = json.dumps(about, ensure_ascii=False).replace(">", "\\u003e")
    return f"\n\n---\n{_MARKER}\n{marker}\n-->\n{body}\n"


def _made(folder: Path) -> str:
    """Return the time at which the run was written, in UTC, to the second."""
    changed = (folder / "config.json").stat().st_mtime
    return datetime.fromtimestamp(int(changed), UTC).isoformat()


def _fence(language: str, text: str) -> str:
    """Return a text as a fenced block, in which fences and markers are replaced."""
    inner = (
        in_order(text).replace("````", "` ` ` `").replace(_MARKER, "<! -- trackio-cell")
    )
    return f"````{language}\n{inner}\n````"


def _json(values: Mapping[str, Any] | Sequence[Any]) -> str:
    return json.dumps(values, indent=2, ensure_ascii=False, default=str)


def _plain(text: str) -> str:
    """Return a sentence as one line of Markdown that contains no HTML."""
    return re.sub(r"<(?=[A-Za-z/!?])", "&lt;", in_order(" ".join(text.split())))


def _cell_text(text: str) -> str:
    """Return a sentence as a cell of a Markdown table."""
    return _plain(text).replace("|", "\\|")
