"""Commands about what has run: the runs on this disk, their claims, side by side, as files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from inweights.cli.commands.base import Flag, Json, On, Place, Plugins, Runs, Strict, Whole, app

__all__ = ["code_of", "compare", "export", "list_runs", "show", "verify"]


@app.command(name="runs")
def list_runs(
    part: str = "",
    /,
    *,
    runs: Runs = None,
    full: Flag = False,
    json: Json = False,
    plugin: Plugins = (),
) -> int:
    """List finished runs, newest first, with changed settings and dates.

    Parameters
    ----------
    part
        Only runs of recipes whose name contains this.
    full
        List all runs, with every change in full.
    """
    from inweights.cli import console
    from inweights.lab.grammar.plugins import load_plugins
    from inweights.runs import RunStore

    load_plugins(plugin)
    found = [f for f in RunStore(runs) if part in str(f.config.get("recipe", "?"))]
    console.runs(found, json=json, full=full)
    return 0


@app.command
def show(
    run: str,
    /,
    *,
    scale: str = "cpu",
    runs: Runs = None,
    again: Flag = False,
    full: Flag = False,
    json: Json = False,
    strict: Strict = False,
    plugin: Plugins = (),
) -> int:
    """Show the claims of a finished run, and the path of its page.

    Parameters
    ----------
    run
        A recipe, or the first letters of a run's hash.
    scale
        Scale of the run, if a recipe is given.
    again
        Judge and draw the run again with the claims and figures of this version, without training.
    full
        Show intervals, seeds and deciding cases.
    """
    from inweights import laboratory
    from inweights.cli import console
    from inweights.lab.grammar.plugins import load_plugins

    load_plugins(plugin)
    outcome = laboratory.open_run(run, scale, runs=runs, again=again)
    console.outcome(outcome, json=json, full=full)
    return code_of(outcome.claims, strict)


@app.command
def compare(
    first: str,
    second: str,
    /,
    *,
    scale: str = "cpu",
    runs: Runs = None,
    json: Json = False,
    plugin: Plugins = (),
) -> int:
    """Compare two runs: verdicts, scores, and different settings.

    Parameters
    ----------
    first
        A recipe, or the first letters of a run's hash.
    second
        The other run.
    scale
        Scale of the runs, if recipes are given.
    """
    from inweights import laboratory
    from inweights.cli import console
    from inweights.lab.grammar.plugins import load_plugins

    load_plugins(plugin)
    both = [laboratory.open_run(name, scale, runs=runs) for name in (first, second)]
    console.compared(laboratory.compare(*both), json=json)
    return 0


@app.command
def export(
    run: str,
    /,
    *,
    out: Path = Path("export"),
    pdf: Flag = False,
    latex: Flag = False,
    csv: Flag = False,
    scale: str = "cpu",
    runs: Runs = None,
    json: Json = False,
    plugin: Plugins = (),
) -> int:
    """Export a run for a paper: figures as PDF, claims as LaTeX, tables as CSV.

    Parameters
    ----------
    run
        A recipe, or the first letters of a run's hash.
    out
        Folder to write; files of the same name are replaced.
    pdf
        Write the figures as PDF.
    latex
        Write the claims as a LaTeX table.
    csv
        Write claims and tables as CSV.
    scale
        Scale of the run, if a recipe is given.
    """
    from inweights import laboratory
    from inweights.cli import console
    from inweights.errors import ConfigError
    from inweights.lab.grammar.plugins import load_plugins

    if not (pdf or latex or csv):
        raise ConfigError("choose what to write: --pdf, --latex, --csv, or several of them")
    load_plugins(plugin)
    outcome = laboratory.open_run(run, scale, runs=runs)
    from inweights.report.pages.export import write_export

    files = write_export(outcome, out, pdf=pdf, latex=latex, csv=csv)
    console.exported(files, json=json)
    return 0


@app.command
def verify(
    only: str = "",
    /,
    *,
    scale: str = "cpu",
    runs: Runs = None,
    settle: Flag = False,
    minutes: float = 60.0,
    store: Place = "",
    on: On = "",
    jobs: Whole = 0,
    onto: Path | None = None,
    full: Flag = False,
    json: Json = False,
    markdown: Flag = False,
    strict: Strict = False,
    plugin: Plugins = (),
) -> int:
    """Show the results table: verdicts of every recipe, or the claims of one.

    Parameters
    ----------
    only
        Recipes whose name contains this, such as identity-bridge.
    scale
        smoke, cpu or paper.
    settle
        First add seeds to undecided claims until they are decided.
    minutes
        Time limit of --settle.
    store
        Folder or address of the tables of single runs; by default in the folder of all runs.
    jobs
        Number of parallel processes; 0 means one per core.
    onto
        An earlier results table (--json), used for recipes without a run on this disk.
    full
        Show every claim with intervals, seeds and deciding cases.
    markdown
        Print Markdown, as in docs/board.md.
    """
    from inweights import laboratory
    from inweights.cli import console
    from inweights.errors import unknown_name
    from inweights.lab.grammar.plugins import load_plugins
    from inweights.lab.grammar.recipe import SCALES

    if scale not in SCALES:
        raise unknown_name("scale", scale, SCALES)
    load_plugins(plugin)
    if settle:
        from inweights.lab.engine.collect import Effort

        with console.progress() as progress:
            effort = Effort(
                jobs=jobs or console.cores("cpu", scale),
                plugins=plugin,
                progress=progress,
                on=on,
                store=store,
            )
            done = list(
                laboratory.settle(scale, only=only, minutes=minutes, runs=runs, effort=effort)
            )
        console.settled(done)
    claims = laboratory.board(scale, only=only, runs=runs, onto=onto)
    console.board(claims, scale, json=json, markdown=markdown, full=full)
    return code_of(claims, strict)


def code_of(claims: Sequence[Any], strict: bool) -> int:
    """Return the exit code: 1 if ``strict`` and a claim did not reproduce."""
    return int(strict and any(claim.verdict == "not reproduced" for claim in claims))
