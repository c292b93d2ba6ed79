"""Define the commands that run a recipe or a study: ``run``, ``demo`` and ``sweep``.

All three call :func:`outcome_of`, which runs with a progress display or prints a cost
estimate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inweights import actions
from inweights.cli import console
from inweights.cli.commands import base

if TYPE_CHECKING:
    from inweights.experiments.engine.execution import RunKeywords
    from inweights.experiments.engine.outcome import Outcome
    from inweights.experiments.grammar.recipe import Recipe

ABOUT_DEMO = (
    "Small models are trained on a made-up world, with and without identities b → b,\n"
    "and evaluated on questions that they were not trained on. The first run takes\n"
    "about a minute on two cores."
)


@dataclass(frozen=True, kw_only=True)
class RunRequest:
    """The recipe that a command runs, with its scale, seeds and changed settings.

    Attributes:
        recipe: A recipe, or its name.
        scale: Scale of the run: ``smoke``, ``cpu`` or ``paper``.
        seeds: Number of seeds, or the seeds themselves. If it is ``None`` (the
            default), the recipe's seeds are used.
        overrides: Changes of settings, each in the form ``key=value``; by default none.
        command: Command that repeats the run, as a list of arguments, for the page of
            the run. If it is empty (the default), the command is ``inweights run``.
    """

    recipe: str | Recipe
    scale: str = "cpu"
    seeds: int | Sequence[int] | None = None
    overrides: Sequence[str] = ()
    command: Sequence[str] = ()


@base.app.command
def run(
    recipe: str,
    /,
    *,
    scale: str = "cpu",
    config: Path | None = None,
    choice: base.Choice = base.Choice(),
    doing: base.Doing = base.Doing(),
    verdicts: base.Verdicts = base.Verdicts(),
) -> int:
    """Run a recipe, write its figures and page, and judge its claims.

    Args:
        recipe: Name of the recipe, as in 'inweights list'; the last part is enough if
            it is unique.
        scale: smoke (takes seconds), cpu (takes minutes on two cores) or paper (the
            sizes in the paper).
        choice: Options --seeds and --set.
        choice.set: Change a setting, as in --set gpt.model.width=128; may be repeated.
        config: A TOML file with settings.
        doing: Options of the run, such as --device and --dry-run.
        doing.store: Folder or address (s3://bucket/folder) of the tables of individual
            runs; by default a subfolder of the folder of all runs.
        doing.jobs: Number of parallel processes; 0 means one per core.
        doing.fresh: Discard an earlier run of the same config.
        verdicts: Options --json, --plugin, --full and --strict.
        verdicts.full: Show the intervals and seeds of every claim, and the case that
            determines its verdict.

    Returns:
        The exit code: 1 if a claim was not reproduced and ``--strict`` is given,
        otherwise 0.

    Raises:
        ConfigError: A name, a scale, an option, a setting or the TOML file is not
            valid.
        DataError: The ledger is damaged, a file named in the settings cannot be read,
            or a table lacks a column from which another table is derived.
        RunError: The run failed, its folder is damaged, or a file cannot be written.
    """
    from inweights.config import load_toml

    # The command line comes last, because it overrides the file.
    changes = [*(console.flat(load_toml(config)) if config else ()), *choice.set]
    request = RunRequest(
        recipe=recipe, scale=scale, seeds=choice.numbers, overrides=changes
    )
    jobs = doing.jobs or console.cores(doing.device, scale)
    outcome = outcome_of(request, doing, verdicts, jobs=jobs)
    if outcome is None:
        return 0
    console.results.outcome(outcome, json=verdicts.json, full=verdicts.full)
    return console.claims.code_of(outcome.claims, verdicts.strict)


def outcome_of(
    request: RunRequest,
    doing: base.Doing,
    common: base.Common,
    *,
    jobs: int,
    about: str = "",
) -> Outcome | None:
    """Run a recipe and return its outcome, or with ``--dry-run`` print its cost estimate.

    Args:
        request: Description of what is run.
        doing: Options that define where and how the run is computed.
        common: Options of every command. ``json`` applies to the cost estimate.
        jobs: Number of parallel processes, at least 1; ``doing.jobs`` is not used.
        about: Description of what the command does. It is printed before anything is
            loaded; empty (the default) for no description.

    Returns:
        The outcome, or ``None`` if only the cost estimate was printed.

    Raises:
        ConfigError: A name, a scale, a device, a tracker or a changed setting is
            invalid.
        DataError: The ledger is damaged, a file named in the settings cannot be read,
            or a table lacks a column from which another table is derived.
        RunError: The run failed, its folder is damaged, or a file cannot be written.
    """
    execution: RunKeywords = {
        "device": doing.device,
        "jobs": jobs,
        "keep_models": doing.keep_models,
        "on": doing.on,
        "plugins": common.plugin,
        "store": doing.store,
    }
    chosen: dict[str, Any] = {
        "seeds": request.seeds,
        "overrides": request.overrides,
        "runs": doing.runs,
    }
    recipe = request.recipe
    scale = request.scale
    with console.progress(about=about) as progress:
        chosen["progress"] = progress
        execution["fresh"] = doing.fresh
        # These options apply only to a run, not to an estimate.
        if not doing.dry_run:
            execution["command"] = request.command
            execution["observers"] = base.trackers(doing.tracker, per=doing.tracker_per)
            return actions.run(recipe, scale, **chosen, **execution)
        ahead = actions.forecast(recipe, scale, **chosen, **execution)
    console.catalogue.ahead(ahead, json=common.json)
    return None


@base.app.command
def demo(
    *,
    runs: base.Runs = None,
    fresh: base.Fresh = False,
    json: base.Json = False,
) -> int:
    """Show the effect of identities on two-hop reasoning, in about a minute.

    Args:
        runs: Folder of all runs; by default $INWEIGHTS_RUNS, or ./runs if it is not
            set.
        fresh: Discard an earlier run.
        json: Print JSON instead of text.

    Returns:
        The exit code, 0.

    Raises:
        ConfigError: The folder of runs cannot be written.
        RunError: The run failed, or its folder is damaged.
    """
    outcome = outcome_of(
        RunRequest(recipe="demo/two-hop"),
        base.Doing(runs=runs, fresh=fresh),
        base.Common(json=json),
        jobs=console.cores("cpu", "cpu"),
        about=ABOUT_DEMO,
    )
    if outcome is not None:
        console.results.outcome(outcome, json=json)
    return 0


@base.app.command
def sweep(
    file: Path,
    /,
    *,
    choice: base.Choice = base.Choice(),
    doing: base.Doing = base.Doing(),
    common: base.Common = base.Common(),
) -> int:
    """Run the study that a TOML file describes, and write a page.

    Args:
        file: A TOML file with [world], [model], [learner] and [over]; docs/sweep.md has
            an example.
        choice: Options --seeds and --set.
        choice.set: Change a setting, as in --set model.width=128 or --set
            over.world.n=[5,10]; may be repeated.
        doing: Options of the run, such as --device and --dry-run.
        doing.store: Folder or address of the tables of individual runs; by default a
            subfolder of the folder of all runs.
        doing.jobs: Number of parallel processes; 0 means one per core if there is
            enough work.
        doing.fresh: Discard an earlier run of the same study.
        common: Options --json and --plugin.

    Returns:
        The exit code, 0.

    Raises:
        ConfigError: The file is not a valid study, or an option or a changed setting is
            invalid.
        DataError: A world cannot be built, or a file named in the settings cannot be
            read.
        RunError: The run failed, its folder is damaged, or a file cannot be written.
    """
    from inweights.experiments.studies.study import open_study
    from inweights.experiments.studies.sweep_defaults import useful_processes

    recipe = open_study(file)
    settings, numbers, _ = recipe.resolve("cpu", choice.numbers, choice.set)
    # Starting a process takes seconds, which is more than it would save in a small
    # study.
    jobs = doing.jobs or useful_processes(
        recipe.plan(settings), len(numbers), doing.device
    )
    words = ["sweep", str(file), *base.choices(choice.seeds, choice.set, common.plugin)]
    request = RunRequest(
        recipe=recipe, seeds=numbers, overrides=choice.set, command=words
    )
    outcome = outcome_of(request, doing, common, jobs=jobs)
    if outcome is not None:
        console.results.outcome(outcome, json=common.json)
    return 0
