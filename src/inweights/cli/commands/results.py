"""Define the commands about finished runs: list, show, compare and export."""

from dataclasses import asdict
from pathlib import Path

from inweights import actions
from inweights.cli import console
from inweights.cli.commands import base
from inweights.errors import ConfigError, DataError

#: Suffixes of files of answers, with which no name of a run ends.
_ANSWERS = (".json", ".jsonl")


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
        part: List only runs of recipes whose name contains this text.
        runs: Folder of all runs; by default $INWEIGHTS_RUNS, or ./runs if it is not
            set.
        full: List all runs, with every change in full.
        common: Options --json and --plugin.

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
        run: A recipe, a run's folder, the first characters of its hash, or 'last' for
            the newest run.
        which: Options --scale and --runs.
        which.scale: Scale of the run, if a recipe is given.
        again: Recompute verdicts and figures with this version; nothing is trained.
        verdicts: Options --json, --plugin, --full and --strict.
        verdicts.full: Show intervals, seeds, and the case that determines each verdict.

    Returns:
        1 if ``--strict`` is given and a claim was not reproduced, otherwise 0.

    Raises:
        ConfigError: There is no such run or more than one, or it is not finished.
        DataError: The ledger is damaged, or a file named in the settings cannot be
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

    For runs, the command prints the verdicts, the scores, and the settings that differ.
    For answers, it prints the difference in accuracy for each kind of question, with
    its 95% interval and the result of McNemar's exact test.

    Args:
        first: A recipe, a run's folder, the first characters of its hash, or 'last' for
            the newest run. To compare answers, a file with the output of 'inweights
            evaluate --json', or a file or folder that lm-eval wrote with --log_samples.
        second: The second run, or the answers of the second model.
        which: Options --scale and --runs.
        which.scale: Scale of the runs, if recipes are given.
        common: Options --json and --plugin.

    Raises:
        ConfigError: There is no such run or more than one, or it is not finished.
        DataError: Answers cannot be read or are to different questions, the ledger is
            damaged, or a file named in the settings of a run cannot be read.
        FolderError: A run is damaged.
    """
    from inweights.lm.exams.answer_files import (
        compare_answers,
        holds_answers,
        read_answers,
    )

    # Both must be files of answers, since a file may have the same name as a run.
    if holds_answers(first) and holds_answers(second):
        answers = [read_answers(path) for path in (first, second)]
        console.comparisons.answers(compare_answers(*answers), json=common.json)
        return
    _check_answer_files(first, second)
    both = [which.open(name) for name in (first, second)]
    console.results.compared(actions.compare(*both), json=common.json)


def _check_answer_files(first: str, second: str) -> None:
    """Raise an error if one of two names is a file of answers and the other is not.

    Raises:
        ConfigError: The other name is not a file of answers.
        DataError: There is no such file.
    """
    files = [name for name in (first, second) if Path(name).suffix in _ANSWERS]
    for file in files:
        if not Path(file).exists():
            raise DataError(f"there is no file '{file}'")
    if files:
        other = second if files[0] == first else first
        raise ConfigError(
            f"'{files[0]}' is a file of answers, but '{other}' is not; give the answers of two "
            "models, or two runs"
        )


@base.options
class Parts:
    """Options that select the files to write for a run.

    Attributes:
        pdf: Write the figures as PDF.
        latex: Write the claims as a LaTeX table.
        csv: Write claims and tables as CSV. An apostrophe (') is added before texts
            that a spreadsheet would interpret as formulas.
        raw: With --csv, do not add apostrophes before texts that resemble formulas.
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
    """Export a run: figures as PDF, claims as LaTeX, tables as CSV, or all as a logbook page.

    Args:
        run: A recipe, a run's folder, the first characters of its hash, or 'last' for
            the newest run.
        out: Folder to write; files of the same name are replaced.
        parts: Options that select files to write: --pdf, --latex, --csv and --raw.
        logbook: Folder of a trackio logbook to which the run is added as a page; it is
            created if there is none.
        which: Options --scale and --runs.
        which.scale: Scale of the run, if a recipe is given.
        common: Options --json and --plugin.

    Raises:
        ConfigError: No output is selected, there is no such run or more than one, it
            has no claims or no figures to write, or its page of the logbook contains
            cells written by someone else.
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
