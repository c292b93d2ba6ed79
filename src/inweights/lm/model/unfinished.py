"""Files beside a folder that a fine-tuning writes, until the folder is complete.

For a folder ``tuned``: ``tuned.state`` holds a training that was interrupted,
``tuned.texts`` what the model has written before it (:class:`BegunTexts`), and
``tuned.state.lock`` is locked by the process at work.
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
    """Return the file with the state of an unfinished training.

    Args:
        target: Folder that the fine-tuning writes.
    """
    return target.with_name(f"{target.name}.state")


def texts_of(target: Path) -> Path:
    """Return the file with what a model has written before its training.

    Args:
        target: Folder that the fine-tuning writes.
    """
    return target.with_name(f"{target.name}.texts")


def lock_of(target: Path) -> Path:
    """Return the file that a process locks while it fine-tunes: ``<target>.state.lock``.

    Args:
        target: Folder that the fine-tuning writes.

    Example:
        >>> lock_of(Path("tuned")).name
        'tuned.state.lock'
    """
    return target.with_name(f"{target.name}.state.lock")


def check_finished(target: Path) -> None:
    """Refuse a folder that does not exist yet because its fine-tuning is not finished.

    Args:
        target: Folder of the model.

    Raises:
        DataError: A fine-tuning of this folder was begun; says how it goes on.
    """
    if not target.name or target.exists():
        return
    begun = [of(target) for of in (state_of, texts_of, lock_of)]
    if any(path.exists() for path in begun):
        raise DataError(
            f"the fine-tuning of {target} is not finished, and the folder appears at its end; the "
            "same 'inweights finetune' goes on where it was interrupted. 'inweights evaluate "
            f"{target} DATA --watch' scores the epochs of one with --keep-epochs"
        )


class BegunTexts:
    """Texts that a model writes, stored block by block so that an interrupted run goes on.

    Args:
        path: The file; it need not exist. One that is damaged, or of another run, counts
            as empty.
        key: Hash of all that decides the texts.
    """

    def __init__(self, path: Path, key: str) -> None:
        self._path = path
        self._key = key
        self._parts: dict[str, Any] = {}
        if path.is_file():
            try:
                found = msgspec.json.decode(read_text(path), type=dict[str, Any])
            # A damaged file costs time alone: its texts are written again.
            except (msgspec.DecodeError, DataError):
                found = {}
            if found.get("key") == key:
                self._parts = found["parts"]

    def part(self, name: str) -> BegunPart:
        """Return one part of the texts, those of one stage and kind.

        Args:
            name: Name of the part.
        """
        return BegunPart(self, name)

    def read(self, name: str) -> dict[str, Any]:
        """Return what is stored of a part (``texts`` and ``state``); empty where nothing is.

        Args:
            name: Name of the part.
        """
        found: dict[str, Any] = self._parts.get(name, {})
        return found

    def write(self, name: str, content: dict[str, Any]) -> None:
        """Store a part, atomically.

        Args:
            name: Name of the part.
            content: Plain values.

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
    """Reads and stores the texts of one part: those of one stage and kind of an unfinished run.

    :meth:`restore` returns what a run that was interrupted had written, and :meth:`keep`
    stores what is written so far, with the state of the random draws after it. A name
    that the file does not have is an empty part. It has no public attributes;
    :meth:`BegunTexts.part` makes it.

    Args:
        whole: The file.
        name: Name of the part in it, such as ``prose``.
    """

    def __init__(self, whole: BegunTexts, name: str) -> None:
        self._whole = whole
        self._name = name

    def restore(self, generator: torch.Generator | None) -> dict[int, str]:
        """Return the texts by the place of their prompt; set the generator as they left it.

        Args:
            generator: Generator of the draws, if there are any.

        Returns:
            Stored texts by the index of their prompt (from 0); empty where none are.
        """
        import torch

        content = self._whole.read(self._name)
        if content and generator is not None:
            state = bytearray(base64.b64decode(content["state"]))
            generator.set_state(torch.frombuffer(state, dtype=torch.uint8))
        return {int(place): text for place, text in content.get("texts", {}).items()}

    def keep(self, texts: dict[int, str], generator: torch.Generator | None) -> None:
        """Store the texts so far, and the state of the generator.

        Args:
            texts: Texts by the place of their prompt.
            generator: Generator of the draws, if there are any.
        """
        state = b"" if generator is None else bytes(generator.get_state().tolist())
        stored = {str(place): text for place, text in texts.items()}
        encoded = base64.b64encode(state).decode()
        self._whole.write(self._name, {"texts": stored, "state": encoded})
