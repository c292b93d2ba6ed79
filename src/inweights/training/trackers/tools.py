"""The API calls of each experiment tracker: one class of open runs per tracker.

A :class:`~inweights.training.Tracker` opens runs with the classes in ``TOOLS``. The
package of a tracker is imported when a run is opened.
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from inweights.training.trackers.base import (
    Tool,
    flat_settings,
    module_of,
    plain_name,
)


class Wandb:
    """An open run of Weights & Biases, offline unless ``WANDB_MODE`` is set otherwise.

    Args:
        project: Name of the project.
        group: Name of the group: a sweep, a recipe, or the run itself.
        name: Name of the run.
        config: Settings of the run, as plain values.
        folder: Folder of local files, which is created if needed.

    Raises:
        ConfigError: The tracker's package is missing. Errors of the package propagate.
        OSError: The folder cannot be created.
    """

    def __init__(
        self,
        project: str,
        group: str,
        name: str,
        config: Mapping[str, Any],
        folder: Path,
    ) -> None:
        """Open the run ``name``, with its settings ``config``, in a ``group`` of a ``project``.

        Local files are written below ``folder``. An OSError is raised if the folder
        cannot be created, and a ConfigError is raised if the package is missing.
        """
        folder.mkdir(parents=True, exist_ok=True)
        self._wandb = module_of("wandb")
        self._group = group
        self._run = self._wandb.init(
            project=project,
            group=group,
            name=name,
            config=dict(config),
            dir=str(folder),
            mode=os.environ.get("WANDB_MODE", "offline"),
            reinit="create_new",
            settings=self._wandb.Settings(silent=True, console="off"),
        )
        # With a metric for the steps, they need not increase from one table to the
        # next.
        self._run.define_metric("*", step_metric="step")

    def log(self, step: int | None, numbers: Mapping[str, float]) -> None:
        """Record numbers, such as losses and accuracies.

        Args:
            step: Step to which the numbers belong; ``None`` for the summary of the run.
            numbers: Mapping from the name of each number to its value.
        """
        if step is None:
            self._run.summary.update(dict(numbers))
        else:
            self._run.log({"step": step, **numbers})

    def files(self, paths: Sequence[Path]) -> None:
        """Store the files at ``paths`` as one ``results`` artifact, named after the group."""
        self._run.log_artifact(_artifact(self._wandb, self._group, paths))

    def end(self, *, failed: bool) -> None:
        """Close the run, and record whether the work failed."""
        self._run.finish(exit_code=int(failed))


class Trackio:
    """An open run of trackio.

    Args:
        project: Name of the project.
        group: Name of the group: a sweep, a recipe, or the run itself.
        name: Name of the run.
        config: Settings of the run, as plain values.
        folder: Not used; trackio writes to the folder that ``TRACKIO_DIR`` names.

    Raises:
        ConfigError: The tracker's package is missing. Errors of the package propagate.
    """

    def __init__(
        self,
        project: str,
        group: str,
        name: str,
        config: Mapping[str, Any],
        folder: Path,
    ) -> None:
        """Open the run ``name``, with its settings ``config``, in a ``group`` of a ``project``.

        The argument ``folder`` is not used. A ConfigError is raised if the package is
        missing.
        """
        del folder
        self._trackio = module_of("trackio")
        self._run = self._trackio.init(
            project=project,
            group=group,
            name=name,
            config=dict(config),
            embed=False,
        )

    def log(self, step: int | None, numbers: Mapping[str, float]) -> None:
        """Record numbers, such as losses and accuracies.

        Args:
            step: Step to which the numbers belong; with ``None``, trackio counts the
                steps itself.
            numbers: Mapping from the name of each number to its value.
        """
        self._run.log(dict(numbers), step=step)

    def files(self, paths: Sequence[Path]) -> None:
        """Store the files at ``paths`` as one ``results`` artifact, named after the run."""
        self._run.log_artifact(_artifact(self._trackio, self._run.name, paths))

    def end(self, *, failed: bool) -> None:
        """Close the run; trackio does not record whether a run failed.

        Args:
            failed: Has no effect.
        """
        del failed
        self._run.finish()


class MLflow:
    """An open run of MLflow, which stores the project as an experiment and the group as a tag.

    Args:
        project: Name of the project.
        group: Name of the group: a sweep, a recipe, or the run itself.
        name: Name of the run.
        config: Settings of the run, stored as strings of at most 500 characters.
        folder: Folder of local files, which is created if needed. Unless
            ``MLFLOW_TRACKING_URI`` is set, runs are stored in its file ``mlflow.db``.

    Raises:
        ConfigError: The tracker's package is missing. Errors of the package propagate.
        OSError: The folder cannot be created.
    """

    def __init__(
        self,
        project: str,
        group: str,
        name: str,
        config: Mapping[str, Any],
        folder: Path,
    ) -> None:
        """Open the run ``name``, with its settings ``config``, in a ``group`` of a ``project``.

        Local files are written below ``folder``. An OSError is raised if the folder
        cannot be created, and a ConfigError is raised if the package is missing.
        """
        mlflow = module_of("mlflow")
        local = f"sqlite:///{folder.resolve() / 'mlflow.db'}"
        folder.mkdir(parents=True, exist_ok=True)
        self._client = mlflow.MlflowClient(os.environ.get("MLFLOW_TRACKING_URI", local))
        known = self._client.get_experiment_by_name(project)
        place = (folder / "mlflow").resolve().as_uri()
        if known:
            experiment = known.experiment_id
        else:
            experiment = self._client.create_experiment(project, place)
        tags = {"mlflow.runName": name, "group": group}
        self._id = self._client.create_run(experiment, tags=tags).info.run_id
        for key, value in flat_settings(config).items():
            self._client.log_param(self._id, plain_name(key), str(value)[:500])

    def log(self, step: int | None, numbers: Mapping[str, float]) -> None:
        """Record numbers, such as losses and accuracies.

        Args:
            step: Step to which the numbers belong; ``None`` is recorded as step 0.
            numbers: Mapping from the name of each number to its value. Names are
                changed by :func:`plain_name`.
        """
        from mlflow.entities import Metric

        now = int(1000 * time.time())
        metrics = []
        for name, value in numbers.items():
            metrics.append(Metric(plain_name(name), value, now, step or 0))
        self._client.log_batch(self._id, metrics=metrics)

    def files(self, paths: Sequence[Path]) -> None:
        """Store a copy of each of the files at ``paths`` as an artifact of the run."""
        for path in paths:
            self._client.log_artifact(self._id, str(path))

    def end(self, *, failed: bool) -> None:
        """Close the run, and record whether the work failed."""
        self._client.set_terminated(self._id, "FAILED" if failed else "FINISHED")


class TensorBoard:
    """An open run of TensorBoard in a folder.

    Args:
        project: Name of the project.
        group: Name of the group: a sweep, a recipe, or the run itself.
        name: Name of the run.
        config: Settings of the run, as plain values.
        folder: Parent folder; the run is written to its subfolder ``tensorboard``.

    Raises:
        ConfigError: The tracker's package is missing. Errors of the package propagate.
    """

    def __init__(
        self,
        project: str,
        group: str,
        name: str,
        config: Mapping[str, Any],
        folder: Path,
    ) -> None:
        """Open the run ``name``, with its settings ``config``, in a ``group`` of a ``project``.

        It is written below ``folder``. A ConfigError is raised if the package is
        missing.
        """
        place = (
            folder
            / "tensorboard"
            / plain_name(project)
            / plain_name(group)
            / plain_name(name)
        )
        self._writer = module_of("tensorboard").SummaryWriter(str(place))
        lines = [f"    {key}: {value}" for key, value in flat_settings(config).items()]
        self._writer.add_text("settings", "\n".join(lines))

    def log(self, step: int | None, numbers: Mapping[str, float]) -> None:
        """Record numbers, such as losses and accuracies.

        Args:
            step: Step to which the numbers belong; ``None`` to record them without a
                step.
            numbers: Mapping from the name of each number to its value.
        """
        for name, value in numbers.items():
            self._writer.add_scalar(name, value, step)

    def files(self, paths: Sequence[Path]) -> None:
        """Store the PNG images among the files at ``paths``; other files are left out."""
        from matplotlib.image import imread

        for path in paths:
            if path.suffix == ".png":
                self._writer.add_image(path.stem, imread(path), dataformats="HWC")

    def end(self, *, failed: bool) -> None:
        """Close the run; TensorBoard does not record whether a run failed.

        Args:
            failed: Has no effect.
        """
        del failed
        self._writer.close()


#: Class of each tracker's runs, which is called with project, group, name, settings and
#: folder.
TOOLS: dict[str, Callable[[str, str, str, Mapping[str, Any], Path], Tool]] = {
    "tensorboard": TensorBoard,
    "wandb": Wandb,
    "trackio": Trackio,
    "mlflow": MLflow,
}


def _artifact(module: Any, name: str, paths: Sequence[Path]) -> Any:
    """Return an artifact that contains files, for Weights & Biases or trackio."""
    artifact = module.Artifact(plain_name(name).replace("/", "-"), type="results")
    for path in paths:
        artifact.add_file(str(path))
    return artifact
