"""Create the rows of a training set, and measure their length in words or tokens.

:func:`~inweights.audit.augment` builds its training set and its control with these
functions: they repeat rows, limit their total length and convert them to a table.
:func:`token_counter` counts with the tokenizer of a pretrained model.
"""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from inweights.audit.strategies import Row
from inweights.errors import ConfigError, DataError
from inweights.seeds import WORLD, Streams
from inweights.support.extras import optional
from inweights.support.limits import check_memory
from inweights.worlds.arrays import Ids
from inweights.worlds.knowledge.knowledge import Knowledge
from inweights.worlds.knowledge.words.wording import Wording

#: Function that returns the lengths of texts, in tokens or words.
Counter = Callable[[Sequence[str]], list[int]]
#: Estimated bytes of memory for one text of the training set, as a row and in a file.
_ROW = 500.0

_SCHEMA: dict[str, Any] = {
    "fact": pl.Int64,
    "line": pl.Int64,
    "role": pl.String,
    "stage": pl.Int64,
    "prompt": pl.String,
    "completion": pl.String,
}


def stages_of(facts: Knowledge) -> Ids:
    """Assign each fact to a stage of the curriculum ``sa``: similarity first, then attribution.

    Args:
        facts: ``M`` facts.

    Returns:
        Stage of each fact, ``[M]`` (NumPy): 0 if a different subject has the same value
        of the same relation, otherwise 1.
    """
    key = facts.triples[:, 1] * len(facts.entities) + facts.triples[:, 2]
    _, place, counts = np.unique(key, return_inverse=True, return_counts=True)
    return np.where(counts[place] > 1, 0, 1)


def text_of(row: Row) -> str:
    """Return the text of a row: the prompt followed by the completion.

    Args:
        row: A row of the training set.
    """
    return row.prompt + row.completion


def table_of(rows: Sequence[Row], turn: Callable[[Row], str]) -> pl.DataFrame:
    """Return rows as the table ``train`` of :class:`~inweights.audit.Augmented`.

    Args:
        rows: The rows.
        turn: Function that returns the user's turn in chat for a row.

    Returns:
        One row per text, in the given order: ``id`` (from 0), the first six fields of
        the row (``fact``, ``line``, ``role``, ``stage``, ``prompt`` and
        ``completion``), ``text`` (prompt and completion together) and ``turn``.
    """
    table = pl.DataFrame([row[:6] for row in rows], schema=_SCHEMA, orient="row")
    text = (pl.col("prompt") + pl.col("completion")).alias("text")
    turns = pl.Series("turn", list(map(turn, rows)), dtype=pl.String)
    return table.with_row_index("id").with_columns(text, turns)


def turn_of(row: Row, facts: Knowledge, words: Wording) -> str:
    """Return the user's turn in a chat before a row's completion.

    For a row of the role ``fact``, the turn is a question that asks for the object of
    the fact. For other rows, it is the prompt itself if the prompt is empty or ends
    with ``?`` or ``:``. Otherwise, it is a request to complete the prompt.

    Args:
        row: The row.
        facts: The facts from which the row was made.
        words: Templates of questions.

    Returns:
        The turn as text; empty if the row has another role and an empty prompt.
    """
    if row.role == "fact":
        subject, relation, _ = facts.names(row.fact)
        return words.ask([relation], subject)
    if not row.prompt or row.prompt.endswith(("?", ":")):
        return row.prompt
    return f"Complete the sentence: {row.prompt} …"


def within(rows: list[Row], room: int, count: Counter) -> list[Row]:
    """Return as many of the first rows as fit within a total length.

    Args:
        rows: The rows, in order.
        room: Largest total length, in the unit of ``count``.
        count: Function that returns the length of each text, in words or tokens.

    Returns:
        The longest list of first rows whose total length is at most ``room``; empty if
        the first row is already longer.
    """
    ends = np.cumsum(count(list(map(text_of, rows))))
    return rows[: int((ends <= room).sum())]


