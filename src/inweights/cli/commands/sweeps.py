"""The command for users' studies."""

from pathlib import Path

from inweights.cli import console
from inweights.cli.commands.base import Choice, Common, Doing, Strict, app, choices
from inweights.cli.commands.experiments import outcome_of
from inweights.cli.commands.results import code_of


@app.command
def sweep(
    file: Path,
    /,
    *,
    choice: Choice = Choice(),
    doing: Doing = Doing(),
    strict: Strict = False,
    common: Common = Common(),
) -> int:
    """Run the study described by a TOML file: a world, model and learner, varied; writes a page.

    Args:
        file: A TOML file with [world], [model], [learner] and [over]; docs/sweep.md has an example.
        choice.set: Change a setting, as in --set model.width=128 or --set over.world.n=[5,10]; may
            be repeated.
        doing.store: Folder or address of the tables of single runs; by default in the folder of all
            runs.
        doing.jobs: Number of parallel processes; 0 means one per core if there is enough work.
        doing.fresh: Discard an earlier run of the same study.
    """
    from inweights.lab.studies.study import open_study
    from inweights.lab.studies.sweep import worth

    common.load()
    recipe = open_study(file)
    settings, numbers, _ = recipe.resolve("cpu", choice.numbers, choice.set)
    jobs = doing.jobs or worth(recipe.plan(settings), len(numbers), doing.device)
    words = ["sweep", str(file), *choices(choice.seeds, choice.set, common.plugin)]
    outcome = outcome_of(
        recipe, "cpu", doing, common, jobs=jobs, command=words, seeds=numbers, overrides=choice.set
    )
    if outcome is None:
        return 0
    console.outcome(outcome, json=common.json)
    return code_of(outcome.claims, strict)
