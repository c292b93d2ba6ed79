"""Checkpoints: the state of a training in one file, written atomically and without pickle.

A :class:`State` contains everything that is needed to continue training, and a
:class:`StateFile` writes and reads it. A :class:`Checkpoint` is an argument of
:func:`inweights.train`. Fine-tuning of language models uses the same file format.
Shapes: ``R`` replicas, ``P`` parameters of one replica.
"""

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
from inweights.support.border import guarded
from inweights.support.limits import open_file
from inweights.support.publish import publish_file
from inweights.worlds.arrays import Int

# Prefixes of the names of tensors in a checkpoint file.
_OPTIMIZER = "optimizer/"
_TABLE = "table/"


class DamagedError(RunError):
    """Error for a checkpoint file that was changed after it was written, or cannot be read.

    Args:
        path: The file.
        why: Description of the damage, used in the message.
    """

    def __init__(self, path: Path, why: str) -> None:
        """Build the message from the file's path and ``why``, a description of the damage."""
        super().__init__(
            f"the checkpoint {path} is damaged ({why}); remove it to start again"
        )


@dataclass(kw_only=True)
class State:
    """State from which training can continue.

    The state of random generators is not stored, since their numbers are determined by
    the seed and the step.

    Attributes:
        tensors: Names of the attributes that are tensors (a class attribute).
        phase: Index of the current phase.
        step: Number of updates made in this phase.
        total: Number of updates made over all phases.
        values: The trained parameters, as one tensor.
        optimizer: State of the optimizer as a dictionary from name to tensor; empty at
            the start of a phase.
        tables: Dictionary from the name of a recorded table to its parts so far: a list
            of tables with the same columns, which are concatenated at the end.
    """

    tensors: ClassVar[tuple[str, ...]] = ("values",)

    phase: int
    step: int
    total: int
    values: Tensor
    optimizer: dict[str, Tensor] = field(default_factory=dict)
    tables: dict[str, list[pl.DataFrame]] = field(default_factory=dict)


@dataclass(kw_only=True)
class ReplicaState(State):
    """Training state of ``R`` replicas with ``P`` parameters; ``values`` is ``[R, P]``.

    Attributes:
        stopped: Step of the current phase at which each replica stopped, ``[R]``, on
            the CPU; -1 if the replica has not stopped.
    """

    tensors: ClassVar[tuple[str, ...]] = ("values", "stopped")

    stopped: Int[Tensor, " R"]

    def __post_init__(self) -> None:
        self.stopped = self.stopped.cpu()

    def begin_next_phase(self) -> None:
        """Advance to the next phase; reset the stopped replicas and the optimizer state."""
        self.phase += 1
        self.step = 0
        self.optimizer = {}
        self.stopped = torch.full_like(self.stopped, -1)


S = TypeVar("S", bound=State)


