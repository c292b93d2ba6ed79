"""Define what the commands share: the application, common options, and groups of options.

A command takes a group of options as one argument, and the command line flattens it.
The help text of an option is given with its type, or in the docstring of the group or
of the command, as ``group.option``. Annotations here must not be strings, since
cyclopts would look up their names in the module of the class that inherits them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, dataclass_transform

from cyclopts import App, Parameter, Token

if TYPE_CHECKING:
    from inweights.experiments.engine.outcome import Outcome


T = TypeVar("T")


def _whole(_kind: type, tokens: Sequence[Token]) -> int:
    """Parse a whole number; 1.5 is an error and is not rounded."""
    try:
        return int(tokens[0].value)
    except ValueError:
        raise ValueError(f"expected a whole number, got '{tokens[0].value}'") from None


def _version() -> str:
    import inweights

    return inweights.__version__


def _make_app() -> App:
    """Return the application without any commands."""
    made = App(
        name="inweights",
        version=_version,
        # An interruption is reported by the program, which says how to continue.
        suppress_keyboard_interrupt=False,
    )
    made.register_install_completion_command()
    return made


app = _make_app()

#: A switch, which is off by default.
Flag = Annotated[bool, Parameter(negative=())]
#: A whole number.
Whole = Annotated[int, Parameter(converter=_whole)]
# Help texts of options that several commands share. The help texts of all other options
# are in docstrings.
_PLUGIN = "A Python module or file to load first (a plugin); may be repeated."
_DRY = "Only print a cost estimate: runs, steps, minutes, memory, and what is already stored."
_HUB = "Allow downloads from the hub; otherwise only local files are read."
_TOOL = (
    "Also record the runs in wandb, trackio, mlflow or tensorboard, on this machine."
)
_PER = (
    "What the tracker records as one run: run (a trial with a seed), trial, or sweep."
)
_ON = "ray, or the address ray://HOST:PORT of a Ray cluster; by default this machine."
Json = Annotated[Flag, Parameter(help="Print JSON instead of text.")]
Device = Annotated[str, Parameter(help="cpu or cuda.")]
Download = Annotated[Flag, Parameter(help=_HUB)]
DryRun = Annotated[Flag, Parameter(help=_DRY)]
Fresh = Flag
KeepModels = Annotated[Flag, Parameter(help="Also store the trained weights.")]
On = Annotated[str, Parameter(help=_ON)]
Overrides = Annotated[tuple[str, ...], Parameter(name="--set", negative=())]
Place = Annotated[str, Parameter(name="--store")]
Plugins = Annotated[
    tuple[str, ...], Parameter(name="--plugin", negative=(), help=_PLUGIN)
]
Runs = Annotated[
    Path | None, Parameter(help="Folder of all runs; $INWEIGHTS_RUNS, or ./runs.")
]
Seeds = Annotated[
    str | None, Parameter(help="Number of seeds, or the seeds: 8, 900..907 or 7,8,9.")
]
Tool = Annotated[str, Parameter(help=_TOOL)]
Per = Annotated[str, Parameter(help=_PER)]
Strict = Annotated[Flag, Parameter(help="Exit code 1 if a claim did not reproduce.")]


def choices(
    seeds: str | None, changes: Iterable[str], plugins: Iterable[str] = ()
) -> list[str]:
    """Return the command-line arguments that repeat the given choices.

    Args:
        seeds: Value of ``--seeds``, or ``None`` if it was not given.
        changes: Values of ``--set``, each ``key=value``.
        plugins: Values of ``--plugin``; empty by default.

    Returns:
        The arguments as a list, such as ``["--seeds", "8", "--set", "n=10"]``; empty if
        nothing was given.
    """
    words = ["--seeds", seeds] if seeds else []
    for change in changes:
        words += ["--set", change]
    for module in plugins:
        words += ["--plugin", module]
    return words


def trackers(tool: str, folder: str = "trackers", **options: Any) -> list[Any]:
    """Create the tracker of a given name, as a list of observers.

    Args:
        tool: Name of the tracker: ``wandb``, ``trackio``, ``mlflow`` or
            ``tensorboard``; empty for no tracker.
        folder: Folder for its files; by default ``trackers``.
        **options: Other arguments of :class:`inweights.training.Tracker`.

    Returns:
        A list that contains the tracker. It is empty if ``tool`` is empty.

    Raises:
        ConfigError: The tracker is unknown, its package is not installed, or a value of
            ``options`` is invalid.
    """
    if not tool:
        return []
    from inweights.training import Tracker

    return [Tracker(tool, folder=folder, **options)]


@dataclass_transform(frozen_default=True, kw_only_default=True)
def options(group: type[T]) -> type[T]:
    """Convert a class to a frozen dataclass whose fields become command-line options.

    Args:
        group: The class, whose annotated attributes are the options. An attribute
            without a default is a required option.

    Returns:
        The dataclass. A command takes an instance of it as one argument.
    """
    return Parameter(name="*")(dataclass(frozen=True, kw_only=True)(group))


@options
class Common:
    """Options that almost every command has.

    Attributes:
        json: If true, print JSON instead of text.
        plugin: Names or paths of Python modules to import first.
    """

    json: Json = False
    plugin: Plugins = ()


@options
class Verdicts(Common):
    """Options that define how claims are shown, and how they affect the exit code.

    Attributes:
        full: If true, also show intervals, seeds and the cases that determine verdicts.
        strict: If true, the exit code is 1 if a claim was not reproduced.
    """

    full: Flag = False
    strict: Strict = False


@options
class Changes:
    """Options that define what is built: changed settings and a root seed.

    Attributes:
        set: Changes of settings, each in the form ``key=value``.
        seed: Root seed.
    """

    set: Overrides = ()
    seed: Whole = 0


@options
class Choice:
    """Options that define what is run: seeds and changed settings.

    Attributes:
        seeds: A text with the number of seeds (``8``) or the seeds themselves
            (``900..907`` or ``7,8,9``). If it is ``None`` (the default), the recipe's
            seeds are used.
        set: Changes of settings, each in the form ``key=value``.
    """

    seeds: Seeds = None
    set: Overrides = ()

    @property
    def numbers(self) -> int | tuple[int, ...] | None:
        """Value of ``--seeds``: the number of seeds as an integer, or the seeds as a tuple.

        The value is ``None`` if the option was not given.

        Raises:
            ConfigError: The text is neither a number nor a range nor a list of seeds,
                or it is a range that decreases or has more than 100,000 seeds.
        """
        from inweights.experiments.grammar.seed_choice import parse_seeds

        return parse_seeds(self.seeds) if self.seeds is not None else None


@options
class RunOptions:
    """Options that define where a run is stored, and how many processes compute it.

    Attributes:
        runs: Folder of all runs. By default (``None``), it is ``$INWEIGHTS_RUNS``, or
            ``./runs`` if this variable is not set.
        jobs: Number of parallel processes; 0 for one per core.
        fresh: If true, discard an earlier run with the same config.
    """

    runs: Runs = None
    jobs: Whole = 0
    fresh: Fresh = False


@options
class Doing(RunOptions):
    """Options that define where and how a run is computed.

    Attributes:
        device: Torch device of the models: ``cpu`` or ``cuda``.
        store: Folder or address in which the tables of individual runs are stored. If
            it is empty (the default), a subfolder of the folder of all runs is used.
        on: ``ray``, the address ``ray://HOST:PORT`` of a Ray cluster, or empty (the
            default) for this machine.
        keep_models: If true, store the trained weights.
        dry_run: If true, only print a cost estimate, without running anything.
        tracker: Name of a tracker that also records the runs: ``wandb``, ``trackio``,
            ``mlflow`` or ``tensorboard``; empty (the default) for none.
        tracker_per: Unit that the tracker records as one run: ``run`` (one seed of a
            trial), ``trial`` (all its seeds) or ``sweep`` (all trials).
    """

    device: Device = "cpu"
    store: Place = ""
    on: On = ""
    keep_models: KeepModels = False
    dry_run: DryRun = False
    tracker: Tool = ""
    tracker_per: Per = "run"


@options
class Finished:
    """Options that select a finished run.

    Attributes:
        scale: Scale of the run, if a recipe is named: ``smoke``, ``cpu`` or ``paper``.
        runs: Folder of all runs. By default (``None``), it is ``$INWEIGHTS_RUNS``, or
            ``./runs`` if this variable is not set.
    """

    scale: str = "cpu"
    runs: Runs = None

    def open(self, name: str, *, again: bool = False) -> "Outcome":
        """Load a finished run, selected by name.

        Args:
            name: Name of a recipe, folder of a run, first characters of a run's hash,
                or ``last`` for the newest run.
            again: If true, recompute the verdicts and figures with this version of the
                library, without training; by default false.

        Returns:
            The run, with tables, figures and judged claims.

        Raises:
            ConfigError: There is no such run or more than one, it is not finished, its
                recipe belongs to a plugin that is not loaded, or its settings are
                invalid for the recipe.
            DataError: The ledger of the stored results is damaged, or a file named in
                the settings cannot be read; or with ``again``, a table lacks a column
                from which another one is derived.
            RunError: The run is damaged, or the folder of runs cannot be read (a
                ``FolderError``); or with ``again``, a file cannot be written (a
                ``WriteError``).
        """
        from inweights import actions

        return actions.open_run(name, self.scale, runs=self.runs, again=again)
