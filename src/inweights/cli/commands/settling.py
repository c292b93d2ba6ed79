"""Add seeds to undecided claims for ``inweights verify --settle``.

:class:`Settling` is a group of the command's options, which :func:`settle` follows.
"""

from pathlib import Path

from inweights import actions
from inweights.cli import console
from inweights.cli.commands import base


@base.options
class Settling:
    """Options of which undecided claims get more seeds, and for how long.

    Attributes:
        settle: First add seeds to undecided claims until they are decided.
        minutes: Time limit of --settle.
        store: Folder or address of the tables of single runs; by default in the folder
            of all runs.
        jobs: Number of parallel processes; 0 means one per core.
        dry_run: Print only the cost of each recipe on this machine, and what is left to
            run.
    """

    settle: base.Flag = False
    minutes: float = 60.0
    store: base.Place = ""
    on: base.On = ""
    jobs: base.Whole = 0
    dry_run: base.Flag = False


def settle(
    settling: Settling,
    scale: str,
    only: str,
    runs: Path | None,
    results: Path | None,
    plugins: tuple[str, ...],
) -> None:
    """Add seeds to undecided claims, and report what they decided on the error stream.

    Args:
        settling: Options of the command.
        scale: Scale of the runs: ``smoke``, ``cpu`` or ``paper``.
        only: Part of the names of the recipes; empty for all.
        runs: Folder of all runs; ``None`` for the default.
        results: Folder of results, whose open claims get more seeds; ``None`` for the
            claims of the runs on this disk.
        plugins: Modules that the processes import first.

    Raises:
        ConfigError: The time limit is out of range, or ``results`` has no ledger.
        DataError: The ledger or the scores are damaged.
    """
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
