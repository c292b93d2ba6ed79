"""Checkpoints of a training run: one file, written whole or not at all, and never a pickle."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import msgspec
import numpy as np
import polars as pl
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from inweights.errors import RunError, WriteError
from inweights.models.save import fingerprint
from inweights.support.limits import open_file
from inweights.support.publish import publish_file
from inweights.worlds.arrays import Int

_OPTIMIZER, _TABLE = "optimizer/", "table/"


class DamagedError(RunError):
    """A checkpoint is not what was written: one bit is enough."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"the checkpoint {path} is damaged ({why}); remove it to start again")


@dataclass(kw_only=True)
class State:
    """State of training. Random streams are counters, so the step determines them.

    Attributes:
        values: What is trained, as one tensor.
        optimizer: State of the optimizer, as named tensors; empty at the start of a phase.
        tables: What was measured so far.
    """

    #: Names of the tensors that every state has.
    tensors: ClassVar[tuple[str, ...]] = ("values",)

    phase: int
    step: int
    total: int
    values: Tensor
    optimizer: dict[str, Tensor] = field(default_factory=dict)
    tables: dict[str, list[pl.DataFrame]] = field(default_factory=dict)


@dataclass(kw_only=True)
class ReplicaState(State):
    """State of the training of replicas; their values are the matrix ``[R, P]``.

    Attributes:
        stopped: Step of the phase at which each replica stopped; -1 where it goes on. Lives on the
            CPU.
    """

    tensors: ClassVar[tuple[str, ...]] = ("values", "stopped")

    stopped: Int[Tensor, " R"]

    def __post_init__(self) -> None:
        self.stopped = self.stopped.cpu()

    def begin_next_phase(self) -> None:
        """Go to the start of the next phase: no steps done, no replica stopped, no optimizer."""
        self.phase += 1
        self.step = 0
        self.optimizer = {}
        self.stopped = torch.full_like(self.stopped, -1)


S = TypeVar("S", bound=State)


class StateFile(Generic[S]):
    """Keeps the state of one training run in one file.

    Args:
        key: Hash of everything that decides the run; a file of another run is refused.
        every_seconds: Time between two writes.
        every_steps: Write at every multiple of this many steps instead, where it is above 0.
        saved: Called after each write, so that the file can be kept elsewhere, too.
    """

    def __init__(
        self,
        kind: type[S],
        path: str | Path,
        *,
        key: str,
        every_seconds: float = 20.0,
        every_steps: int = 0,
        saved: Callable[[], None] | None = None,
    ) -> None:
        self.saved = saved
        self.kind = kind
        self.path = Path(path)
        self.key = key
        self._every_seconds, self._every_steps = every_seconds, every_steps
        self._last = time.monotonic()

    def due(self, total: int) -> bool:
        """Whether a write is due after ``total`` steps."""
        if self._every_steps:
            return total % self._every_steps == 0
        return time.monotonic() - self._last >= self._every_seconds

    def write(self, state: S) -> None:
        """Write the state, whole or not at all."""
        tensors = {name: getattr(state, name) for name in self.kind.tensors}
        tensors |= {_OPTIMIZER + name: value for name, value in state.optimizer.items()}
        tensors = {name: value.cpu() for name, value in tensors.items()}
        for name, frames in state.tables.items():
            buffer = BytesIO()
            pl.concat(frames).write_ipc(buffer)
            written = np.frombuffer(buffer.getvalue(), dtype=np.uint8)
            tensors[_TABLE + name] = torch.from_numpy(written.copy())
        about = {"key": self.key, "phase": state.phase, "step": state.step, "total": state.total}
        about["sha256"] = fingerprint(about, tensors)
        metadata = {"inweights": msgspec.json.encode(about).decode()}
        content = save({k: v.contiguous() for k, v in tensors.items()}, metadata)
        try:
            publish_file(self.path, content)
        except OSError as error:
            raise WriteError(
                f"cannot write the checkpoint {self.path}: {error.strerror or error}; the "
                "previous one is unchanged"
            ) from error
        if self.saved:
            self.saved()
        self._last = time.monotonic()

    def read(self, device: torch.device | str = "cpu") -> S | None:
        """Return the stored state, or ``None`` where there is none."""
        if not self.path.exists():
            return None
        try:
            with open_file(self.path):  # else a pipe in its place keeps who reads it waiting
                pass
            with safe_open(self.path, framework="pt") as file:
                about: dict[str, Any] = msgspec.json.decode(file.metadata()["inweights"])
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            if about.pop("sha256") != fingerprint(about, tensors):
                raise DamagedError(self.path, "its content was changed")
            named = {name: tensors.pop(name).to(device) for name in self.kind.tensors}
        except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
            raise DamagedError(self.path, str(error)) from None
        if about["key"] != self.key:
            raise RunError(
                f"the checkpoint {self.path} belongs to another run; remove it to start again"
            )
        return self.kind(
            phase=about["phase"],
            step=about["step"],
            total=about["total"],
            **named,
            optimizer={
                name.removeprefix(_OPTIMIZER): tensor.to(device)
                for name, tensor in tensors.items()
                if name.startswith(_OPTIMIZER)
            },
            tables={
                name.removeprefix(_TABLE): [pl.read_ipc(BytesIO(tensor.numpy().tobytes()))]
                for name, tensor in tensors.items()
                if name.startswith(_TABLE)
            },
        )

    def clear_if_damaged(self) -> None:
        """Remove a file that is not what was written, so that the run starts again."""
        try:
            self.read()
        except DamagedError:
            self.clear()

    def clear(self) -> None:
        """Remove the file, once the run is complete and stored elsewhere."""
        self.path.unlink(missing_ok=True)


class Checkpoint(StateFile[ReplicaState]):
    """The state file of a model with replicas; takes what :class:`StateFile` takes."""

    def __init__(self, path: str | Path, *, key: str, **options: Any) -> None:
        super().__init__(ReplicaState, path, key=key, **options)
