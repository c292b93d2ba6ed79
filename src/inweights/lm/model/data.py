"""Tokenise prompts and completions, mark which tokens are trained, and arrange them in batches.

:func:`read_examples` reads :class:`Example` objects, :func:`encode` converts them to
:class:`Encoded` ones, and :func:`batches` arranges these. The training loop is
:func:`inweights.lm.finetune`.
"""

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from inweights.errors import CautionWarning, DataError
from inweights.lm.model.load import LanguageModel
from inweights.lm.model.row_formats import USUAL, read_rows
from inweights.lm.model.tables import found_in, read_part, read_table
from inweights.seeds import DATA_ORDER, Streams


@dataclass(frozen=True)
class Example:
    """A text to train on, divided into a prompt and a completion.

    Attributes:
        prompt: Text before the completion, to which the loss does not apply. It may be
            empty.
        completion: Text to which the loss applies, including the space before it.
        stage: Number of the stage to which the text belongs. Stages are trained one
            after another, in ascending order.
        old: Whether the text was written by the model itself before training. On such a
            text, the model is trained to keep its predictions.
    """

    prompt: str
    completion: str
    stage: int = 0
    old: bool = False


@dataclass(frozen=True)
class Encoded:
    """A tokenised example.

    Attributes:
        ids: Ids of all ``T`` tokens, ``[T]``.
        start: Index of the first token to which the loss applies.
        stage: Number of the stage in which the model is trained on the example.
        old: Whether the text was written by the model itself before training. On such a
            text, the model is trained to keep its predictions.
        likely: For a text that the model wrote, two tensors ``[T - start, K]`` on the
            CPU, which :func:`~inweights.lm.tuning.updates.objective.remembered`
            computes. Row ``j`` contains the ids of the ``K`` tokens that the model
            predicted as most likely in place of ``ids[start + j]``, and their
            log-probabilities. ``None`` for other texts.
    """

    ids: tuple[int, ...]
    start: int
    stage: int = 0
    old: bool = False
    likely: tuple[Any, Any] | None = field(default=None, compare=False)


