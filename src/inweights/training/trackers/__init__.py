"""Watching with Weights & Biases, trackio, MLflow or TensorBoard: one observer for all of them."""

import json
import logging
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl

from inweights.errors import ConfigError, check_names
from inweights.training.observers import Observer, Step
from inweights.training.trackers.tools import TOOLS, Tool, module_of

__all__ = ["MOST_CURVES", "Tracker", "points"]

#: Curves that one table gives at most; a larger table is among the files alone.
MOST_CURVES = 200
_PER = ("run", "trial", "sweep")
_LOG = logging.getLogger("inweights.trackers")


class Tracker(Observer):
    """Passes what happens on to a tracker. Nothing leaves this machine unless the tracker is told.

    What is trained alone is one run of the tracker. A sweep or a recipe is a group: each of its
    trials and seeds is a run with its settings and the curves of its measures, as soon as it is
    stored, whoever trained it; the whole is one more, with all settings, tables and figures as
    files. Local by default: Weights & Biases is offline unless ``WANDB_MODE`` says otherwise,
    MLflow writes below ``folder`` unless ``MLFLOW_TRACKING_URI`` is set, trackio where
    ``TRACKIO_DIR`` says unless ``TRACKIO_SPACE_ID`` is set.

    Args:
        tool: ``wandb``, ``trackio``, ``mlflow`` or ``tensorboard``.
        per: What is a run of the tracker: each ``run`` (a trial with one seed), each ``trial``
            with all of its seeds, or the whole ``sweep``.
        project: Name of the tracker's project.
        name: Name of what is watched, instead of its own.
        folder: Where files go.
        every: Steps between two records of the loss of a training.

    Raises:
        ConfigError: There is no such tracker, or its package is not installed.

    Example:
        >>> Tracker("wandbb")
        Traceback (most recent call last):
        ...
        inweights.errors.ConfigError: unknown tracker 'wandbb'; did you mean 'wandb'? ...
    """

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
        super().__init__(name=name, every=every)
        check_names("unit of a tracker", [per], _PER)
        if every < 1:
            raise ConfigError(f"tracker.every must be at least 1, got {every}")
        module_of(tool)
        self._tool, self._per, self._project = tool, per, project
        self._folder, self._open = Path(folder), dict[str, Tool]()
        self._settings: Mapping[str, Any] = {}

    def started(self, settings: Mapping[str, Any]) -> None:
        self._settings, self._open = settings, {}
        self._run({})  # that of the whole, also where nothing is stored of it

    def step(self, seen: Step) -> None:
        losses = [float(loss) for loss in seen.losses]  # a sweep has none
        if losses:
            names = ["loss"] if len(losses) == 1 else [f"loss/{i}" for i in range(len(losses))]
            self._run({}).log(seen.step, {**dict(zip(names, losses, strict=True)), **seen.numbers})

    def measured(self, name: str, table: pl.DataFrame) -> None:
        labels = [*self._settings.get("labels", ())]
        keys = {"run": [*labels, "seed"], "trial": labels, "sweep": []}[self._per]
        keys = [key for key in keys if key in table.columns] if "labels" in self._settings else []
        parts = table.group_by(keys, maintain_order=True) if keys else [((), table)]
        for values, rows in parts:
            run = self._run(dict(zip(keys, values, strict=True)))
            for step, numbers in points(name, rows.drop(keys)):
                run.log(step, numbers)

    def finished(self, tables: Mapping[str, pl.DataFrame]) -> None:
        with TemporaryDirectory() as place:
            self._run({}).files(_files(self._settings, tables, Path(place)))
        self._close(failed=False)

    def failed(self, error: BaseException) -> None:
        del error
        self._close(failed=True)

    def _run(self, key: Mapping[str, Any]) -> Tool:
        """Return the tracker's run of some labels; with none of them that of the whole."""
        name = ", ".join(f"{label}={value}" for label, value in key.items())
        if name not in self._open:
            whole = self.name or str(self._settings.get("name", "training"))
            config = dict(self._settings)
            trials = config.pop("trials", ())
            if key:
                same = (t for t in trials if all(t.get(k, v) == v for k, v in key.items()))
                config = {**next(same, {}), **key}
            self._open[name] = TOOLS[self._tool](
                self._project, whole, name or whole, config, self._folder
            )
        return self._open[name]

    def _close(self, *, failed: bool) -> None:
        for run in self._open.values():
            run.end(failed=failed)
        self._open = {}


def points(name: str, table: pl.DataFrame) -> Iterator[tuple[int | None, dict[str, float]]]:
    """Yield the steps of a measured table, each with its numbers by name.

    Words, seeds and replicas are part of the name; a table without steps gives one point.
    """
    numbers = [c for c, kind in table.schema.items() if kind.is_float()]
    named, texts = ("seed", "replica"), (pl.String, pl.Boolean)
    words = [c for c, kind in table.schema.items() if kind in texts or c in named]
    curves = table.select(words).n_unique() * len(numbers) if words else len(numbers)
    if curves > MOST_CURVES:
        _LOG.info("%s would be %d curves; it is among the files alone", name, curves)
        return
    found: dict[int | None, dict[str, float]] = defaultdict(dict)
    for row in table.iter_rows(named=True):
        place = "/".join([name, *(str(row[column]) for column in words)])
        known = {f"{place}/{c}": float(row[c]) for c in numbers if row[c] is not None}
        found[row.get("step")] |= known
    yield from found.items()


def _files(
    settings: Mapping[str, Any], tables: Mapping[str, pl.DataFrame], place: Path
) -> Sequence[Path]:
    """Settings and tables as files; of a recipe also the figures and the page of its folder."""
    (place / "settings.json").write_text(json.dumps(settings, indent=1, default=str), "utf-8")
    for name, table in tables.items():
        table.write_parquet(place / f"{name}.parquet")
    folder = Path(settings["folder"]) if "folder" in settings else None
    drawn = [*folder.glob("figures/*"), folder / "page.html"] if folder else []
    return [*sorted(place.iterdir()), *(file for file in drawn if file.is_file())]
