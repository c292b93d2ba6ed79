"""Read stored answers of language models, and compare two models on the same questions.

:func:`read_answers` reads the log that lm-eval writes for each question, and the output
of ``inweights evaluate --json``. :func:`compare_answers` performs a paired test for
each kind of question. ``inweights compare`` prints its table if two files of answers
are given.
"""

from collections.abc import Iterator
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from inweights.errors import DataError
from inweights.lm.exams.compare import paired
from inweights.support.border import guarded
from inweights.support.limits import read_text

#: Role of the row about all questions of both tables together.
ALL = "all"
_SAMPLES = "samples_*.jsonl"
#: Metrics of lm-eval that state whether a single answer is right, the usual one first.
_METRICS = ("acc", "exact_match", "acc_norm")
_COLUMNS = ("id", "role", "question", "hit")


def holds_answers(path: str | Path) -> bool:
    """Return whether a path may be a JSON file with answers, or a folder with lm-eval samples.

    The result is true for an existing file whose name ends in ``.json`` or ``.jsonl``,
    whatever it contains, and for a folder that contains at least one file
    ``samples_*.jsonl``, at any depth.

    Args:
        path: Path of a file or folder. If nothing exists there, the result is false.
    """
    place = Path(path)
    if place.is_dir():
        return any(place.rglob(_SAMPLES))
    return place.suffix in (".json", ".jsonl") and place.is_file()


@guarded
def read_answers(path: str | Path, *, metric: str = "") -> pl.DataFrame:
    """Read which questions a model answered correctly, from a file or folder of results.

    Args:
        path: Folder or file that lm-eval wrote with ``--log_samples``
            (``samples_TASK_TIME.jsonl``), or a JSON file that ``inweights evaluate
            --json`` printed. If a folder contains several runs, the latest file of each
            task is read.
        metric: Metric of lm-eval to read; by default (empty) the first of ``acc``,
            ``exact_match`` and ``acc_norm`` that the file contains. It has no effect on
            the output of ``inweights evaluate``.

    Returns:
        One row per question, with the columns ``id``; ``role``, the task or the kind of
        question; ``question``, a text that is equal for the same question in two files;
        and ``hit``, whether the answer is right (or the value of the metric, if some
        values are neither 0 nor 1). A question that ``inweights evaluate`` also asked
        step by step has a second row, with the role ``thought``. If a file contains
        answers before and after a fine-tuning run, only the answers after the
        fine-tuning are read.

    Raises:
        DataError: There is no such file, it has neither of these formats, it contains
            no answers, or it lacks the metric.
    """
    place = Path(path)
    if place.is_dir():
        files = _latest(place)
        if not files:
            raise DataError(
                f"{place} has no answers: expected {_SAMPLES}, which lm-eval "
                "writes with --log_samples"
            )
        rows = list(chain.from_iterable(_of_lm_eval(file, metric) for file in files))
    elif place.suffix == ".jsonl":
        rows = list(_of_lm_eval(place, metric))
    else:
        rows = list(_of_evaluate(place))
    if not rows:
        raise DataError(f"{place} has no answers")
    table = pl.DataFrame(rows, schema=list(_COLUMNS), orient="row", strict=False)
    if table["hit"].is_in([0.0, 1.0]).all():
        table = table.with_columns(pl.col("hit").cast(pl.Boolean))
    return table


def compare_answers(before: pl.DataFrame, after: pl.DataFrame) -> pl.DataFrame:
    """Compare the answers of two models to the same questions, overall and for each kind.

    Args:
        before: Table of one model, from :func:`read_answers`.
        after: Table of the other model, with the same questions (``id`` and
            ``question``).

    Returns:
        One row per role, and one for all questions if there are several roles. The
        columns are ``role`` (``all`` for all questions); ``questions``, the number of
        questions; ``before`` and ``after``, the shares of correct answers;
        ``difference``, after minus before, with its 95% interval from ``low`` to
        ``high``; ``gained``, the number of questions that only the second model answers
        correctly; ``lost``, the number that only the first model answers correctly; and
        ``p``, the p value of McNemar's exact test. :class:`~inweights.lm.Paired`
        explains these numbers, also for values that are neither 0 nor 1.

    Raises:
        DataError: The tables have different questions.

    Example:
        >>> one = pl.DataFrame({"id": list("abcd"), "role": "skip", "question": list("abcd"),
        ...                     "hit": [False, False, False, True]})
        >>> other = one.with_columns(hit=True)
        >>> compare_answers(one, other).select("difference", "gained", "lost", "p").row(0)
        (0.75, 3, 0, 0.25)
    """
    _check_same(before, after)
    roles = before["role"].unique(maintain_order=True).to_list()
    rows = [_row(role, before, after) for role in roles]
    if len(roles) > 1:
        rows.append(_row(ALL, before, after))
    return pl.DataFrame(rows)


