"""Define the command ``verify``, which shows verdicts, adds seeds, and records scores."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from inweights import actions
from inweights.cli import console
from inweights.cli.commands import base
from inweights.errors import ConfigError, check_names


@base.options
class Settling:
    """Options that define whether seeds are added to undecided claims, and how they are run.

    Attributes:
        settle: Add seeds to undecided claims until they are decided, before the table
            is shown.
        minutes: Time limit of --settle.
        store: Folder or address of the tables of individual runs; by default a
            subfolder of the folder of all runs.
        jobs: Number of parallel processes; 0 means one per core.
        dry_run: Only print the cost of each recipe on this machine, and the total cost
            of recipes without a finished run.
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
    """Options that select stored results, and how they are shown.

    Attributes:
        source: Folder of results (ledger and scores) from which verdicts are computed;
            no runs are read.
        into: Folder of results. The scores of the runs on this disk are added to it
            before the table is shown. With --settle, further seeds are run for its
            undecided claims; seeds that the folder already contains are not run again.
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
    """Show the results table: the verdicts on the claims of all recipes, or of one recipe.

    Args:
        only: Consider only recipes whose name contains this text, such as identity-bridge.
        scale: smoke, cpu or paper.
        runs: Folder of all runs; by default $INWEIGHTS_RUNS, or ./runs if it is not
            set.
        settling: Options for adding seeds, such as --settle and --minutes.
        kept: Options for stored results: --from, --into and --markdown.
        verdicts: Options --json, --plugin, --full and --strict.
        verdicts.full: Show every claim with its interval, its seeds, and the case that
            determines its verdict.

    Returns:
        1 if ``--strict`` is given and a claim was not reproduced, otherwise 0; always 0
        with ``--dry-run``.

    Raises:
        ConfigError: The scale is unknown, no recipe's name contains ``only``,
            ``--minutes`` is not between 0 and 10,000,000, options contradict each
            other, or a folder of results has no ledger.
        DataError: The ledger or the scores are damaged or were changed by another
            process, a run lacks a table or column that a claim's score uses, or a file
            named in the settings cannot be read.
        RunError: A training run of ``--settle`` failed, a run's folder is damaged, or
            the folder of runs cannot be read.
        OSError: The ledger cannot be read; or with ``--into``, a file of the results
            cannot be written.
    """
    from inweights.experiments.grammar.recipe import SCALES

    check_names("scale", [scale], SCALES)
    if settling.dry_run:
        # The times of recipes are known only at this scale.
        if scale != "cpu":
            raise ConfigError(
                f"verify --dry-run can estimate the cost only at scale 'cpu', got '{scale}'"
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
    # With stored results, the verdicts follow from the ledger and the scores, without
    # runs.
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
    console.ledger.settled(done)
