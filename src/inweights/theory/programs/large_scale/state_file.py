"""Store the state of a long solver run in a file, from which a later call continues.

:class:`StateFile` reads and writes named arrays; nothing in the file is executed. A run
that continues from a file returns bitwise the same result as an uninterrupted run.
"""

from __future__ import annotations

import hashlib
import os
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inweights.errors import ConfigError
from inweights.support.publish import PARTIAL, explained_writes
from inweights.theory.programs.program import Program

#: Version of the file format, which changes with what is stored.
_VERSION = 1
_MARK = "mark"
#: Errors that a damaged archive raises.
_DAMAGE = (zipfile.BadZipFile, zlib.error)

#: Arrays by name; a number is an array without dimensions.
State = dict[str, NDArray[Any]]


class StateFile:
    """A file that stores the state of an unfinished solver run.

    Args:
        path: The file, in NumPy's format ``.npz``; it need not exist yet.
        program: Program (2) that is solved. The state of a different program is
            rejected.
        gap: Requested relative gap. It determines how values are rounded during the
            iteration, so a state for a different gap is rejected.
    """

    def __init__(self, path: Path, program: Program, gap: float) -> None:
        """Store the path and the identity of the program; no file is read or created.

        Args:
            path: The file, in NumPy's format ``.npz``; it need not exist yet.
            program: Program (2) that is solved. :meth:`read` rejects the state of a
                different program.
            gap: Requested relative gap. :meth:`read` rejects a state for a different
                gap.
        """
        self.path = path
        self._mark = _mark_of(program, gap)

    def read(self) -> State | None:
        """Return the stored state.

        Returns:
            Arrays keyed by name, as stored by :meth:`write`; ``None`` if there is no
            file.

        Raises:
            ConfigError: The file cannot be read, contains no state, or contains the
                state of different facts, a different gap or a different version.
        """
        if not self.path.exists():
            return None
        if not zipfile.is_zipfile(self.path):
            raise ConfigError(
                f"{self.path} is not a stored solver state (an .npz archive); choose another "
                "file, or remove this one"
            )
        try:
            with np.load(self.path, allow_pickle=False) as stored:
                state = {name: stored[name] for name in stored.files}
        except (OSError, ValueError, EOFError, *_DAMAGE) as error:
            raise ConfigError(
                f"{self.path} is not a stored solver state: {error}; choose another file, or "
                "remove this one"
            ) from error
        if str(state.pop(_MARK, "")) != self._mark:
            raise ConfigError(
                f"{self.path} was written for different facts, for a different gap or by a "
                "different version; choose another file, or remove this one"
            )
        return state

    def write(self, state: State) -> None:
        """Replace the contents of the file with a state, atomically.

        Args:
            state: Arrays, keyed by name.

        Raises:
            WriteError: The file cannot be written.
        """
        partial = self.path.with_name(self.path.name + PARTIAL)
        with explained_writes(self.path):
            with partial.open("wb") as file:
                np.savez(file, **{_MARK: np.array(self._mark)}, **state)  # type: ignore[arg-type]
            os.replace(partial, self.path)

    def remove(self) -> None:
        """Remove the file; do nothing if it does not exist.

        Raises:
            OSError: The file cannot be removed.
        """
        self.path.unlink(missing_ok=True)


def prefixed(name: str, state: Mapping[str, Any]) -> State:
    """Return a state with a prefix before each name.

    Args:
        name: The prefix.
        state: Arrays or numbers, keyed by name.

    Returns:
        The same values, keyed by ``PREFIX/NAME``.
    """
    return {f"{name}/{key}": np.asarray(value) for key, value in state.items()}


def part_of(name: str, state: Mapping[str, NDArray[Any]]) -> State:
    """Return the entries of a state whose names have a prefix, with the prefix removed.

    Args:
        name: The prefix.
        state: A state with several prefixes.

    Returns:
        Arrays, keyed by name without the prefix; empty if no name has the prefix.
    """
    start = f"{name}/"
    found = {key: value for key, value in state.items() if key.startswith(start)}
    return {key.removeprefix(start): value for key, value in found.items()}


def _mark_of(program: Program, gap: float) -> str:
    """Return a hash of the constraints and the gap."""
    found = hashlib.sha256(f"{_VERSION} {gap}".encode())
    for matrix in (program.counts, program.pairs):
        for part in (matrix.indptr, matrix.indices, matrix.data):
            found.update(np.ascontiguousarray(part, dtype=np.float64).tobytes())
    return found.hexdigest()
