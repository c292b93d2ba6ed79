"""Write the folder of ``inweights augment``: training data, questions, tasks and a card.

:func:`write_augmented` takes the result of :func:`~inweights.audit.augment` and writes
it so that ``datasets``, TRL and lm-eval read it without further code.
"""

import json
from collections.abc import Sequence
from pathlib import Path

import msgspec
import polars as pl

from inweights.audit.augment import Augmented
from inweights.errors import check_names
from inweights.worlds.readers.new_folder import new_folder

#: Columns of the formats of training data, by the suffix of their files. Each format is
#: in a separate file: if a row has several formats, TRL uses prompt and completion but
#: adds the end-of-text token to the column ``text``, so that the end of an answer is
#: not learnt.
FORMS = {"": ("prompt", "completion"), "_text": ("text",), "_chat": ("messages",)}
#: Columns of further formats, which are written on request, by name.
FORMATS = {
    "alpaca": ("instruction", "input", "output"),
    "sharegpt": ("conversations",),
    "qa": ("question", "answer"),
}
_TEMPLATES = Path(__file__).with_name("templates")
_CARD = (_TEMPLATES / "augmented.md").read_text(encoding="utf-8")
# The task names columns instead of templates, because lm-eval uses the text of a column
# unchanged, even if a name contains template syntax.
_TASK = (_TEMPLATES / "lm_eval.yaml").read_text(encoding="utf-8")


def write_augmented(
    augmented: Augmented, folder: str | Path, *, formats: Sequence[str] = ()
) -> Path:
    """Write an augmented set of facts to a new folder.

    The folder contains the tables ``facts``, ``questions``, ``train`` and ``control``,
    each as Parquet and JSONL. ``train`` and ``control`` are written in three formats:
    prompts with completions, texts, and chats. ``README.md`` is a card that enables
    ``datasets.load_dataset`` to read the tables, ``counts.json`` contains the numbers
    of rows and of words, and ``lm_eval/`` contains one task for each kind of question.
    Texts without a prompt are left out of chats and of further formats. The questions
    of each kind that a training text answers directly form a separate task
    (``KIND_told``). Identical data produce identical files.

    Args:
        augmented: Result of :func:`~inweights.audit.augment`.
        folder: Folder to create. It must not exist yet; missing parent folders are
            created. The folder appears only once it is complete.
        formats: Further formats of ``train`` and ``control``, each in files of its own,
            such as ``train_alpaca.jsonl``: ``alpaca`` (columns ``instruction``,
            ``input``, ``output``), ``sharegpt`` (``conversations``) or ``qa``
            (``question``, ``answer``).

    Returns:
        The path of the folder.

    Raises:
        ConfigError: A format is unknown.
        DataError: The folder already exists, or cannot be written.
    """
    check_names("format", formats, FORMATS)
    forms = {**FORMS, **{f"_{name}": FORMATS[name] for name in formats}}
    with new_folder(folder) as work:
        parts = {"questions": augmented.questions, "facts": augmented.facts}
        for name, table in (("train", augmented.train), ("control", augmented.control)):
            parts |= {
                f"{name}{form}": _form(table, columns)
                for form, columns in forms.items()
            }
        for name, table in parts.items():
            table.write_parquet(work / f"{name}.parquet")
            _jsonl(table, work / f"{name}.jsonl")
        tasks = work / "lm_eval"
        tasks.mkdir()
        told = (
            pl.when(pl.col("told").list.len() > 0)
            .then(pl.lit("_told"))
            .otherwise(pl.lit(""))
        )
        kinds = augmented.questions.group_by(pl.col("role") + told)
        for (role,), table in kinds:
            _jsonl(table, tasks / f"questions_{role}.jsonl")
            task = _TASK.format(name=f"inweights_{role}", role=role)
            (tasks / f"{role}.yaml").write_text(task, encoding="utf-8")
        counts = {"strategies": augmented.strategies, "rows": augmented.counts}
        for name in ("words", "tokens", "dropped", "alone", "often"):
            counts[name] = getattr(augmented, name)
        (work / "counts.json").write_text(
            json.dumps(counts, indent=1) + "\n", encoding="utf-8"
        )
        listed = "\n".join(
            [f"- {name}: {count}" for name, count in augmented.counts.items()]
            + [f"- words of {name}: {count}" for name, count in augmented.words.items()]
            + [
                f"- tokens of {name}: {count}"
                for name, count in augmented.tokens.items()
            ]
        )
        configs = "\n".join(
            f"- config_name: {name}\n  data_files: {name}.parquet"
            for name in sorted(parts)
        )
        card = _CARD.format(
            configs=configs,
            counts=listed,
            unit="tokens" if augmented.tokens else "words",
            strategies=", ".join(augmented.strategies) or "none, the facts alone",
        )
        (work / "README.md").write_text(card, encoding="utf-8")
    return Path(folder)


def _form(table: pl.DataFrame, columns: tuple[str, ...]) -> pl.DataFrame:
    """Return the rows in one format: columns that identify them, then the columns of the format."""
    turns = [("user", "turn"), ("assistant", "completion")]
    speakers = {"user": "human", "assistant": "gpt"}
    messages = []
    conversation = []
    for role, column in turns:
        said = pl.col(column).str.strip_chars()
        messages.append(pl.struct(role=pl.lit(role), content=said))
        conversation.append(
            pl.struct(pl.lit(speakers[role]).alias("from"), said.alias("value"))
        )
    answer = pl.col("completion").str.strip_chars()
    full = table.with_columns(
        messages=pl.concat_list(messages),
        conversations=pl.concat_list(conversation),
        instruction=pl.col("turn"),
        input=pl.lit(""),
        output=answer,
        question=pl.col("turn"),
        answer=answer,
    )
    # Texts without a prompt contain no question.
    if columns not in (FORMS[""], FORMS["_text"]):
        full = full.filter(pl.col("prompt") != "")
    return full.select("id", "fact", "line", "role", "stage", *columns)


def _jsonl(table: pl.DataFrame, path: Path) -> None:
    encoder = msgspec.json.Encoder()
    path.write_bytes(
        b"".join(encoder.encode(row) + b"\n" for row in table.iter_rows(named=True))
    )
