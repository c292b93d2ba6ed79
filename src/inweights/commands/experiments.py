"""Commands that run a recipe."""

from __future__ import annotations

from pathlib import Path

from inweights.commands.base import (
    Flag,
    Fresh,
    Json,
    On,
    Overrides,
    Place,
    Plugins,
    Runs,
    Strict,
    Whole,
    app,
)
from inweights.commands.results import code_of

__all__ = ["demo", "run"]


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
    store: Place = "",
    on: On = "",
    device: str = "cpu",
    jobs: Whole = 0,
    threads: Whole = 1,
    fresh: Fresh = False,
    keep_models: Flag = False,
    dry_run: Flag = False,
    full: Flag = False,
    json: Json = False,
    strict: Strict = False,
    plugin: Plugins = (),
) -> int:
    """Run a recipe: figures, a page, and a verdict on every claim.

    Parameters
    ----------
    recipe
        Its name, as in 'inweights list'; the last part is enough where only one has it.
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
    store
        Where single runs are kept, if not below that folder; also an address, s3://bucket/folder.
    on
        ray, or the address ray://HOST:PORT of a Ray cluster; this machine if left out.
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
    dry_run
        Only say what it would take: runs, steps, minutes, memory, and what is stored already.
    full
        Show intervals, seeds and deciding cases of every claim.
    json
        Print one JSON object.
    strict
        Exit with 1 when a claim did not reproduce.
    plugin
        A Python module or file that adds recipes of your own; may be repeated.
    """
    from inweights import console, laboratory
    from inweights.config import load_toml
    from inweights.lab.plugins import load_plugins
    from inweights.lab.recipe import parse_seeds

    load_plugins(plugin)
    changes = [*(console.flat(load_toml(config)) if config else ()), *set]
    chosen = parse_seeds(seeds) if seeds is not None else None
    if dry_run:
        with console.progress() as progress:
            forecast = laboratory.forecast(
                recipe, scale, seeds=chosen, overrides=changes, runs=runs, device=device,
                jobs=jobs or console.cores(device, scale), keep_models=keep_models,
                progress=progress,
            )  # fmt: skip
        console.ahead(forecast, json=json)
        return 0
    with console.progress() as progress:
        outcome = laboratory.run(
            recipe,
            scale,
            seeds=chosen,
            overrides=changes,
            runs=runs,
            store=store,
            on=on,
            device=device,
            jobs=jobs or console.cores(device, scale),
            threads=threads,
            plugins=plugin,
            fresh=fresh,
            progress=progress,
            keep_models=keep_models,
        )
    console.outcome(outcome, json=json, full=full)
    return code_of(outcome.claims, strict)


@app.command
def demo(
    *, runs: Runs = None, fresh: Fresh = False, json: Json = False, plugin: Plugins = ()
) -> int:
    """Show in a minute what identity does to two-hop reasoning.

    Parameters
    ----------
    runs
        Folder of all runs; $INWEIGHTS_RUNS, or ./runs.
    fresh
        Discard an earlier run.
    json
        Print one JSON object.
    plugin
        A Python module or file of your own to load first; may be repeated.
    """
    return run("demo/two-hop", runs=runs, fresh=fresh, json=json, plugin=plugin)
