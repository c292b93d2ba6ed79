"""What a text costs to train on: words, or tokens of a model's own tokenizer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from inweights.errors import DataError
from inweights.support.extras import optional

#: Gives the length of each text.
Counter = Callable[[Sequence[str]], list[int]]


def words_of(texts: Sequence[str]) -> list[int]:
    """Number of words of each text: of parts between spaces.

    Example:
        >>> words_of(["Rome is Rome.", "Oslo"])
        [3, 1]
    """
    return [len(text.split(" ")) for text in texts]


def token_counter(folder: str | Path) -> Counter:
    """Return a counter of the tokens of a model's tokenizer, without special ones.

    Nothing is downloaded, and no code of the folder is run.

    Args:
        folder: Folder of a model, or of its tokenizer alone.

    Raises:
        ConfigError: ``transformers`` is not installed.
        DataError: The folder contains no tokenizer.
    """
    transformers = optional("hf", "counting tokens")
    path = Path(folder)
    if not path.is_dir():
        raise DataError(f"there is no folder {path} with a tokenizer")
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(
            path, local_files_only=True, trust_remote_code=False
        )
    except Exception:  # noqa: BLE001 - tokenizers raise no narrower one for a bad file
        raise DataError(
            f"{path} contains no tokenizer that transformers can read; expected tokenizer.json or "
            "what transformers.AutoTokenizer.save_pretrained writes"
        ) from None

    def count(texts: Sequence[str]) -> list[int]:
        if not texts:
            return []
        return [len(ids) for ids in tokenizer(list(texts), add_special_tokens=False)["input_ids"]]

    return count
