"""The command for users' studies."""

from __future__ import annotations

from pathlib import Path

from inweights.cli.commands.base import (
    Device,
    DryRun,
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
    choices,
)
from inweights.cli.commands.results import code_of

__all__ = ["sweep"]


@app.command
def sweep(
    file: Path,
    /,
    *,
    seeds: Seeds = None,
    set: Overrides = (),  # noqa: A002
    runs: Runs = None,
    store: Place = "",
    on: On = "",
    device: Device = "cpu",
    jobs: Whole = 0,
    dry_run: DryRun = False,
    keep_models: KeepModels = False,
    fresh: Fresh = False,
    json: Json = False,
    strict: Strict = False,
    plugin: Plugins = (),
) -> int:
    """Run the study described by a TOML file: a world, model and learner, varied; writes a page.

    Parameters
    ----------
    file
        A TOML file with [world], [model], [learner] and [over]; docs/sweep.md has an example.
    set
        Change a setting, as in --set model.width=128 or --set over.world.n=[5,10]; may be repeated.
    store
        Folder or address of the tables of single runs; by default in the folder of all runs.
    jobs
        Number of parallel processes; 0 means one per core if there is enough work.
    fresh
        Discard an earlier run of the same study.
    """
    from inweights import laboratory
    from inweights.cli import console
    from inweights.lab.grammar.plugins import load_plugins
    from inweights.lab.grammar.recipe import parse_seeds
    from inweights.lab.studies.study import open_study
    from inweights.lab.studies.sweep import worth

    load_plugins(plugin)
    recipe = open_study(file)
    chosen = parse_seeds(seeds) if seeds else None
    settings, numbers, _ = recipe.resolve("cpu", chosen, set)
    plan = recipe.plan(settings)
    jobs = jobs or worth(plan, len(numbers), device)
    if dry_run:
        with console.progress() as progress:
            ahead = laboratory.forecast(
                recipe, seeds=numbers, overrides=set, runs=runs, store=store, device=device,
                jobs=jobs, keep_models=keep_models, progress=progress,
            )  # fmt: skip
        console.ahead(ahead, json=json)
        return 0
    with console.progress() as progress:
        outcome = laboratory.run(
            recipe,
            seeds=numbers,
            overrides=set,
            runs=runs,
            store=store,
            on=on,
            device=device,
            jobs=jobs,
            plugins=plugin,
            fresh=fresh,
            progress=progress,
            command=["sweep", str(file), *choices(seeds, set, plugin)],
            keep_models=keep_models,
        )
    console.outcome(outcome, json=json)
    return code_of(outcome.claims, strict)
