"""Where the losses of a fine-tuning go as it runs: thin adapters of what people watch with."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from inweights.errors import ConfigError, unknown_name

#: Given the number of an update, and numbers by name.
Record = Callable[[int, Mapping[str, float]], None]
#: The module of each tracker; what is installed is called as the tracker is.
TRACKERS = {
    "tensorboard": "torch.utils.tensorboard",
    "wandb": "wandb",
    "trackio": "trackio",
    "mlflow": "mlflow",
}


@contextmanager
def tracking(tracker: str, run: Path, settings: Mapping[str, Any]) -> Iterator[Record | None]:
    """Give what records numbers, or nothing where no tracker is named.

    Each tracker decides by its own settings where it writes: TensorBoard into the folder
    ``<run>.tensorboard``, the others where their environment says.

    Example:
        >>> with tracking("", Path("tuned"), {}) as record:
        ...     record is None
        True
    """
    if not tracker:
        yield None
        return
    if tracker not in TRACKERS:
        raise unknown_name("tracker", tracker, TRACKERS)
    try:
        package: Any = importlib.import_module(TRACKERS[tracker])
    except ImportError:
        raise ConfigError(
            f"the tracker {tracker} is not installed: pip install {tracker}"
        ) from None
    plain = {key: value for key, value in settings.items() if not isinstance(value, dict)}
    if tracker == "tensorboard":
        with package.SummaryWriter(str(run.with_name(f"{run.name}.tensorboard"))) as writer:
            writer.add_text("settings", "\n".join(f"    {k}: {v}" for k, v in plain.items()))

            def scalars(step: int, numbers: Mapping[str, float]) -> None:
                for name, value in numbers.items():
                    writer.add_scalar(name, value, step)

            yield scalars
    elif tracker == "mlflow":
        with package.start_run(run_name=run.name):
            package.log_params(plain)
            yield lambda step, numbers: package.log_metrics(dict(numbers), step=step)
    else:  # trackio takes the calls of wandb
        package.init(project="inweights", name=run.name, config=plain)
        try:
            yield lambda step, numbers: package.log(dict(numbers), step=step)
        finally:
            package.finish()
