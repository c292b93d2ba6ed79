"""Commands for several machines: write a plan, work on its tasks, show its progress."""

from inweights import actions
from inweights.cli import console
from inweights.cli.commands import base
from inweights.config import check_size
from inweights.support.plugins import load_plugins


@base.app.command
def plan(
    recipe: str,
    /,
    *,
    out: str,
    scale: str = "cpu",
    choice: base.Choice = base.Choice(),
    store: base.Place = "",
    common: base.Common = base.Common(),
) -> None:
    """Write the tasks of a recipe to a plan, for 'inweights work' on any number of machines.

    Args:
        recipe: Name of the recipe, as in 'inweights list'.
        out: Folder shared by all machines, or an address such as s3://bucket/folder.
        scale: smoke, cpu or paper.
        choice: Options --seeds and --set.
        choice.set: Change a setting, as in --set gpt.model.width=128; may be repeated.
        store: Folder or address of the results; by default a folder in the plan.
        common: Options --json and --plugin.

    Raises:
        ConfigError: A name, a scale or a setting is invalid, the place already contains
            a plan, an address is not valid, or a task names an object that workers
            cannot import.
        DataError: The ledger of claims is damaged, or a file named in the settings
            cannot be read.
        RunError: The plan cannot be written, or the folder of its store is a symbolic
            link.
    """
    from inweights.actions.plans import write_plan

    chosen = actions.recipe_for(recipe, scale, choice.numbers, choice.set)
    changes = chosen.changes(scale, choice.set)
    settings, roots, _ = chosen.resolve(scale, choice.numbers, changes)
    made = chosen.plan(settings)
    # Checked here, because otherwise each worker would raise the error.
    made.check()
    words = ["inweights", "run", recipe, "--scale", scale]
    words += base.choices(choice.seeds, changes, common.plugin)
    words += ["--store", store or f"{out.rstrip('/')}/store"]
    planned = write_plan(
        made,
        roots,
        out,
        version=chosen.version,
        store=store,
        plugins=common.plugin,
        collect=words,
    )
    console.results.status(planned, planned.status(), json=common.json)


@base.options
class Working:
    """Options of a worker, a process that runs tasks of a plan.

    Attributes:
        jobs: Number of parallel processes; 0 for one per core.
        device: Torch device of the models: ``cpu`` or ``cuda``.
        lease: Seconds, at least 1, after which the task of a worker that does not
            respond is taken over.
        tracker: Name of a tracker that also records the runs: ``wandb``, ``trackio``,
            ``mlflow`` or ``tensorboard``; empty (the default) for none.
    """

    jobs: int = 1
    device: base.Device = "cpu"
    lease: float = 60.0
    tracker: base.Tool = ""


@base.app.command
def work(
    plan: str,
    /,
    *,
    how: Working = Working(),
    retry: base.Flag = False,
    json: base.Json = False,
) -> int:
    """Run tasks of a plan, along with any number of other workers, until none is left.

    The exit code is 1 if a task of the plan has failed, on this or another worker.

    Args:
        plan: Folder or address of the plan.
        how: Options of the worker, such as --jobs and --lease.
        how.jobs: Number of parallel processes; 0 means one per core.
        how.lease: Seconds after which the task of an unresponsive worker is taken over;
            the same for all workers.
        retry: Try failed tasks again.
        json: Print JSON instead of text.

    Returns:
        The exit code: 1 if a task of the plan has failed, now or earlier and on any
        worker, otherwise 0.

    Raises:
        ConfigError: An option is invalid, the plan was written with a different version
            of the library, its address is not valid, or a plugin or an object that it
            names cannot be loaded.
        FolderError: There is no plan, or it is damaged.
        WriteError: Results cannot be stored.
        OSError: With ``--retry``, the record of a failure cannot be removed.
    """
    from inweights.actions.plans import work as do
    from inweights.actions.plans.files import Planned
    from inweights.experiments.engine.execution import ExecutionOptions

    check_size("lease", how.lease, least=1)
    planned = Planned(plan, how.lease)
    load_plugins(planned.about.plugins)
    if retry:
        planned.forgive()
    with console.progress() as progress:
        execution = ExecutionOptions(
            device=how.device,
            jobs=how.jobs or console.cores(how.device, "cpu"),
            progress=progress,
            observers=tuple(base.trackers(how.tracker)),
        )
        done = do(planned, execution)
    console.results.status(planned, done, json=json)
    return int(done.failed > 0)


@base.app.command
def status(plan: str, /, *, json: base.Json = False) -> None:
    """Show the progress of a plan, read from its files.

    Args:
        plan: Folder or address of the plan.
        json: Print JSON instead of text.

    Raises:
        FolderError: There is no plan, or it is damaged.
        ConfigError: The address is not valid, or its optional package is not installed.
        WriteError: An object store denies access or does not respond.
    """
    from inweights.actions.plans.files import Planned

    planned = Planned(plan)
    console.results.status(planned, planned.status(), json=json)
