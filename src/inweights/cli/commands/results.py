"""Define the commands about finished runs: list, show, compare, export and verify."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from inweights import actions
from inweights.cli import console
from inweights.cli.commands import base
from inweights.errors import ConfigError, check_names


@base.app.command(name="runs")
def list_runs(
    part: str = "",
    /,
    *,
    runs: base.Runs = None,
    full: base.Flag = False,
    common: base.Common = base.Common(),
) -> None:
    """List finished runs, newest first, with changed settings and dates.

    Args:
        part: Only runs of recipes whose name contains this text.
        full: List all runs, with every change in full.

    Raises:
        FolderError: The folder of runs cannot be read.
    """
    from inweights.runs import RunStore

    found = [f for f in RunStore(runs) if part in str(f.config.get("recipe", "?"))]
    console.results.runs(found, json=common.json, full=full)


@base.app.command
def show(
    run: str,
    /,
    *,
    which: base.Finished = base.Finished(),
    again: base.Flag = False,
    verdicts: base.Verdicts = base.Verdicts(),
) -> int:
    """Show the claims of a finished run, and the path of its page.

    Args:
        run: A recipe, a run's folder or the first letters of its hash, or last for the
            newest run.
        which.scale: Scale of the run, if a recipe is given.
        again: Judge and draw the run again with this version; nothing is trained.
        verdicts.full: Show intervals, seeds and deciding cases.

    Returns:
        1 if ``--strict`` is given and a claim was not reproduced, otherwise 0.

    Raises:
        ConfigError: There is no such run or more than one, or it is not finished.
        DataError: The ledger is damaged, or a file that the settings name cannot be
            read.
        RunError: The run is damaged, or with ``--again`` a file cannot be written.
    """
    outcome = which.open(run, again=again)
    console.results.outcome(outcome, json=verdicts.json, full=verdicts.full)
    return console.claims.code_of(outcome.claims, verdicts.strict)


@base.app.command
def compare(
    first: str,
    second: str,
    /,
    *,
    which: base.Finished = base.Finished(),
    common: base.Common = base.Common(),
) -> None:
    """Compare two runs, or the answers of two models to the same questions.

    For runs: verdicts, scores and different settings. For answers: the difference by
    kind of question, with its 95% interval and McNemar's exact test.

    Args:
        first: A recipe, a run's folder or the first letters of its hash, or last for
            the newest run. Or answers: JSON that 'inweights evaluate --json' printed,
            or a file or folder of lm-eval --log_samples.
        second: The other run, or the other model's answers.
        which.scale: Scale of the runs, if recipes are given.

    Raises:
        ConfigError: There is no such run or more than one, or it is not finished.
        DataError: Answers cannot be read or are to different questions, the ledger is
            damaged, or a file that the settings of a run name cannot be read.
        FolderError: A run is damaged.
    """
    from inweights.lm.exams.answer_files import (
        compare_answers,
        holds_answers,
        read_answers,
    )

    # Both must be answers, since a file may have the name of a run.
    if holds_answers(first) and holds_answers(second):
        answers = [read_answers(path) for path in (first, second)]
        console.comparisons.answers(compare_answers(*answers), json=common.json)
        return
    both = [which.open(name) for name in (first, second)]
    console.results.compared(actions.compare(*both), json=common.json)


@base.options
class Parts:
    """Options that define which files are written for a run.

    Attributes:
        pdf: Write the figures as PDF.
        latex: Write the claims as a LaTeX table.
        csv: Write claims and tables as CSV. A ' is added before texts that a
            spreadsheet would run as formulas.
        raw: Leave such texts unchanged.
    """

    pdf: base.Flag = False
    latex: base.Flag = False
    csv: base.Flag = False
    raw: base.Flag = False


@base.app.command
def export(
    run: str,
    /,
    *,
    out: Path = Path("export"),
    parts: Parts = Parts(),
    logbook: Path | None = None,
    which: base.Finished = base.Finished(),
    common: base.Common = base.Common(),
) -> None:
    """Export a run: figures as PDF, claims as LaTeX, tables as CSV, the whole as a logbook page.

    Args:
        run: A recipe, a run's folder or the first letters of its hash, or last for the
            newest run.
        out: Folder to write; files of the same name are replaced.
        logbook: Folder of a trackio logbook to which the run is added as a page; it is
            created if there is none.
        which.scale: Scale of the run, if a recipe is given.

    Raises:
        ConfigError: Nothing to write is chosen, there is no such run or more than one,
            it has no claims or no figures to write, or its page of the logbook contains
            cells of others.
        DataError: A figure names a missing table or column, or the ledger is damaged.
        RunError: The run is damaged, or a file cannot be written.
    """
    files = parts.pdf or parts.latex or parts.csv
    if not (files or logbook):
        raise ConfigError(
            "choose what to write: --pdf, --latex, --csv, --logbook FOLDER, or several "
            "of them"
        )
    outcome = which.open(run)
    from inweights.actions.ledger.lines import LEDGER, stored_root
    from inweights.report.pages.export import write_export
    from inweights.report.pages.logbook import write_logbook

    written = write_export(outcome, out, **asdict(parts)) if files else []
    if logbook:
        written += write_logbook(outcome, logbook, ledger=stored_root() / LEDGER)
    console.results.exported(written, json=common.json)


@base.options
class Settling:
    """Options that define which undecided claims get more seeds, and for how long.

    Attributes:
        settle: First add seeds to undecided claims until they are decided.
        minutes: Time limit of --settle.
        store: Folder or address of the tables of single runs; by default in the folder
            of all runs.
        jobs: Number of parallel processes; 0 means one per core.
        dry_run: Print only the cost of each recipe on this machine, and what is left to
            run.
        on: ``ray``, or the address of a Ray cluster; empty for this machine.
    """

    settle: base.Flag = False
    minutes: float = 60.0
    store: base.Place = ""
    on: base.On = ""
    jobs: base.Whole = 0
    dry_run: base.Flag = False


@base.options
class Kept:
    """Options that define which stored results are used, and how they are shown.

    Attributes:
        source: Folder of results (ledger and scores) from which verdicts are computed,
            without any run.
        into: Folder of results to which the scores of the runs on this disk are added
            first. With --settle, more seeds are run for its open claims; seeds that it
            contains are not run again.
        markdown: Print Markdown, as in docs/board.md.
    """

    source: Annotated[Path | None, Parameter(name="--from")] = None
    into: Path | None = None
    markdown: base.Flag = False


@base.app.command
def verify(
    only: str = "",
    /,
    *,
    scale: str = "cpu",
    runs: base.Runs = None,
    settling: Settling = Settling(),
    kept: Kept = Kept(),
    verdicts: base.Verdicts = base.Verdicts(),
) -> int:
    """Show the results table: verdicts of every recipe, or the claims of one.

    Args:
        only: Recipes whose name contains this text, such as identity-bridge.
        scale: smoke, cpu or paper.
        verdicts.full: Show every claim with intervals, seeds and deciding cases.

    Returns:
        1 if ``--strict`` is given and a claim was not reproduced, otherwise 0; always 0
        with ``--dry-run``.

    Raises:
        ConfigError: The scale is unknown, no recipe's name contains ``only``,
            ``--minutes`` is not from 0 to 10,000,000, options exclude each other, or a
            folder of results has no ledger.
        DataError: The ledger or the scores are damaged or were changed by another
            process, tables of a run do not fit a claim's score, or a file that settings
            name cannot be read.
        RunError: A training of ``--settle`` failed, a run's folder is damaged, or the
            folder of runs cannot be read.
        OSError: The ledger cannot be read; or with ``--into``, a file of the results
            cannot be written.
    """
    from inweights.experiments.grammar.recipe import SCALES

    check_names("scale", [scale], SCALES)
    if settling.dry_run:
        # Recipes were timed only at this scale.
        if scale != "cpu":
            raise ConfigError(
                f"verify --dry-run estimates the cost at scale 'cpu' only, got '{scale}'"
            )
        console.catalogue.costs(actions.costs(only=only, runs=runs), json=verdicts.json)
        return 0
    # Done first, so that the table below counts the new seeds.
    if settling.settle:
        _settle(settling, scale, only, runs, kept.into, verdicts.plugin)
    if kept.into:
        console.ledger.recorded(
            actions.record(scale, only=only, runs=runs, results=kept.into)
        )
    # Stored results need no runs here: verdicts follow from the ledger and the scores.
    if place := kept.into or kept.source:
        board = actions.board(scale, only=only, results=place)
        claims = board.claims
        of = board
    else:
        claims = actions.verdicts(scale, only=only, runs=runs)
        of = None
    if kept.markdown:
        console.ledger.markdown(claims, scale, of)
    else:
        console.claims.board(claims, scale, json=verdicts.json, full=verdicts.full)
    return console.claims.code_of(claims, verdicts.strict)


def _settle(
    settling: Settling,
    scale: str,
    only: str,
    runs: Path | None,
    results: Path | None,
    plugins: tuple[str, ...],
) -> None:
    from inweights.experiments.engine.execution import ExecutionOptions

    with console.progress() as progress:
        execution = ExecutionOptions(
            jobs=settling.jobs or console.cores("cpu", scale),
            plugins=plugins,
            progress=progress,
            on=settling.on,
            store=settling.store,
        )
        more = actions.settle(
            scale,
            only=only,
            minutes=settling.minutes,
            runs=runs,
            results=results,
            execution=execution,
        )
        done = list(more)
    console.claims.settled(done)
