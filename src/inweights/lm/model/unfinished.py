"""Manage the files next to a folder that a fine-tuning run writes, until the folder is complete.

For a folder ``tuned``, the file ``tuned.state`` contains the state of an interrupted
training, ``tuned.texts`` contains the texts that the model wrote before it
(:class:`BegunTexts`), and ``tuned.state.lock`` is locked by the working process.
"""

from __future__ import annotations

import base64
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from inweights.errors import DataError
from inweights.support.limits import read_text
from inweights.support.publish import publish_file

if TYPE_CHECKING:
    import torch


def state_of(target: Path) -> Path:
    """Return the path of the state file of an interrupted training: ``<target>.state``.

    Args:
        target: Folder to which the fine-tuned model is written.
    """
    return target.with_name(f"{target.name}.state")


def texts_of(target: Path) -> Path:
    """Return the path of the file with the texts written before training: ``<target>.texts``.

    Args:
        target: Folder to which the fine-tuned model is written.
    """
    return target.with_name(f"{target.name}.texts")


def lock_of(target: Path) -> Path:
    """Return the path of the file that a fine-tuning process locks: ``<target>.state.lock``.

    Args:
        target: Folder to which the fine-tuned model is written.

    Example:
        >>> lock_of(Path("tuned")).name
        'tuned.state.lock'
    """
    return target.with_name(f"{target.name}.state.lock")


def check_finished(target: Path) -> None:
    """Raise an error if a folder does not exist because its fine-tuning is not finished.

    Args:
        target: Folder of the model. If it exists, no error is raised.

    Raises:
        DataError: A fine-tuning that writes this folder was started and has not been
            completed; the message says how to continue it.
    """
    if not target.name or target.exists():
        return
    begun = [of(target) for of in (state_of, texts_of, lock_of)]
    if any(path.exists() for path in begun):
        raise DataError(
            f"the fine-tuning of {target} is not finished; the folder is written when "
            "training ends. Repeat the same 'inweights finetune' command to continue. "
            f"'inweights evaluate {target} DATA --watch' scores the epochs that "
            "--keep-epochs stored"
        )


class BegunTexts:
    """Texts that a model writes, stored in blocks so that an interrupted run can be resumed.

    Args:
        path: Path of the file, which need not exist. A file that is damaged, or belongs
            to another run, is treated as empty.
        key: Hash of everything on which the texts depend.
    """

    def __init__(self, path: Path, key: str) -> None:
        """Read the texts in ``path`` that were stored under ``key``; there may be none.

        The key is a hash of everything on which the texts depend. A missing or damaged
        file, or one with another key, is treated as empty.
        """
        self._path = path
        self._key = key
        self._parts: dict[str, Any] = {}
        if path.is_file():
            try:
                found = msgspec.json.decode(read_text(path), type=dict[str, Any])
            # A damaged file is ignored, which costs only the time to write its texts
            # again.
            except (msgspec.DecodeError, DataError):
                found = {}
            if found.get("key") == key:
                self._parts = found["parts"]

    def part(self, name: str) -> BegunPart:
        """Return an object that reads and stores the texts of one stage and kind in this file.

        Args:
            name: Name of the part, such as ``prose`` or ``questions/0``.

        Returns:
            The part, which is empty if the file does not contain it. No file is
            written.
        """
        return BegunPart(self, name)

    def read(self, name: str) -> dict[str, Any]:
        """Return the stored content of a part; empty if there is none.

        Args:
            name: Name of the part, such as ``prose``.

        Returns:
            ``texts``, keyed by the index of their prompt (as a string), and ``state``,
            the Base64-encoded state of the generator.
        """
        found: dict[str, Any] = self._parts.get(name, {})
        return found

    def write(self, name: str, content: dict[str, Any]) -> None:
        """Store a part in the file atomically; the other parts are unchanged.

        Args:
            name: Name of the part, such as ``prose``.
            content: A dictionary with the keys ``texts`` (the texts, keyed by the index
                of their prompt as a string) and ``state`` (the Base64-encoded state of
                the generator).

        Raises:
            DataError: The file cannot be written.
        """
        self._parts[name] = content
        whole = msgspec.json.encode({"key": self._key, "parts": self._parts})
        try:
            publish_file(self._path, whole)
        except OSError as error:
            raise DataError(
                f"cannot write {self._path}: {error.strerror or error}"
            ) from None


class BegunPart:
    """Part of a file with the texts of one stage and kind, returned by :meth:`BegunTexts.part`.

    :meth:`restore` returns the texts of an interrupted run, and :meth:`keep` stores the
    texts so far, with the state of the random generator. A part that the file does not
    contain is empty.

    Args:
        whole: The file that contains the part.
        name: Name of the part, such as ``prose``.
    """

    def __init__(self, whole: BegunTexts, name: str) -> None:
        """Store the name of a part and the file ``whole``, which reads and writes the part."""
        self._whole = whole
        self._name = name

    def restore(self, generator: torch.Generator | None) -> dict[int, str]:
        """Return the stored texts, and restore the state that the generator had after drawing them.

        Args:
            generator: Generator with which the texts are drawn; ``None`` if the most
                likely tokens are chosen.

        Returns:
            Stored texts, keyed by the index of their prompt, from 0; empty if there are
            none.
        """
        import torch

        content = self._whole.read(self._name)
        if content and generator is not None:
            state = bytearray(base64.b64decode(content["state"]))
            generator.set_state(torch.frombuffer(state, dtype=torch.uint8))
        return {int(place): text for place, text in content.get("texts", {}).items()}

    def keep(self, texts: dict[int, str], generator: torch.Generator | None) -> None:
        """Store the texts so far and the state of the generator in the file.

        Args:
            texts: Texts, keyed by the index of their prompt.
            generator: Generator with which the texts are drawn; ``None`` if the most
                likely tokens are chosen.

        Raises:
            DataError: The file cannot be written.
        """
        state = b"" if generator is None else bytes(generator.get_state().tolist())
        stored = {str(place): text for place, text in texts.items()}
        encoded = base64.b64encode(state).decode()
        self._whole.write(self._name, {"texts": stored, "state": encoded})