def often_enough(rows: Sequence[Row], floor: float, count: Counter) -> list[Row]:
    """Repeat rows that state individual facts until they make up a required share of the text.

    Args:
        rows: All rows of the training set so far, at least one of which states a single
            fact.
        floor: Smallest fraction of the text, at least 0 and below 1, that states individual
            facts; 0 adds nothing.
        count: Function that returns the length of each text, in words or tokens.

    Returns:
        The rows to append: all rows that state a single fact, repeated as often as
        needed. The list is empty if they already make up this fraction.
    """
    lengths = np.array(count(list(map(text_of, rows))), dtype=np.int64)
    single = np.array([row.fact >= 0 for row in rows])
    others = int(lengths[~single].sum())
    # The smallest number k of copies with k·single ≥ floor·(k·single + others).
    times = math.ceil(floor * others / ((1 - floor) * int(lengths[single].sum())))
    return [row for row in rows if row.fact >= 0] * max(0, times - 1)


def fill(
    facts: list[Row], added: list[Row], goal: int, count: Counter, seed: int
) -> list[Row]:
    """Build a training set of limited length from facts, added rows and repetitions of both.

    Args:
        facts: Rows that state the facts; each is used at least once.
        added: Rows that strategies added; rows that no longer fit are skipped.
        goal: Largest total length of the training set, in the unit of ``count``.
        count: Function that returns the length of each text, in words or tokens.
        seed: Root seed of the random order, from 0 to 2**63 - 1.

    Returns:
        The rows of the training set: first the facts in their order, then the added
        rows that fit, in random order, then repetitions of all these rows, each time in
        a new random order, until none of them fits.

    Raises:
        ConfigError: The facts alone are longer than ``goal``, the rows would exceed the
            memory limit, or ``seed`` is not between 0 and 2**63 - 1.
    """
    rows = [*facts, *added]
    lengths = np.array(count(list(map(text_of, rows))), dtype=np.int64)
    left = goal - int(lengths[: len(facts)].sum())
    if left < 0:
        raise ConfigError(
            f"'budget' must be at least {goal - left:,}, the length of all facts (in "
            f"tokens, or in words if no tokenizer is given), got {goal:,}"
        )
    rng = Streams(seed).numpy(WORLD, "control")
    kept = list(range(len(facts)))
    # A row that is too long is skipped, because a shorter one may still fit.
    for i in (len(facts) + rng.permutation(len(added))).tolist() if added else ():
        if lengths[i] <= left:
            kept.append(i)
            left -= int(lengths[i])
    once = np.array(kept)
    check_memory(
        f"a training set of {goal:,} tokens",
        _ROW * left / max(1.0, float(lengths[once].mean())),
        hint="use a smaller budget",
    )
    # Each round repeats every row that still fits, so that rows are repeated about
    # equally often.
    while (lengths[once] <= left).any():
        for i in rng.permutation(once[lengths[once] <= left]).tolist():
            if lengths[i] <= left:
                kept.append(i)
                left -= int(lengths[i])
    return [rows[i] for i in kept]


def words_of(texts: Sequence[str]) -> list[int]:
    """Return the number of words in each text; texts are split at every space character.

    Args:
        texts: The texts. An empty text is counted as one word.
    """
    return [len(text.split(" ")) for text in texts]


def token_counter(folder: str | Path) -> Counter:
    """Return a function that counts the tokens of texts, without special tokens.

    Args:
        folder: Folder that contains a model, or only its tokenizer.

    Returns:
        A function that takes a sequence of texts and returns a list with the number of
        tokens of each.

    Raises:
        ConfigError: ``transformers`` is not installed.
        DataError: The folder does not exist, or contains no tokenizer that
            ``transformers`` can read without running code of the folder.
    """
    transformers = optional("hf", "counting tokens")
    path = Path(folder)
    if not path.is_dir():
        raise DataError(
            f"the folder {path}, which should contain the tokenizer, does not exist"
        )
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(
            path, local_files_only=True, trust_remote_code=False
        )
    except Exception:  # noqa: BLE001 - tokenizers raise no narrower one for a bad file
        raise DataError(
            f"{path} contains no tokenizer that transformers can read; expected tokenizer.json or "
            "the files that transformers.AutoTokenizer.save_pretrained writes"
        ) from None

    def count(texts: Sequence[str]) -> list[int]:
        if not texts:
            return []
        return [
            len(ids)
            for ids in tokenizer(list(texts), add_special_tokens=False)["input_ids"]
        ]

    return count
