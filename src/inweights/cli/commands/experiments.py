"""Commands that run a recipe."""

from __future__ import annotations

from pathlib import Path

from inweights.cli.commands.base import (
    Device,
    DryRun,
    Flag,
    Fresh,
    Json,
    KeepModels,
    On,
    Overrides,
    Place,
    Plugins,
    Runs,
    Seeds,
    Strict,
    Whole,
    app,
)
from inweights.cli.commands.results import code_of

__all__ = ["demo", "run"]


@app.command
def run(
    recipe: str,
    /,
    *,
    scale: str = "cpu",
    seeds: Seeds = None,
    set: Overrides = (),  # noqa: A002
    config: Path | None = None,
    runs: Runs = None,
    store: Place = "",
    on: On = "",
    device: Device = "cpu",
    jobs: Whole = 0,
    threads: Whole = 1,
    fresh: Fresh = False,
    keep_models: KeepModels = False,
    dry_run: DryRun = False,
    full: Flag = False,
    json: Json = False,
    strict: Strict = False,
    plugin: Plugins = (),
) -> int:
    """Run a recipe: figures, a page, and a verdict on every claim.

    Parameters
    ----------
    recipe
        Its name, as in 'inweights list'; the last part is enough if it is unique.
    scale
        smoke (seconds), cpu (minutes on two cores) or paper (the paper's own sizes).
    set
        Change a setting, as in --set gpt.model.width=128; may be repeated.
    config
        A TOML file with settings.
    store
        Folder or address (s3://bucket/folder) of the tables of single runs; by default in the
        folder of all runs.
    jobs
        Number of parallel processes; 0 means one per core.
    threads
        Threads of each process.
    fresh
        Discard an earlier run of the same config.
    full
        Show intervals, seeds and deciding cases of every claim.
    """
    from inweights import laboratory
    from inweights.cli import console
    from inweights.config import load_toml
    from inweights.lab.grammar.plugins import load_plugins
    from inweights.lab.grammar.recipe import parse_seeds

    load_plugins(plugin)
    changes = [*(console.flat(load_toml(config)) if config else ()), *set]
    chosen = parse_seeds(seeds) if seeds is not None else None
    if dry_run:
        with console.progress() as progress:
            forecast = laboratory.forecast(
                recipe, scale, seeds=chosen, overrides=changes, runs=runs, store=store,
                device=device, jobs=jobs or console.cores(device, scale),
                keep_models=keep_models, progress=progress,
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
    """Show the effect of identities on two-hop reasoning, in about a minute.

    Parameters
    ----------
    fresh
        Discard an earlier run.
    """
    return run("demo/two-hop", runs=runs, fresh=fresh, json=json, plugin=plugin)
