"""Commands about recipes and their runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from inweights.commands.base import Fresh, Json, Overrides, Plugins, Runs, Strict, app

if TYPE_CHECKING:
    from inweights.lab.engine import Outcome

__all__ = ["demo", "list_recipes", "list_runs", "run", "show", "verify"]


@app.command(name="list")
def list_recipes(*, json: Json = False, plugin: Plugins = ()) -> int:
    """List all recipes.

    Parameters
    ----------
    json
        Print one JSON array.
    plugin
        A Python module that adds recipes of your own; may be repeated.
    """
    from inweights import console
    from inweights.lab.plugins import load_plugins
    from inweights.recipes import get_recipe, recipe_names

    load_plugins(plugin)
    console.recipes([get_recipe(name) for name in recipe_names()], json=json)
    return 0


@app.command
def run(
    recipe: str,
    /,
    *,
    scale: str = "cpu",
    seeds: str | None = None,
    set: Overrides = (),  # noqa: A002
    config: Path | None = None,
    runs: Runs = None,
    device: str = "cpu",
    jobs: int = 0,
    threads: int = 1,
    fresh: Fresh = False,
    keep_models: Annotated[bool, Parameter(name="--keep-models", negative=())] = False,
    json: Json = False,
    strict: Strict = False,
    plugin: Plugins = (),
) -> int:
    """Run a recipe: figures, a page, and a verdict on every claim.

    Parameters
    ----------
    recipe
        Its name, as in 'inweights list'.
    scale
        smoke (seconds), cpu (minutes on two cores) or paper (the paper's own sizes).
    seeds
        Number of replicates, or which: 8, 900..907 or 7,8,9.
    set
        Change a setting, as in --set gpt.model.width=128; may be repeated.
    config
        A TOML file with settings.
    runs
        Folder of all runs; $INWEIGHTS_RUNS, or ./runs.
    device
        cpu or cuda.
    jobs
        Processes that train side by side; 0 takes the cores of this machine.
    threads
        Threads of each process.
    fresh
        Discard an earlier run of the same config.
    keep_models
        Store the trained weights, too.
    json
        Print one JSON object.
    strict
        Exit with 1 when a claim did not reproduce.
    plugin
        A Python module that adds recipes of your own; may be repeated.
    """
    from inweights import console, laboratory
    from inweights.config import load_toml
    from inweights.lab.plugins import load_plugins
    from inweights.lab.recipe import parse_seeds

    load_plugins(plugin)
    changes = [*(console.flat(load_toml(config)) if config else ()), *set]
    with console.progress() as progress:
        outcome = laboratory.run(
            recipe,
            scale,
            seeds=parse_seeds(seeds) if seeds else None,
            overrides=changes,
            runs=runs,
            device=device,
            jobs=jobs or console.cores(device, scale),
            threads=threads,
            plugins=plugin,
            fresh=fresh,
            progress=progress,
            keep_models=keep_models,
        )
    return _finish(outcome, json=json, strict=strict)


@app.command
def demo(*, runs: Runs = None, fresh: Fresh = False, json: Json = False) -> int:
    """Show in a minute what identity does to two-hop reasoning.

    Parameters
    ----------
    runs
        Folder of all runs; $INWEIGHTS_RUNS, or ./runs.
    fresh
        Discard an earlier run.
    json
        Print one JSON object.
    """
    return run("demo/two-hop", runs=runs, fresh=fresh, json=json)


@app.command(name="runs")
def list_runs(*, runs: Runs = None, json: Json = False) -> int:
    """List the runs on this disk, newest first.

    Parameters
    ----------
    runs
        Folder of all runs; $INWEIGHTS_RUNS, or ./runs.
    json
        Print one JSON array.
    """
    from inweights import console
    from inweights.runs import RunStore

    console.runs(list(RunStore(runs)), json=json)
    return 0


@app.command
def show(
    run: str,
    /,
    *,
    scale: str = "cpu",
    runs: Runs = None,
    again: Annotated[bool, Parameter(name="--again", negative=())] = False,
    json: Json = False,
    strict: Strict = False,
    plugin: Plugins = (),
) -> int:
    """Show the claims of a finished run, and where its page is.

    Parameters
    ----------
    run
        A recipe, or the first letters of a run's hash.
    scale
        Which run of a recipe.
    runs
        Folder of all runs; $INWEIGHTS_RUNS, or ./runs.
    again
        Judge and draw it again with the claims and figures of this version; nothing is trained.
    json
        Print one JSON object.
    strict
        Exit with 1 when a claim did not reproduce.
    plugin
        A Python module that adds recipes of your own; may be repeated.
    """
    from inweights import laboratory
    from inweights.lab.plugins import load_plugins

    load_plugins(plugin)
    outcome = laboratory.open_run(run, scale, runs=runs, again=again)
    return _finish(outcome, json=json, strict=strict)


@app.command
def verify(
    only: str = "",
    /,
    *,
    scale: str = "cpu",
    runs: Runs = None,
    settle: Annotated[bool, Parameter(name="--settle", negative=())] = False,
    minutes: float = 60.0,
    jobs: int = 0,
    json: Json = False,
    markdown: Annotated[bool, Parameter(name="--markdown", negative=())] = False,
    strict: Strict = False,
    plugin: Plugins = (),
) -> int:
    """Show the board: every claim of every recipe, with its verdict so far.

    Parameters
    ----------
    only
        Recipes whose name contains this, such as identity-bridge.
    scale
        smoke, cpu or paper.
    settle
        First run more seeds for claims that are undecided, until they are settled.
    minutes
        Time that this may take.
    jobs
        Processes that work side by side; 0 takes the cores of this machine.
    runs
        Folder of all runs; $INWEIGHTS_RUNS, or ./runs.
    json
        Print one JSON object.
    markdown
        Print Markdown, as in docs/board.md.
    strict
        Exit with 1 when a claim did not reproduce.
    plugin
        A Python module that adds recipes of your own; may be repeated.
    """
    from inweights import console, laboratory
    from inweights.lab.plugins import load_plugins

    load_plugins(plugin)
    if settle:
        from inweights.lab.collect import Effort

        with console.progress() as progress:
            effort = Effort(jobs=jobs or console.cores("cpu", scale), progress=progress)
            done = list(
                laboratory.settle(scale, only=only, minutes=minutes, runs=runs, effort=effort)
            )
        console.settled(done)
    claims = laboratory.board(scale, only=only, runs=runs)
    console.board(claims, scale, json=json, markdown=markdown)
    return _code(claims, strict)


def _finish(outcome: Outcome, *, json: bool, strict: bool) -> int:
    from inweights import console

    console.outcome(outcome, json=json)
    return _code(outcome.claims, strict)


def _code(claims: Sequence[Any], strict: bool) -> int:
    return int(strict and any(claim.verdict == "not reproduced" for claim in claims))
