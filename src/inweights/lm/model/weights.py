"""Reject folders and files without weights that are safe to load: a pickle can run code."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

from inweights.errors import DataError

_PICKLES = ("*.bin", "*.pt", "*.pth", "*.pkl", "*.ckpt")


def check_weights(place: Path) -> None:
    """Raise an error if a folder or file has no weights that are safe to load.

    A folder is safe if it contains safetensors, and a file is safe if its name ends in
    ``.gguf``. The content of files is not read.

    Args:
        place: The folder or file, which must exist.

    Raises:
        DataError: The file is not a GGUF file, or the folder contains no safetensors:
            it contains a GGUF file (whose path must be given instead), only pickles, or
            no weights.
    """
    if place.is_file():
        if place.suffix != ".gguf":
            raise DataError(
                f"{place} is not a model; expected a folder, or a file that ends in .gguf"
            )
        return
    if any(place.glob("*.safetensors")):
        return
    single = sorted(place.glob("*.gguf"))
    if single:
        raise DataError(
            f"{place} contains GGUF weights; give the file itself: {single[0]}"
        )
    pickles = list(chain.from_iterable(map(place.glob, _PICKLES)))
    if pickles:
        first = min(path.name for path in pickles)
        raise DataError(
            f"{place} has its weights only as a pickle ({first}), which could run code and "
            "is not loaded; convert it to safetensors first"
        )
    raise DataError(
        f"{place} contains no weights; expected *.safetensors next to config.json"
    )
