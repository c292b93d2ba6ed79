"""What all printing shares: the two streams, tables, JSON and progress.

:data:`out` and :data:`err` are the streams, :func:`table` and :func:`listing` make tables,
:func:`progress` shows how far work is. Names come from files, folders and plugins of others,
and are text: nothing that is printed is read as markup, and control characters are shown, not
sent to the terminal. Styled text is a pair of text and style in :func:`line`.
"""

from __future__ import annotations

import math
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from string import Formatter
from typing import TYPE_CHECKING, Any

import msgspec
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from inweights.cli.console.steady import steady_log
from inweights.support.limits import usable_cores
from inweights.support.progress import duration

if TYPE_CHECKING:
    import polars as pl

    from inweights.support.progress import Progress as Report
    from inweights.support.progress import SolverProgress
    from inweights.worlds.readers.remark import Remark

#: Columns that everything fits in.
WIDTH = 80
#: Seconds between two lines of a log, where there is no terminal, and the share of the work.
_LINE, _TENTH = 10.0, 0.1

#: All that a terminal may act on, but the end of a line.
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


class _Plain(Console):
    """A console that reads no markup, and shows control characters."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(highlight=False, markup=False, emoji=False, stderr=stderr)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            if segment.control or not _CONTROL.search(segment.text):
                yield segment
            else:
                text = _CONTROL.sub(lambda found: ascii(found[0])[1:-1], segment.text)
                yield Segment(text, segment.style)


out = _Plain()
err = _Plain(stderr=True)


def line(*parts: str | tuple[str, str]) -> Text:
    """Return styled text for :data:`out`.

    Args:
        *parts: Texts, and pairs of text and style such as ``("certified", "green")``.
    """
    return Text.assemble(*parts)


def say(*parts: str | tuple[str, str], soft_wrap: bool = False) -> None:
    """Print a line on the output stream.

    Args:
        *parts: Texts, and pairs of text and style.
        soft_wrap: Whether the terminal breaks long lines, instead of this program.
    """
    out.print(line(*parts), soft_wrap=soft_wrap)


def assumed(remarks: Iterable[Remark]) -> None:
    """Report on the error stream what a reader assumed about a file."""
    for remark in remarks:
        if not remark.sure:
            err.print(f"inweights: assumed: {remark.text}", soft_wrap=True)


def ask(question: str) -> bool | None:
    """Ask a yes-or-no question on the terminal.

    Args:
        question: The question.

    Returns:
        The answer; ``None`` if there is no terminal, or no answer.
    """
    if not (err.is_terminal and sys.stdin.isatty()):
        return None
    while True:
        err.print(f"{question} [y/n] ", end="", soft_wrap=True)
        answer = sys.stdin.readline()
        if not answer:
            return None
        if answer.strip().lower() in ("y", "yes", "n", "no"):
            return answer.strip().lower().startswith("y")


@contextmanager
def progress(*, quiet: bool = False, about: str = "") -> Iterator[Report]:
    """Show on the error stream how far a block is: a bar on a terminal, lines in a log.

    Args:
        quiet: Whether nothing is shown.
        about: What the block does, printed at once; then the bar is there from the start, or a
            log has a line every ten seconds. Empty: nothing is shown until the block reports.

    Yields:
        A function to call with what is done, all there is, and what is being done.
    """
    if about:
        err.print(about)
    if about and not err.is_terminal:
        with steady_log(partial(err.print, soft_wrap=True), _LINE) as steady:
            yield steady
        return
    if quiet or not err.is_terminal:
        yield (lambda *_: None) if quiet else _log()
        return
    from rich import progress as rich

    columns = (
        rich.TextColumn("{task.description}", markup=False),
        rich.BarColumn(bar_width=None),
        rich.TextColumn("{task.percentage:>3.0f}%"),
        rich.TimeElapsedColumn(),
        rich.TextColumn("left"),
        rich.TimeRemainingColumn(),
    )
    bars = rich.Progress(*columns, console=_Plain(stderr=True), transient=True)
    task, all_of_it = bars.add_task("starting", total=None), 0

    def report(done: int, total: int, what: str) -> None:
        nonlocal all_of_it
        bars.start()  # nothing is drawn for what fails before it begins
        if total != all_of_it:  # the time left is that of this work alone
            bars.reset(task)
            all_of_it = total
        bars.update(task, completed=done, total=total, description=what)

    if about:
        bars.start()
    try:
        yield report
    finally:
        if bars.live.is_started:
            bars.stop()


def _log(clock: Callable[[], float] = time.monotonic) -> Report:
    """Report in lines: one after ten seconds or a tenth of the work, whichever comes later.

    What is over within ten seconds says nothing.
    """
    began = last = start = clock()
    share: float | None = None
    first, all_of_it = 0.0, 0

    def report(done: int, total: int, what: str) -> None:
        nonlocal last, share, first, start, all_of_it
        now, part = clock(), done / max(1, total)
        if share is None or total != all_of_it:  # what was there already, or other work before
            share = first = part
            start, all_of_it = now, total
        if now - last < _LINE or (part - share < _TENTH - 1e-9 and now - last < 6 * _LINE):
            return
        last, share = now, part
        text = f"{100 * part:3.0f}%  {what}, {duration(now - began)}"
        if part > first:
            text += f", about {duration((now - start) * (1 - part) / (part - first))} left"
        err.print(text, soft_wrap=True)

    return report


@contextmanager
def solving(gap: float) -> Iterator[SolverProgress]:
    """Show how far a solver's certified gap has come down to a target.

    Args:
        gap: The target.

    Yields:
        A function for the solver to call with name, iterations and gap.
    """
    with progress() as report:
        yield by_gap(report, gap)


def by_gap(report: Report, gap: float) -> SolverProgress:
    """Return a solver's progress callback that reports the certified gap on a logarithmic scale.

    Args:
        report: Called with parts done, all parts (1,000), and a text.
        gap: Gap at which the solver is done.
    """
    first = 1.0

    def tell(what: str, _step: int, now: float) -> None:
        nonlocal first
        if not math.isfinite(now):
            report(0, 1000, f"{what}: searching for a feasible point")
            return
        first = max(first, now)
        share = math.log(max(now, gap) / first) / math.log(gap / first)
        report(round(1000 * share), 1000, f"{what}: gap {now:.1e}")

    return tell


def cores(device: str, scale: str) -> int:
    """Return how many processes to train in.

    Args:
        device: Device of the training; all but ``cpu`` take one process.
        scale: Scale of the recipe; ``smoke`` takes one process.

    Returns:
        The number of cores that this process may use, or 1.
    """
    return 1 if device != "cpu" or scale == "smoke" else usable_cores()


def flat(values: Mapping[str, Any], prefix: str = "") -> list[str]:
    """Return nested settings as overrides ``key.path=value``, with values written as TOML.

    Args:
        values: The settings.
        prefix: Path of ``values`` itself, ending in a dot; empty at the top.

    Example:
        >>> flat({"n": 10, "gpt": {"decay": 3.0}})
        ['n=10', 'gpt.decay=3.0']
    """
    changes = []
    for key, value in values.items():
        if isinstance(value, Mapping):
            changes += flat(value, f"{prefix}{key}.")
        else:
            changes.append(f"{prefix}{key}={msgspec.json.encode(value).decode()}")
    return changes


def cut(text: str, width: int) -> str:
    """Return a text on one line of limited length, with ``…`` where it was cut.

    Args:
        text: The text.
        width: Largest number of characters.
    """
    text = " ".join(text.split()) if "\n" in text else text
    return text if len(text) <= width else f"{text[: width - 1].rstrip()}…"


def table(*columns: str) -> Table:
    """Return an empty table in the style of all tables.

    Args:
        *columns: Headings.
    """
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for column in columns:
        made.add_column(
            column, no_wrap=column in ("verdict", "hash", "recipe", "when"), overflow="fold"
        )
    return made


def listing(rows: pl.DataFrame | Sequence[Mapping[str, Any]], cells: Mapping[str, str]) -> None:
    """Print a table whose cells are written by format strings.

    A cell is empty where a row lacks a number that it shows.

    Args:
        rows: The rows, as a frame or as mappings.
        cells: Format by heading, such as ``"{low:.2f} to {high:.2f}"``.
    """
    listed = table(*cells)
    for row in rows if isinstance(rows, Sequence) else rows.iter_rows(named=True):
        listed.add_row(*(_cell(form, row) for form in cells.values()))
    out.print(listed)


def _cell(form: str, row: Mapping[str, Any]) -> str:
    shown = [row.get(name) for _, name, _, _ in Formatter().parse(form) if name]
    return "" if None in shown else form.format_map(row)


def print_json(value: Any) -> None:
    """Print one JSON value on the output stream; frames as lists of rows, NaN as null."""
    rows = msgspec.json.encode(value, enc_hook=lambda frame: frame.to_dicts())
    text = msgspec.json.format(rows).decode()
    print(_CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


def parts_of(made: object, names: str) -> dict[str, Any]:
    """Return attributes of an object by name, for JSON.

    Args:
        made: The object.
        names: Names of the attributes, separated by spaces.
    """
    return {name: getattr(made, name) for name in names.split()}


def written_page(page: Path, *, json: bool) -> None:
    """Print where a page was written.

    Args:
        page: Path of the page.
        json: Whether JSON is printed.
    """
    if json:
        print_json({"page": str(page)})
    else:
        out.print(f"page  {page.resolve().as_uri()}", soft_wrap=True)
