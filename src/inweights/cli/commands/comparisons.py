"""Define the commands ``compare-training`` (ways of teaching facts) and ``league`` (models)."""

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from inweights import actions
from inweights.cli import console
from inweights.cli.commands import base, layouts
from inweights.config import to_plain
from inweights.errors import ConfigError, unknown_name
from inweights.support.plugins import load_plugins, module_of

if TYPE_CHECKING:
    from inweights.actions.training import TrainingSettings


@base.options
class Compared:
    """Options that select the model and the ways of teaching to compare.

    Attributes:
        model: A folder, a GGUF file, a hub name, or @smollm2.
        way: Way of teaching; may be repeated; by default all. With untrained, the model
            is not given the facts; with retrieval, relevant facts precede the question.
            The other ways fine-tune the model: facts (on statements of the facts),
            entities (also on texts about entities and pairs of entities) and mixture
            (also on the texts that 'augment' recommends).
        tokens: Number of tokens in one pass, the same for each way; 0 means the number
            of tokens in one pass over the mixture.
        questions: Maximum number of questions of each kind.
        wording: A TOML file with [statements], [phrases], [kinds.NAME] and [aliases].
        download: Allow downloads from the hub.
        dry_run: Only print the cost.
    """

    model: str
    way: Annotated[tuple[str, ...], Parameter(negative=())] = ()
    tokens: base.Whole = 0
    questions: base.Whole = 40
    wording: Path | None = None
    download: base.Download = False
    dry_run: base.DryRun = False


@base.app.command
def compare_training(
    facts: str,
    /,
    *,
    compared: Compared,
    layout: layouts.FactLayout = layouts.FactLayout(),
    choice: base.Choice = base.Choice(),
    how: base.RunOptions = base.RunOptions(),
    json: base.Json = False,
) -> int:
    """Compare ways of teaching facts to a language model: three kinds of training, and retrieval.

    All ways of training use the same number of tokens. All models, including the
    untrained one, answer the same questions. The cost is printed before anything is
    trained. If the command is interrupted, run it again to continue.

    Args:
        facts: A file of facts, as for 'inweights audit', or @people or @chemistry.
        compared: Options that select the model and the ways, such as --model and --way.
        layout: Options that define how the file of facts is read, such as --header.
        choice: Options --seeds and --set.
        choice.seeds: Number of seeds, or the seeds; 3 by default.
        choice.set: Change a setting, as in --set tuning.epochs=20 or --set retrieved=4;
            may be repeated.
        how: Options of the run: --runs, --jobs and --fresh.
        how.jobs: Number of parallel processes; 1 by default.
        how.fresh: Discard an earlier run of the same settings.
        json: Print JSON instead of text.

    Returns:
        The exit code, 0.

    Raises:
        ConfigError: An option is invalid, or a package is not installed.
        DataError: The facts or the model cannot be read.
        RunError: A training run failed, or the folder of the run is damaged.
    """
    from inweights.actions.training import TrainingSettings, sizes, training_recipe
    from inweights.config.outside import Outside
    from inweights.runs import RunStore

    given = TrainingSettings(
        facts=Outside(name=facts), model=Outside(name=compared.model)
    )
    changes = [*_changes(given, compared, layout, facts), *choice.set]
    # The name becomes part of a folder's name, so all other characters are replaced.
    name = re.sub(r"[^\w-]+", "-", Path(facts).stem).strip("-") or "facts"
    recipe = training_recipe(f"training/{name}", given)
    settings, seeds, config = recipe.resolve("cpu", choice.numbers, changes)
    done = RunStore(how.runs).folder(recipe.name, config).complete
    dry = compared.dry_run
    if dry or not done or how.fresh:
        with console.progress(quiet=json) as progress:
            progress(0, 1, "measuring the cost")
            # Measuring changes the weights, so this model is not the one that is trained.
            model = settings.load(download=compared.download)
            found = sizes(settings, model)
        recipe = training_recipe(recipe.name, given, found)
        if dry or not json:
            console.comparisons.sizes(found, settings, seeds, json=json)
    if dry:
        return 0
    repeated = base.choices(choice.seeds, changes)
    with console.progress(quiet=json) as progress:
        outcome = actions.run(
            recipe,
            "cpu",
            seeds=seeds,
            overrides=changes,
            runs=how.runs,
            fresh=how.fresh,
            jobs=how.jobs or 1,
            progress=progress,
            command=("compare-training", facts, "--model", compared.model, *repeated),
        )
    console.comparisons.ways(outcome, json=json)
    return 0