def _row(role: str, before: pl.DataFrame, after: pl.DataFrame) -> dict[str, Any]:
    if role != ALL:
        before = before.filter(role=role)
        after = after.filter(role=role)
    found = asdict(paired(before, after))
    return {
        "role": role,
        "questions": found["questions"],
        "before": before["hit"].cast(pl.Float64).mean(),
        "after": after["hit"].cast(pl.Float64).mean(),
        "difference": found["mean"],
        **{name: found[name] for name in ("low", "high", "gained", "lost", "p")},
    }


def _check_same(before: pl.DataFrame, after: pl.DataFrame) -> None:
    """Raise a DataError if a question occurs in only one of the tables."""
    for one, other, name in (
        (before, after, "the first model"),
        (after, before, "the second model"),
    ):
        alone = one.join(other, on=["id", "question"], how="anti")
        if alone.height:
            raise DataError(
                f"both models must have answered the same questions; {alone.height} of the "
                f"{one.height} questions of {name}, such as '{alone['id'][0]}', are missing "
                "from the answers of the other model"
            )


def _latest(folder: Path) -> list[Path]:
    """Return the latest file of each task, by the timestamp at the end of the file name."""
    latest: dict[str, Path] = {}
    for file in sorted(
        folder.rglob(_SAMPLES), key=lambda file: file.stem.rpartition("_")[2]
    ):
        latest[_task(file)] = file
    return [latest[task] for task in sorted(latest)]


def _task(file: Path) -> str:
    """Return the task from a file name of the form ``samples_TASK_TIME.jsonl``."""
    return file.stem.removeprefix("samples_").rpartition("_")[0] or file.stem


def _of_lm_eval(file: Path, metric: str) -> Iterator[tuple[str, str, str, float]]:
    """Yield one row per logged question; if a task has several filters, each becomes a role."""
    task = _task(file)
    lines = [line for line in _read(file).splitlines() if line.strip()]
    samples = [_decoded(line, file) for line in lines]
    filters = {sample.get("filter", "none") for sample in samples}
    for sample in samples:
        name = _metric_of(sample, metric, file)
        filtered = sample.get("filter", "none")
        role = task if len(filters) == 1 else f"{task}, {filtered}"
        # If the log contains no hashes, the texts of the questions are compared.
        question = str(sample.get("doc_hash", sample.get("doc")))
        yield f"{role} {sample.get('doc_id')}", role, question, float(sample[name])


def _metric_of(sample: dict[str, Any], wanted: str, file: Path) -> str:
    """Return the name of the metric of a question: ``wanted``, or the first known metric."""
    available = sample.get("metrics") or [name for name in _METRICS if name in sample]
    names = [wanted] if wanted else [name for name in _METRICS if name in available]
    if not names or names[0] not in sample:
        missing = f"'{wanted}'" if wanted else " or ".join(_METRICS)
        if not available:
            raise DataError(
                f"{file} is not a file of answers from lm-eval: a question has no metric "
                f"{missing}"
            )
        raise DataError(
            f"{file}: a question has no metric {missing}; its metrics are "
            f"{', '.join(available)}"
        )
    value = sample[names[0]]
    if not isinstance(value, int | float):
        raise DataError(
            f"{file}: the metric '{names[0]}' of a question must be a number, got "
            f"{value!r}; read_answers(..., metric=NAME) reads a different metric"
        )
    return names[0]


def _of_evaluate(file: Path) -> Iterator[tuple[str, str, str, float]]:
    """Yield one row per answer after training, from the output of ``evaluate --json``."""
    made = _decoded(_read(file), file)
    answers = made.get("answers")
    if not isinstance(answers, list):
        raise DataError(
            f"{file} has no answers; expected the output of 'inweights evaluate MODEL DATA "
            "--json', or samples_*.jsonl from lm-eval"
        )
    for row in answers:
        if row.get("when", "after") == "after":
            question = f"{row['prompt']} {row['answer']}"
            # A composition may have another row, with the answer given step by step, so
            # the id of a row includes the role.
            yield f"{row['role']} {row['id']}", row["role"], question, float(row["hit"])


def _read(file: Path) -> str:
    return read_text(file)


def _decoded(text: str, file: Path) -> dict[str, Any]:
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise DataError(f"{file} is not JSON: {error}") from None
