"""Trackers: a :class:`Tracker` sends losses, measurements and files to an experiment tracker.

A :class:`Tracker` is an :class:`~inweights.training.Observer` for Weights & Biases,
trackio, MLflow and TensorBoard. The API calls of these tools are in ``tools.py``.
:func:`points` turns a measured table into curves.
"""

import json
import logging
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl

from inweights.errors import ConfigError, check_names
from inweights.support.border import guarded
from inweights.training.observers import Observer, Step
from inweights.training.trackers.base import Tool, module_of
from inweights.training.trackers.tools import TOOLS

__all__ = ["MAX_CURVES", "Tracker", "points"]

#: Maximum number of curves of one table; a larger table is only stored as a file.
MAX_CURVES = 200
#: Values of the argument ``per``: what is one run of the tracker.
_PER = ("run", "trial", "sweep")
_LOG = logging.getLogger("inweights.trackers")


class Tracker(Observer):
    """Observer that sends losses, measurements and files to an experiment tracker.

    By default, everything is stored locally.

    A single call of :func:`inweights.train` is one run of the tracker. A sweep or a
    recipe is a group of runs: one run for each trial and seed (see ``per``), with its
    settings and the curves of its measures, and one more run with all settings, tables
    and figures as files. A run appears as soon as its results are stored, even if
    another process trained it. Weights & Biases is offline unless ``WANDB_MODE`` is set
    otherwise, MLflow writes below ``folder`` unless ``MLFLOW_TRACKING_URI`` is set, and
    trackio writes to ``TRACKIO_DIR`` unless ``TRACKIO_SPACE_ID`` is set.

    Args:
        tool: ``wandb``, ``trackio``, ``mlflow`` or ``tensorboard``.
        per: Unit that becomes one run of the tracker: ``run`` (a trial with one seed; the
            default), ``trial`` (with all of its seeds), or ``sweep``.
        project: Name of the tracker's project.
        name: Name of the tracked work. By default (empty), it is the name of the sweep
            or recipe, or ``training`` for a single call of :func:`inweights.train`.
        folder: Folder for local files, which is created when the work starts.
            TensorBoard and MLflow write there, and so does Weights & Biases while it is
            offline.
        every: Number of steps between two records of the loss in training, at least 1.

    Raises:
        ConfigError: The tracker is unknown, its package is not installed, ``per`` has
            an unknown value, or ``every`` is below 1.

    Example:
        >>> Tracker("wandbb")
        Traceback (most recent call last):
        ...
        inweights.errors.ConfigError: unknown tracker 'wandbb'; did you mean 'wandb'? ...
    """

    @guarded
    def __init__(
        self,
        tool: str,
        *,
        per: str = "run",
        project: str = "inweights",
        name: str = "",
        folder: str | Path = "trackers",
        every: int = 20,
    ) -> None:
        """Store the options that :class:`Tracker` explains; no run of the tracker is opened.

        The ``tool`` is ``wandb``, ``trackio``, ``mlflow`` or ``tensorboard``. It gets
        one run for each unit ``per``, and the loss is recorded once in ``every`` steps.

        Raises:
            ConfigError: The tracker is unknown, its package is not installed, ``per``
                is not ``run``, ``trial`` or ``sweep``, or ``every`` is below 1.
        """
        super().__init__(name=name, every=every)
        check_names("unit of a tracker", [per], _PER)
        if every < 1:
            raise ConfigError(f"tracker.every must be at least 1, got {every}")
        module_of(tool)
        self._tool = tool
        self._per = per
        self._project = project
        self._folder = Path(folder)
        self._open: dict[str, Tool] = {}
        self._settings: Mapping[str, Any] = {}

    def started(self, settings: Mapping[str, Any]) -> None:
        """Open the tracker's run for the whole work, and send the settings of the work.

        Errors of the tracker's package propagate.

        Args:
            settings: Settings of the work as plain values, as in
                :meth:`Observer.started`.

        Raises:
            OSError: The folder cannot be created or written.
        """
        self._settings = settings
        self._open = {}
        # The run of the whole work is opened even if nothing will be recorded in it.
        self._run({})

    def step(self, seen: Step) -> None:
        """Record the losses of an update.

        The loss is recorded under the name ``loss``, or for several replicas as
        ``loss/0``, ``loss/1`` and so on. Errors of the tracker's package propagate.

        Args:
            seen: Data of the update. Its ``numbers`` are also recorded. If it contains
                no losses, nothing is recorded.
        """
        losses = list(map(float, seen.losses))
        if not losses:
            return  # a step of a whole sweep has no loss
        numbers = {f"loss/{i}": loss for i, loss in enumerate(losses)}
        if len(losses) == 1:
            numbers = {"loss": losses[0]}
        self._run({}).log(seen.step, {**numbers, **seen.numbers})

    def measured(self, name: str, table: pl.DataFrame) -> None:
        """Record the curves of a measured table, as returned by :func:`points`.

        In a sweep or recipe, the argument ``per`` of the tracker determines the
        tracker's run in which they are recorded: the run for the table's labels and
        seed (``run``), the run for its labels (``trial``), or one run for the entire
        sweep or recipe (``sweep``). Nothing is recorded for a table with more than 200 curves.
        Errors of the tracker's package propagate.

        Args:
            name: Name of the measure.
            table: The measured table, as in :meth:`Observer.measured`.
        """
        labels = [*self._settings.get("labels", ())]
        keys = {"run": [*labels, "seed"], "trial": labels, "sweep": []}[self._per]
        # A single training run has no labels, and is one run of the tracker.
        if "labels" not in self._settings:
            keys = []
        keys = [key for key in keys if key in table.columns]
        parts = table.group_by(keys, maintain_order=True) if keys else [((), table)]
        for values, rows in parts:
            run = self._run(dict(zip(keys, values, strict=True)))
            for step, numbers in points(name, rows.drop(keys)):
                run.log(step, numbers)

    def finished(self, tables: Mapping[str, pl.DataFrame]) -> None:
        """Store all settings, tables and figures as files, and close all runs.

        The files belong to the tracker's run for the whole work. Errors of the
        tracker's package propagate.

        Args:
            tables: Mapping from the name of each table of the work to the table.

        Raises:
            OSError: A file cannot be read or written.
        """
        with TemporaryDirectory() as place:
            self._run({}).files(_files(self._settings, tables, Path(place)))
        self._close(failed=False)

    def failed(self, error: BaseException) -> None:
        """Close all runs of the tracker as failed (trackio and TensorBoard do not record this).

        Errors of the tracker's package propagate.

        Args:
            error: The error that ended the work; it is not sent to the tracker.
        """
        del error
        self._close(failed=True)

    def _run(self, key: Mapping[str, Any]) -> Tool:
        """Return the run for labels (none for the whole work), opened if needed."""
        name = ", ".join(f"{label}={value}" for label, value in key.items())
        if name not in self._open:
            whole = self.name or str(self._settings.get("name", "training"))
            config = dict(self._settings)
            trials = config.pop("trials", ())
            if key:
                config = {**_first_with(key, trials), **key}
            self._open[name] = TOOLS[self._tool](
                self._project, whole, name or whole, config, self._folder
            )
        return self._open[name]

    def _close(self, *, failed: bool) -> None:
        for run in self._open.values():
            run.end(failed=failed)
        self._open = {}