class StateFile(Generic[S]):
    """File that stores a training state.

    :meth:`write` stores a state, :meth:`read` returns it (``None`` if there is no
    file), :meth:`due` returns whether it is time to write, and :meth:`clear` removes
    the file.

    Args:
        kind: Class of the state, which lists the tensors that are stored.
        path: The file; it need not exist.
        key: Text that identifies the training run, such as a hash of its settings. A
            file with a different key is rejected.
        every_seconds: Number of seconds between two writes, 20 by default.
        every_steps: Number of updates between two writes. If it is above 0,
            ``every_seconds`` is ignored.
        saved: Function without arguments that is called after each write, for example
            to copy the file; ``None`` for no function.
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
        """Store the options that :class:`StateFile` explains; no file is read or written."""
        self.saved = saved
        self.kind = kind
        self.path = Path(path)
        self.key = key
        self._every_seconds = every_seconds
        self._every_steps = every_steps
        self._last = time.monotonic()

    def due(self, total: int) -> bool:
        """Return whether the state is due to be written.

        If ``every_steps`` is above 0, a write is due whenever ``total`` is a multiple
        of it. Otherwise a write is due ``every_seconds`` after the last write, or after
        this object was created if nothing has been written.

        Args:
            total: Number of updates made over all phases.
        """
        if self._every_steps:
            return total % self._every_steps == 0
        return time.monotonic() - self._last >= self._every_seconds

    def write(self, state: S) -> None:
        """Write the state to the file atomically, then call the function ``saved`` if there is one.

        Args:
            state: The state; its tensors are copied to the CPU.

        Raises:
            WriteError: The file cannot be written; the previous file is unchanged.
                Errors of ``saved`` propagate.
        """
        tensors = {name: getattr(state, name) for name in self.kind.tensors}
        tensors |= {_OPTIMIZER + name: value for name, value in state.optimizer.items()}
        tensors = {name: value.cpu() for name, value in tensors.items()}
        # A table is stored as a tensor of bytes, so that one file and one hash cover
        # everything.
        for name, frames in state.tables.items():
            buffer = BytesIO()
            pl.concat(frames).write_ipc(buffer)
            written = np.frombuffer(buffer.getvalue(), dtype=np.uint8)
            tensors[_TABLE + name] = torch.from_numpy(written.copy())
        about = {
            "key": self.key,
            "phase": state.phase,
            "step": state.step,
            "total": state.total,
        }
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
        """Return the stored state, with its tensors on a device; ``None`` if there is no file.

        Args:
            device: Device of the returned tensors, such as ``cuda``.

        Raises:
            DamagedError: The file cannot be read, or was changed after it was written.
            RunError: The file has a different key, and so belongs to another training
                run.
        """
        if not self.path.exists():
            return None
        try:
            with open_file(self.path):  # refuses a pipe, which would wait for a writer
                pass
            with safe_open(self.path, framework="pt") as file:
                about: dict[str, Any] = msgspec.json.decode(
                    file.metadata()["inweights"]
                )
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
        optimizer = {}
        tables = {}
        for name, tensor in tensors.items():
            if name.startswith(_OPTIMIZER):
                optimizer[name.removeprefix(_OPTIMIZER)] = tensor.to(device)
            elif name.startswith(_TABLE):
                table = pl.read_ipc(BytesIO(tensor.numpy().tobytes()))
                tables[name.removeprefix(_TABLE)] = [table]
        return self.kind(
            phase=about["phase"],
            step=about["step"],
            total=about["total"],
            **named,
            optimizer=optimizer,
            tables=tables,
        )

    def clear_if_damaged(self) -> None:
        """Remove the file if it is damaged or unreadable, so that training starts anew.

        Raises:
            RunError: The file has a different key, and so belongs to another training
                run.
            OSError: The damaged file cannot be removed.
        """
        try:
            self.read()
        except DamagedError:
            self.clear()

    def clear(self) -> None:
        """Remove the file if it exists, for example when training is complete.

        Raises:
            OSError: The file cannot be removed.
        """
        self.path.unlink(missing_ok=True)


class Checkpoint(StateFile[ReplicaState]):
    """File that stores the state of :func:`inweights.train`, from which training can resume.

    Args:
        path: The file; it need not exist.
        key: Text that identifies the training run, such as a hash of its settings. A
            file with a different key is rejected.
        options: Keyword arguments ``every_seconds``, ``every_steps`` and ``saved`` of
            :class:`StateFile`: number of seconds between two writes (20 by default),
            number of updates between two writes (replaces ``every_seconds`` if above
            0), and a function that is called after each write.

    Raises:
        DataError: An option has a name other than these three.

    Example:
        >>> import tempfile
        >>> file = Checkpoint(Path(tempfile.mkdtemp()) / "state", key="my run", every_steps=100)
        >>> file.due(99), file.due(200), file.read()
        (False, True, None)
    """

    @guarded
    def __init__(self, path: str | Path, *, key: str, **options: Any) -> None:
        """Store the options that :class:`Checkpoint` explains; reject unknown ones."""
        super().__init__(ReplicaState, path, key=key, **options)