def encode(
    lm: LanguageModel, examples: Iterable[Example], *, end: bool = False
) -> list[Encoded]:
    """Tokenise the prompt and the completion of each example separately.

    The loss mask is then exact, since no token contains parts of both texts.

    Args:
        lm: The model whose tokenizer is used.
        examples: The examples; there must be at least one.
        end: Whether to append the end-of-text token to each completion; by default
            False.

    Returns:
        One :class:`Encoded` per example, in their order.

    Raises:
        DataError: There are no examples, a completion has no tokens, or an example has
            only one token, so that there is nothing to train; the message names the
            example.

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
            raise DataError(
                f"example {number + 1} ('{example.completion}') has only one token, but at "
                "least two are needed, since the first token of a text cannot be predicted"
            )
        # No text precedes the first token, so it cannot be predicted.
        start = max(1, len(before))
        rows.append(Encoded((*before, *learnt), start, example.stage, example.old))
    if not rows:
        raise DataError("there are no examples to train on")
    return rows


def preview(lm: LanguageModel, encoded: Sequence[Encoded], *, rows: int = 5) -> str:
    """Format examples as text, with brackets around each token to which the loss applies.

    Args:
        lm: The model whose tokenizer is used.
        encoded: Tokenised examples.
        rows: Maximum number of examples to format; by default 5.

    Returns:
        A text with one line per example, unless a token contains a line break.

    Example:
        >>> from inweights.lm import load_model
        >>> lm = load_model("@tiny")
        >>> print(preview(lm, encode(lm, [Example("Rome is in", " Italy.")])))
        Rome is in[ ][I][t][a][l][y][.]
    """
    lines = []
    for example in encoded[:rows]:
        ids = list(example.ids)
        start = example.start
        learnt = "".join(f"[{lm.tokenizer.decode([i])}]" for i in ids[start:])
        lines.append(lm.tokenizer.decode(ids[:start]) + learnt)
    return "\n".join(lines)


def batches(
    encoded: Sequence[Encoded], tokens: int, seed: int, epoch: int, *path: str | int
) -> Iterator[list[int]]:
    """Yield the batches of one epoch, as indices of examples with similar lengths.

    Each example occurs once. In each epoch the examples are shuffled, sorted by length,
    and divided into batches of at most ``tokens`` tokens, padding included. The batches
    come in random order.

    Args:
        encoded: Tokenised examples; there must be at least one.
        tokens: Maximum number of tokens per batch, padding included. An example that is
            longer forms a batch of its own.
        seed: Root seed of the order.
        epoch: Number of the epoch, from 0. Each epoch has a different order.
        *path: Integers or strings, such as the number of a stage. Each combination of
            them has a different order.

    Yields:
        Lists of indices into ``encoded``, one per batch.

    Raises:
        ConfigError: ``seed`` is not an integer from 0 to 2^63 - 1.

    Example:
        >>> rows = [Encoded((0,) * length, 1) for length in (2, 4, 2)]
        >>> sorted(map(sorted, batches(rows, 4, seed=0, epoch=0)))
        [[0, 2], [1]]
    """
    rng = Streams(seed).numpy(DATA_ORDER, "examples", *path, epoch)
    drawn = rng.permutation(len(encoded)).tolist()
    drawn.sort(key=lambda i: len(encoded[i].ids))
    cut: list[list[int]] = [[]]
    for i in drawn:
        # Examples are sorted by length, so the next example is the longest of the
        # batch, to whose length all others would be padded.
        if cut[-1] and (len(cut[-1]) + 1) * len(encoded[i].ids) > tokens:
            cut.append([])
        cut[-1].append(i)
    for b in rng.permutation(len(cut)).tolist():
        yield cut[b]


def read_examples(
    path: str | Path, part: str = "train", *, chat: bool = False
) -> list[Example]:
    """Read training examples from a file, or from a folder that ``inweights augment`` wrote.

    The rows may have any of the usual formats of training data
    (:data:`~inweights.lm.model.row_formats.FORMATS`): ``prompt`` and ``completion``,
    ``messages``, ``conversations`` (ShareGPT), ``instruction`` and ``output`` (Alpaca),
    ``question`` and ``answer``, or ``text``. The loss applies to the completion or
    answer, and to the whole of a ``text``. A column ``stage`` divides the rows into
    stages.

    Args:
        path: A JSONL, JSON or Parquet file, or a folder.
        part: Name, without the suffix, of the file that is read if ``path`` is a
            folder: ``train`` (by default) or ``control``.
        chat: Whether to use the user's turns in the file ``<part>_chat`` as prompts, if
            the folder contains this file; by default False.

    Returns:
        One :class:`Example` per row.

    Raises:
        DataError: There is no such file or part, it lacks columns, a row has no text or
            several turns, or a stage is not a whole number from 0 to 9,999; the message
            names the row.

    Warns:
        CautionWarning: The rows have the format of another trainer. The warning says
            what is used as prompt and completion.

    Example:
        >>> read_examples("no-such-file.jsonl")
        Traceback (most recent call last):
        ...
        inweights.errors.DataError: there is no file or folder no-such-file.jsonl
    """
    place = Path(path)
    table = read_part(place, part, chat=chat) if place.is_dir() else read_table(place)
    if place.is_dir():
        place = found_in(place, part)
    rows = read_rows(table, str(place))
    if rows.format.name not in USUAL:
        warnings.warn(
            f"{place} is read as {rows.format.name}: {rows.format.reads}",
            CautionWarning,
            stacklevel=2,
        )
    stages = (
        table["stage"].to_list() if "stage" in table.columns else [0] * table.height
    )
    examples = []
    for number, (pair, given) in enumerate(
        zip(rows.pairs, stages, strict=True), start=1
    ):
        stage = given or 0
        if not isinstance(stage, int) or not 0 <= stage < 10_000:
            raise DataError(
                f"{place}, row {number}: the stage must be a whole number from 0 to 9,999, "
                f"got '{stage}'"
            )
        examples.append(Example(*pair, stage))
    return examples


def padded(rows: Sequence[Sequence[int]], pad: int) -> tuple[Any, Any]:
    """Pad rows of tokens on the right to the same length.

    Args:
        rows: ``B`` rows of token ids; there must be at least one.
        pad: Token id of the padding.

    Returns:
        Two NumPy arrays of 64-bit integers, ``[B, T]``, where ``T`` is the length of
        the longest row: the token ids, and a mask that is 1 for tokens and 0 for
        padding.

    Example:
        >>> ids, real = padded([[5, 6], [7]], pad=0)
        >>> ids.tolist(), real.tolist()
        ([[5, 6], [7, 0]], [[1, 1], [1, 0]])
    """
    longest = max(map(len, rows))
    ids = np.full((len(rows), longest), pad, dtype=np.int64)
    real = np.zeros((len(rows), longest), dtype=np.int64)
    for place, row in enumerate(rows):
        ids[place, : len(row)] = row
        real[place, : len(row)] = 1
    return ids, real
