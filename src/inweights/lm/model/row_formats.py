"""Read rows of training data in common formats as pairs of prompt and completion.

:func:`read_rows` recognises the format of a table by its columns and returns
:class:`Rows`; :func:`inweights.lm.read_examples` calls it. The loss applies to the
answer, or to the whole of a ``text``. Each row is one question with one answer; rows
with several turns are rejected.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import polars as pl

from inweights.errors import DataError, unknown_name

#: Roles of speakers, by the names that formats use for them.
_SPEAKERS = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "prompter": "user",
    "assistant": "assistant",
    "gpt": "assistant",
    "bot": "assistant",
    "model": "assistant",
}


@dataclass(frozen=True)
class RowFormat:
    """Format of training data, which determines the prompt and the completion of a row.

    Attributes:
        name: Usual name of the format.
        columns: Columns that a table in this format has.
        reads: Sentence, used in messages, that states which texts are the prompt and
            the completion.
        read: Function that returns the prompt and the completion of a row, or raises a
            DataError that says what is wrong with the row.
    """

    name: str
    columns: tuple[str, ...]
    reads: str
    read: Callable[[Mapping[str, Any]], tuple[str, str]]


@dataclass(frozen=True)
class Rows:
    """Prompts and completions of a table, with the format of the table.

    Attributes:
        format: The format in which the table was written, one of :data:`FORMATS`.
        pairs: The prompt and the completion of each row, in the order of the rows.
    """

    format: RowFormat
    pairs: tuple[tuple[str, str], ...]


def read_rows(table: pl.DataFrame, where: str) -> Rows:
    """Read the prompt and the completion of every row of a table in any of the known formats.

    Args:
        table: Rows of a file, with the columns of one of :data:`FORMATS`.
        where: Name of the file in error messages.

    Returns:
        The format, and one pair of texts per row, in the order of the rows. Every
        completion begins with a space. The only exceptions are the format ``text``, and
        the format ``prompt/completion`` if its columns contain texts rather than
        conversations: in these, the texts are not changed.

    Raises:
        DataError: No known format has these columns, or a row is invalid in its format;
            the message states the number of the row.

    Example:
        >>> table = pl.DataFrame({"instruction": ["Where is Oslo?"], "output": ["Norway"]})
        >>> read_rows(table, "rows.jsonl").pairs
        (('Where is Oslo?', ' Norway'),)
    """
    chosen = next(
        (one for one in FORMATS if set(one.columns) <= set(table.columns)), None
    )
    if chosen is None:
        raise _no_format(table.columns, where)
    pairs = []
    for number, row in enumerate(table.iter_rows(named=True), start=1):
        try:
            pairs.append(chosen.read(row))
        except DataError as error:
            raise DataError(f"{where}, row {number}: {error}") from None
    return Rows(chosen, tuple(pairs))


def _no_format(columns: Sequence[str], where: str) -> Exception:
    """Return the error for columns in no known format; it suggests the nearest column name."""
    known = list(dict.fromkeys(chain.from_iterable(one.columns for one in FORMATS)))
    formats = "; ".join(f"{' and '.join(one.columns)} ({one.name})" for one in FORMATS)
    hint = f"{where} should have the columns of one of these formats: {formats}."
    if not columns:
        return DataError(f"there are no columns. {hint}")
    strange = next((column for column in columns if column not in known), columns[0])
    return unknown_name("column", strange, known, error=DataError, hint=hint)


def _text(row: Mapping[str, Any], column: str, *, filled: bool = True) -> str:
    """Return the text in a column of a row."""
    value = row[column]
    if not isinstance(value, str) or (filled and not value.strip()):
        raise DataError(f"{column} must be text")
    return value


def _answer(text: str) -> str:
    """Return an answer with a space before it, so that it continues a prompt."""
    return text if text[:1].isspace() else f" {text}"


def _prompt_and_completion(row: Mapping[str, Any]) -> tuple[str, str]:
    turns = row["prompt"], row["completion"]
    # In data sets for TRL, these columns may also contain conversations.
    if all(isinstance(part, list) for part in turns):
        return _of_turns([*turns[0], *turns[1]], "role", "content")
    if not all(isinstance(part, str) for part in turns) or not turns[1].strip():
        raise DataError("prompt and completion must be text")
    return turns


def _alpaca(row: Mapping[str, Any]) -> tuple[str, str]:
    more = row.get("input") or ""
    if not isinstance(more, str):
        raise DataError("input must be text")
    parts = [_text(row, "instruction"), more]
    prompt = "\n".join(part for part in parts if part.strip())
    return prompt, _answer(_text(row, "output"))


def _question_and_answer(row: Mapping[str, Any]) -> tuple[str, str]:
    return _text(row, "question"), _answer(_text(row, "answer"))


def _of_turns(turns: Any, who: str, what: str) -> tuple[str, str]:
    """Return prompt and answer of one exchange, with a system message before it, if any."""
    if not isinstance(turns, Sequence) or not turns:
        raise DataError("there are no turns")
    said: list[tuple[str, str]] = []
    for turn in turns:
        speaker = turn.get(who) if isinstance(turn, Mapping) else None
        text = turn.get(what) if isinstance(turn, Mapping) else None
        if speaker not in _SPEAKERS or not isinstance(text, str) or not text.strip():
            raise DataError(
                f"each turn of a conversation must have the keys '{who}' (one of "
                f"{', '.join(_SPEAKERS)}) and '{what}' (a text that is not blank), got {turn!r}"
            )
        said.append((_SPEAKERS[speaker], text))
    speakers = [speaker for speaker, _ in said if speaker != "system"]
    if speakers != ["user", "assistant"]:
        raise DataError(
            "expected one question from a user and one answer from an assistant, got "
            f"{', '.join(speakers) or 'neither'}; split a longer conversation into several rows"
        )
    prompt = "\n\n".join(text for speaker, text in said if speaker != "assistant")
    return prompt, _answer(
        said[-1][1] if said[-1][0] == "assistant" else dict(said)["assistant"]
    )


#: All known formats, in the order in which they are tried.
FORMATS: tuple[RowFormat, ...] = (
    RowFormat(
        "prompt/completion",
        ("prompt", "completion"),
        "the columns prompt and completion are used as such",
        _prompt_and_completion,
    ),
    RowFormat(
        "messages",
        ("messages",),
        "the prompt is the user's turn after any system message, and the completion is the answer",
        lambda row: _of_turns(row["messages"], "role", "content"),
    ),
    RowFormat(
        "ShareGPT",
        ("conversations",),
        "the prompt is the user's turn after any system message, and the completion is the answer",
        lambda row: _of_turns(row["conversations"], "from", "value"),
    ),
    RowFormat(
        "Alpaca",
        ("instruction", "output"),
        "the prompt is the instruction followed by any input, and the completion is the output",
        _alpaca,
    ),
    RowFormat(
        "question/answer",
        ("question", "answer"),
        "the prompt is the question, and the completion is the answer",
        _question_and_answer,
    ),
    RowFormat(
        "text",
        ("text",),
        "the completion is the whole text, without a prompt",
        lambda row: ("", _text(row, "text")),
    ),
)
#: Names of the library's own formats, which are read without a warning.
USUAL = ("prompt/completion", "text")
