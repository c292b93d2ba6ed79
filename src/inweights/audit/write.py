"""Write the folder of ``inweights augment``: training data, questions, evaluation tasks, a card.

:func:`write_augmented` takes the result of :func:`~inweights.audit.augment` and writes it so
that ``datasets``, TRL and lm-eval read it without further code.
"""

import json
from pathlib import Path

import msgspec
import polars as pl

from inweights.audit.augment import Augmented
from inweights.worlds.readers.new_folder import new_folder

#: The forms that people train with. Each has files of its own: TRL takes a row that holds several
#: for prompt and completion, but ends the text, so that the end of an answer is never learnt.
FORMS = {"": ("prompt", "completion"), "_text": ("text",), "_chat": ("messages",)}
_TEMPLATES = Path(__file__).with_name("templates")
_CARD = (_TEMPLATES / "augmented.md").read_text(encoding="utf-8")
# Fields are named, not templates: lm-eval then takes a column as it is, whatever a name holds.
_TASK = (_TEMPLATES / "lm_eval.yaml").read_text(encoding="utf-8")


def write_augmented(augmented: Augmented, folder: str | Path) -> Path:
    """Write an augmented set of facts to a new folder; the same data gives the same bytes.

    The folder has ``facts``, ``train``, ``control`` (each as prompts with completions, as
    texts, and as chats) and ``questions``, as Parquet and JSONL; a card with which
    ``datasets.load_dataset`` reads them; ``counts.json``; and ``lm_eval/`` with one task for
    each kind of question. A kind of which some are answered by direct statement has a second
    task for these.

    Args:
        augmented: Result of :func:`~inweights.audit.augment`.
        folder: Folder to write; it appears only when it is complete.

    Returns:
        The path of the folder.

    Raises:
        DataError: The folder exists already, or cannot be written.
    """
    with new_folder(folder) as work:
        parts = {"questions": augmented.questions, "facts": augmented.facts}
        for name, table in (("train", augmented.train), ("control", augmented.control)):
            parts |= {f"{name}{form}": _form(table, columns) for form, columns in FORMS.items()}
        for name, table in parts.items():
            table.write_parquet(work / f"{name}.parquet")
            _jsonl(table, work / f"{name}.jsonl")
        tasks = work / "lm_eval"
        tasks.mkdir()
        told = pl.when(pl.col("told").list.len() > 0).then(pl.lit("_told")).otherwise(pl.lit(""))
        kinds = augmented.questions.group_by(pl.col("role") + told)
        for (role,), table in kinds:
            _jsonl(table, tasks / f"questions_{role}.jsonl")
            task = _TASK.format(name=f"inweights_{role}", role=role)
            (tasks / f"{role}.yaml").write_text(task, encoding="utf-8")
        counts = {"strategies": augmented.strategies, "rows": augmented.counts}
        for name in ("words", "tokens", "dropped", "alone", "often"):
            counts[name] = getattr(augmented, name)
        (work / "counts.json").write_text(json.dumps(counts, indent=1) + "\n", encoding="utf-8")
        listed = "\n".join(
            [f"- {name}: {count}" for name, count in augmented.counts.items()]
            + [f"- words of {name}: {count}" for name, count in augmented.words.items()]
            + [f"- tokens of {name}: {count}" for name, count in augmented.tokens.items()]
        )
        configs = "\n".join(
            f"- config_name: {name}\n  data_files: {name}.parquet" for name in sorted(parts)
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
    """Where rows come from, and what is trained, in one form."""
    messages = [
        pl.struct(role=pl.lit(role), content=pl.col(column).str.strip_chars())
        for role, column in (("user", "turn"), ("assistant", "completion"))
    ]
    full = table.with_columns(messages=pl.concat_list(messages))
    if "messages" in columns:
        full = full.filter(pl.col("prompt") != "")
    return full.select("id", "fact", "line", "role", "stage", *columns)


def _jsonl(table: pl.DataFrame, path: Path) -> None:
    encoder = msgspec.json.Encoder()
    path.write_bytes(b"".join(encoder.encode(row) + b"\n" for row in table.iter_rows(named=True)))
