"""Prompts and completions as tokens: what is trained on, what is not, and in which batches."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from inweights.errors import DataError, unknown_name
from inweights.lm.model.load import LanguageModel
from inweights.seeds import DATA_ORDER, Streams
from inweights.support.limits import check_file
from inweights.worlds.readers.parquet import read_parquet


@dataclass(frozen=True)
class Example:
    """A statement to train on.

    Attributes:
        prompt: What is given; the loss does not see it. May be empty.
        completion: What is learnt, with the space before it.
        stage: Stages are trained one after the other, from the least.
        old: Whether the model said it before, and it is trained on to be kept.
    """

    prompt: str
    completion: str
    stage: int = 0
    old: bool = False


@dataclass(frozen=True)
class Encoded:
    """An example as tokens.

    Attributes:
        ids: All tokens, ``[T]``.
        start: Index of the first token that the loss sees.
        old: Whether it is trained on to be kept.
        likely: Of such a one, where it was asked: the likeliest next tokens at each place from
            ``start`` on, and their log-probabilities, each ``[T - start, K]``.
    """

    ids: tuple[int, ...]
    start: int
    stage: int = 0
    old: bool = False
    likely: tuple[Any, Any] | None = field(default=None, compare=False)


def encode(lm: LanguageModel, examples: Iterable[Example], *, end: bool = False) -> list[Encoded]:
    """Tokenise examples; prompt and completion separately, so that the mask is exact.

    With ``end`` the token that ends a text is learnt after each completion.

    Raises:
        DataError: A completion has no tokens, or an example has none before its completion's
            first, so that nothing could be learnt.

    Example:
        >>> from inweights.lm import load_model
        >>> encode(load_model("@tiny"), [Example("Rome is in", " Italy.")])[0].start
        10
    """
    rows = []
    for number, example in enumerate(examples):
        before = lm.tokens(example.prompt, start=True)
        learnt = lm.tokens(example.completion)
        if not learnt:
            raise DataError(
                f"example {number + 1} ('{example.prompt}') has the completion "
                f"'{example.completion}', which has no tokens; expected text"
            )
        if end:
            learnt.append(lm.tokenizer.eos_token_id)
        if len(before) + len(learnt) < 2:
            raise DataError(f"example {number + 1} ('{example.completion}') has only one token")
        # The first token of a text is predicted from nothing.
        start = max(1, len(before))
        rows.append(Encoded((*before, *learnt), start, example.stage, example.old))
    if not rows:
        raise DataError("there are no examples to train on")
    return rows


def preview(lm: LanguageModel, encoded: Sequence[Encoded], *, rows: int = 5) -> str:
    """Return examples as text with what the loss sees in brackets, token by token.

    Example:
        >>> from inweights.lm import load_model
        >>> lm = load_model("@tiny")
        >>> print(preview(lm, encode(lm, [Example("Rome is in", " Italy.")])))
        Rome is in[ ][I][t][a][l][y][.]
    """
    lines = []
    for example in encoded[:rows]:
        ids, start = list(example.ids), example.start
        learnt = "".join(f"[{lm.tokenizer.decode([i])}]" for i in ids[start:])
        lines.append(lm.tokenizer.decode(ids[:start]) + learnt)
    return "\n".join(lines)


def batches(
    encoded: Sequence[Encoded], tokens: int, seed: int, epoch: int, *path: str | int
) -> Iterator[list[int]]:
    """Yield one epoch of batches, as indices: each example once, lengths together.

    Examples are drawn in a new order each epoch, sorted by length, and cut where a batch would
    have more than ``tokens`` tokens with its padding; the batches come in a drawn order.
    """
    rng = Streams(seed).numpy(DATA_ORDER, "examples", *path, epoch)
    drawn = rng.permutation(len(encoded)).tolist()
    drawn.sort(key=lambda i: len(encoded[i].ids))
    cut: list[list[int]] = [[]]
    for i in drawn:
        # Sorted: the newest is the longest, and the others would be padded to it.
        if cut[-1] and (len(cut[-1]) + 1) * len(encoded[i].ids) > tokens:
            cut.append([])
        cut[-1].append(i)
    for b in rng.permutation(len(cut)).tolist():
        yield cut[b]


def read_table(path: str | Path) -> pl.DataFrame:
    """Read a JSONL or Parquet file, whole."""
    place = Path(path)
    if not place.exists():
        raise DataError(f"there is no file or folder {place}")
    try:
        if place.suffix == ".parquet":
            return read_parquet(place)
        if place.suffix in (".jsonl", ".ndjson"):
            check_file(place)
            return pl.read_ndjson(place, infer_schema_length=None)
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        reason = str(error).strip().splitlines()
        raise DataError(f"cannot read {place}: {reason[0] if reason else 'it is empty'}") from None
    raise DataError(f"{place} must be a .jsonl or .parquet file, as 'inweights augment' writes")


def read_examples(path: str | Path, part: str = "train", *, chat: bool = False) -> list[Example]:
    """Read examples from a file, or from the folder that ``inweights augment`` writes.

    A row has ``prompt`` and ``completion``, or ``text``, all of which is then learnt; and ``stage``
    where there are several.

    Args:
        path: A JSONL or Parquet file, or a folder with one of the name ``part``.
        part: ``train`` or ``control``.
        chat: Whether prompts are what a user says in chat, where the folder has that, too.

    Raises:
        DataError: There is no such file, or it lacks the columns; says the row of a blank.
    """
    place = Path(path)
    table = read_part(place, part, chat=chat) if place.is_dir() else read_table(place)
    if place.is_dir():
        place = found_in(place, part)
    columns = ("prompt", "completion") if "completion" in table.columns else ("text",)
    for column in columns:
        if column not in table.columns:
            raise unknown_name(
                "column",
                column,
                table.columns,
                error=DataError,
                hint=f"{place} should have prompt and completion, or text.",
            )
    examples = []
    for number, row in enumerate(table.iter_rows(named=True), start=1):
        parts = [row[column] for column in columns]
        if not all(isinstance(text, str) for text in parts) or not parts[-1].strip():
            raise DataError(f"{place}, row {number}: {' and '.join(columns)} must be text")
        prompt, completion = parts if len(parts) == 2 else ("", parts[0])
        stage = row.get("stage") or 0
        if not isinstance(stage, int) or not 0 <= stage < 10_000:
            raise DataError(
                f"{place}, row {number}: the stage must be a whole number, got '{stage}'"
            )
        examples.append(Example(prompt, completion, stage))
    return examples


def read_part(folder: Path, part: str, *, chat: bool = False) -> pl.DataFrame:
    """Read a part of a data set, in chat with what a user says for its prompts."""
    table = read_table(found_in(folder, part))
    if not chat or not any(folder.glob(f"{part}_chat.*")):
        return table
    place = found_in(folder, f"{part}_chat")
    try:
        turns = read_table(place).select("id", turn=pl.col("messages").list[0].struct["content"])
        joined = table.join(turns, on="id", how="left", maintain_order="left")
        return joined.with_columns(prompt=pl.coalesce("turn", "prompt")).drop("turn")
    except pl.exceptions.PolarsError as error:
        first = str(error).strip().splitlines()[0]
        raise DataError(f"{place} was not written by 'inweights augment': {first}") from None


def found_in(folder: Path, part: str) -> Path:
    """Return the file of a part of a data set: Parquet where there is one, else JSONL.

    Raises:
        DataError: There is neither, or both and they differ.
    """
    places = [folder / f"{part}.{kind}" for kind in ("parquet", "jsonl")]
    there = [place for place in places if place.exists()]
    if len(there) == 2:
        first, second = map(read_table, there)
        same = first.columns == second.columns and first.height == second.height
        rows = _different_rows(first, second) if same else []
        if rows or not same:
            newer = max(there, key=lambda place: place.stat().st_mtime)
            where = f"in {len(rows)} rows, the first is row {rows[0]}" if rows else "in their rows"
            raise DataError(
                f"{there[0]} and {there[1].name} differ {where}; {newer.name} is newer: keep the "
                "one that counts and remove the other"
            )
    if there:
        return there[0]
    raise DataError(
        f"{folder} contains no {part}.parquet and no {part}.jsonl; 'inweights augment' writes them"
    )


def _different_rows(first: pl.DataFrame, second: pl.DataFrame) -> list[int]:
    """Numbers, from 1, of the rows in which two tables of one height differ."""
    pairs = zip(first.rows(), second.rows(), strict=True)
    return [number for number, (a, b) in enumerate(pairs, 1) if a != b]


def padded(rows: Sequence[Sequence[int]], pad: int) -> tuple[Any, Any]:
    """Return rows as one array padded on the right, and which places are no padding, ``[B, T]``."""
    longest = max(len(row) for row in rows)
    ids = np.full((len(rows), longest), pad, dtype=np.int64)
    real = np.zeros((len(rows), longest), dtype=np.int64)
    for place, row in enumerate(rows):
        ids[place, : len(row)] = row
        real[place, : len(row)] = 1
    return ids, real