def points(
    name: str, table: pl.DataFrame
) -> Iterator[tuple[int | None, dict[str, float]]]:
    """Yield the steps of a measured table, each with the values of its curves.

    Each column of floats becomes one curve for each combination of values in ``seed``,
    ``replica`` and the columns of strings and booleans. Other columns of integers are
    left out. The names of curves have the form ``name/value/column``.

    Args:
        name: Name of the table, with which the names of curves begin.
        table: The table, with a column ``step``. Without this column, the table is a
            single point whose step is ``None``.

    Yields:
        Pairs of a step and a dictionary that maps the name of each curve to its value
        at this step, in the order of the table. If several rows belong to the same
        point of a curve, the last one is used. Null values are left out. If the table
        has more than ``MAX_CURVES`` (200) curves, nothing is yielded.

    Example:
        >>> table = pl.DataFrame({"replica": [0, 1], "step": [5, 5], "loss": [0.5, 0.25]})
        >>> list(points("fit", table))
        [(5, {'fit/0/loss': 0.5, 'fit/1/loss': 0.25})]
    """
    numbers = [c for c, kind in table.schema.items() if kind.is_float()]
    words = []
    for column, kind in table.schema.items():
        is_label = column in ("seed", "replica")
        if is_label or kind in (pl.String, pl.Boolean):
            words.append(column)
    curves = table.select(words).n_unique() * len(numbers) if words else len(numbers)
    if curves > MAX_CURVES:
        _LOG.info("%s would have %d curves and is stored only as a file", name, curves)
        return
    found: dict[int | None, dict[str, float]] = defaultdict(dict)
    for row in table.iter_rows(named=True):
        place = "/".join([name, *(str(row[column]) for column in words)])
        known = {f"{place}/{c}": float(row[c]) for c in numbers if row[c] is not None}
        found[row.get("step")] |= known
    yield from found.items()


def _first_with(
    key: Mapping[str, Any], trials: Sequence[Mapping[str, Any]]
) -> Mapping[str, Any]:
    """Return the first trial whose labels agree with ``key``, or an empty mapping."""
    for trial in trials:
        if all(trial.get(label, value) == value for label, value in key.items()):
            return trial
    return {}


def _files(
    settings: Mapping[str, Any], tables: Mapping[str, pl.DataFrame], place: Path
) -> Sequence[Path]:
    """Write settings and tables to a folder; return these files and those of a recipe."""
    (place / "settings.json").write_text(
        json.dumps(settings, indent=1, default=str), "utf-8"
    )
    for name, table in tables.items():
        table.write_parquet(place / f"{name}.parquet")
    folder = Path(settings["folder"]) if "folder" in settings else None
    written = sorted(place.iterdir())
    if folder is None:
        return written
    drawn = [*folder.glob("figures/*"), folder / "page.html"]
    return written + [file for file in drawn if file.is_file()]