def _changes(
    given: "TrainingSettings",
    compared: Compared,
    layout: layouts.FactLayout,
    facts: str,
) -> list[str]:
    """Return the settings that options change, as texts ``key=value``."""
    from inweights.actions.training import WAYS

    own = {
        "wording": {"name": str(compared.wording or "")},
        "ways": compared.way or tuple(WAYS),
        "tokens": compared.tokens,
        "questions": compared.questions,
        "header": layout.header_of(facts),
        "columns": layout.columns,
        "wide": layout.wide,
        "labels": {"name": layout.labels},
    }
    usual = to_plain(given)
    # Default values are left out, so that stating one does not change the key of the
    # run.
    changed = {key: value for key, value in own.items() if value != usual[key]}
    return list(console.flat(changed))


@base.options
class Entry:
    """Options for the entry of a user-defined model in the league.

    Attributes:
        name: Name of the model in the table; by default the name of its factory.
        into: Folder in which a subfolder for the entry is written, with its config,
            scores and environment.
        replay: Folder of an entry. Its model is trained again to compare the scores. If
            the model is defined in your own module, give this module with --plugin.
    """

    name: str = ""
    into: Path | None = None
    replay: Path | None = None

    def check(self, model: str) -> None:
        """Raise an error if options contradict each other.

        Args:
            model: Value of the argument ``model`` of :func:`league`; empty if it was
                not given.

        Raises:
            ConfigError: A model or ``--into`` is given with ``--replay``, or the model
                is not given in the form ``module:factory``.
        """
        file, _, factory = model.rpartition(":")
        if model and not (file and factory):
            raise ConfigError(
                f"a model must be given as module:factory, such as mine:make, got '{model}'"
            )
        if self.replay is not None and (model or self.into is not None):
            raise ConfigError(
                "--replay uses the model of the entry; leave out MODEL and --into"
            )


@base.app.command
def league(
    model: str = "",
    /,
    *,
    scale: str = "cpu",
    entry: Entry = Entry(),
    choice: base.Choice = base.Choice(),
    how: base.RunOptions = base.RunOptions(),
    common: base.Common = base.Common(),
) -> int:
    """Evaluate your own model in the league, and print its results next to the stored results.

    Args:
        model: module:factory or file.py:factory of a torch module, as for iw.wrap; its
            code is run. By default only the stored results are printed.
        scale: smoke (a quick test) or cpu (takes minutes).
        entry: Options of the entry: --name, --into and --replay.
        choice: Options --seeds and --set.
        choice.set: Change a setting, as in --set rate=1e-3 or --set
            entrant.options.width=64; may be repeated.
        how: Options of the run: --runs, --jobs and --fresh.
        how.jobs: Number of parallel processes; 0 means one per core.
        how.fresh: Discard an earlier run of the same model.
        common: Options --json and --plugin.

    Returns:
        The exit code: 1 if the scores of ``--replay`` differ from the stored scores,
        otherwise 0.

    Raises:
        ConfigError: The model is not given as ``module:factory``, cannot take part, or
            its module or factory does not exist; or an option is invalid.
        DataError: The folder after ``--replay`` is not an entry of the league, or the
            ledger is damaged.
        RunError: A training run failed, a stored run or entry is damaged, or an entry
            cannot be written.
    """
    from inweights.actions import entries

    entry.check(model)
    file, _, factory = model.rpartition(":")
    # Processes that train import the model's module by its name, as a plugin.
    plugins = [*common.plugin, *([file] if file else [])]
    load_plugins(plugins)
    execution: dict[str, Any] = {**vars(how), "plugins": plugins}
    execution["jobs"] = how.jobs or console.cores("cpu", scale)
    outcome = None
    with console.progress() as progress:
        if entry.replay is not None:
            scores = entries.replay(entry.replay, progress=progress, **execution)
            return console.comparisons.replayed(entry.replay, scores, json=common.json)
        if model:
            words = ["league", model, "--scale", scale]
            words += ["--name", entry.name] if entry.name else []
            words += base.choices(choice.seeds, choice.set, common.plugin)
            outcome = entries.entered(
                _factory(module_of(file), factory),
                name=entry.name,
                scale=scale,
                seeds=choice.numbers,
                overrides=choice.set,
                progress=progress,
                command=words,
                **execution,
            )
    rows = entries.beside(outcome, scale, how.runs)
    written = []
    if outcome is not None and entry.into is not None:
        written = entries.submit(outcome, entry.into)
    console.comparisons.standings(rows, outcome, written, json=common.json)
    return 0


def _factory(module: str, name: str) -> Any:
    """Return the function that makes the model, from a module that is already loaded."""
    known = vars(sys.modules[module])
    if name not in known:
        makers = [one for one, made in known.items() if callable(made)]
        raise unknown_name(f"factory in {module}", name, makers)
    return known[name]
