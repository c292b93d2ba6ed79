"""Define the first commands: ``doctor``, ``examples``, ``new`` and ``ask``."""

from pathlib import Path

from inweights import actions, lm, models, worlds
from inweights.cli import console
from inweights.cli.commands import base


@base.app.command
def doctor(*, runs: base.Runs = None, json: base.Json = False) -> int:
    """Show installed packages, the folder of runs, and the packages that each feature requires.

    The exit code is 1 if there is a problem, such as a folder of runs that is not
    writable; otherwise 0.

    Args:
        runs: Folder of all runs; by default $INWEIGHTS_RUNS, or ./runs if it is not
            set.
        json: Print JSON instead of text.

    Returns:
        The exit code, 0 or 1.

    Raises:
        ConfigError: The environment variable ``INWEIGHTS_MAX_MEMORY`` is not a size.
    """
    found = actions.doctor(runs)
    console.first.doctor(found, json=json)
    return 1 if any(finding.fine is False for finding in found) else 0


@base.app.command
def examples(folder: Path = Path("examples"), /, *, json: base.Json = False) -> None:
    """Write sample files: facts.csv, edges.csv and study.toml.

    Args:
        folder: Folder to write. It is an error if one of the files already exists.
        json: Print JSON instead of text.

    Raises:
        ConfigError: One of the files already exists.
        WriteError: The folder cannot be written.
    """
    console.results.exported(actions.examples(folder), json=json)


@base.app.command
def new(
    kind: str, name: str, /, *, out: Path = Path(), json: base.Json = False
) -> None:
    """Write a working recipe, world, probe or study of your own, with its test.

    Args:
        kind: recipe, world, probe or study.
        name: Name of the new item, in lower-case letters, digits and hyphens, as in
            my-town.
        out: Folder to write.
        json: Print JSON instead of text.

    Raises:
        ConfigError: The kind is unknown, the name is not valid, or a file already
            exists.
        WriteError: The folder cannot be written.
    """
    console.results.exported(actions.new(kind, name, out), json=json)


@base.app.command
def ask(
    model: str,
    world: str,
    question: str,
    /,
    *,
    download: base.Download = False,
    changes: base.Changes = base.Changes(),
    common: base.Common = base.Common(),
) -> None:
    """Ask a stored model one question, and print the best answers of each replica.

    Args:
        model: A file that iw.save_model wrote; or a language model, as for finetune.
        world: The world on which the model was trained: a kind of world, a file of
            facts, or a folder with a world.
        question: Names of tokens separated by spaces, as in "a1 r1 r2".
        changes: Options --set and --seed.
        changes.set: Change a setting of the world, as in --set n=10; may be repeated.
        changes.seed: Root seed of the world.
        download: Allow downloads from the hub; otherwise only local files are read.
        common: Options --json and --plugin.

    Raises:
        ConfigError: The world or a setting is invalid, the question is empty or too
            long, or a package or plugin is missing.
        DataError: The model or the world cannot be read, or a word of the question is
            not a token of the world.
    """
    made = worlds.open_world(world, changes.set, changes.seed)
    stored = Path(model).suffix == ".safetensors"
    read = (
        models.load_model(model) if stored else lm.load_model(model, download=download)
    )
    console.first.answers(actions.ask(read, made, question), json=common.json)
