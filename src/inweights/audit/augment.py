"""Training data from a user's facts: statements, identities, questions, and a control.

The same facts and options give the same rows. Nothing is read but the facts, nothing is written but
the folder.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
import polars as pl

from inweights.errors import ConfigError, DataError, unknown_name
from inweights.seeds import WORLD, Streams
from inweights.worlds.knowledge import Knowledge
from inweights.worlds.triples import bridges_of
from inweights.worlds.wording import Wording

__all__ = ["Augmented", "augment", "write_augmented"]

Role = Literal["fact", "identity", "reverse"]
#: Held-out questions of each kind, at most; which ones is decided by the seed.
QUESTIONS = 10_000
#: Candidates of a question, at most.
CANDIDATES = 50
_CARD = """---
configs:
- config_name: train
  data_files: train.parquet
- config_name: control
  data_files: control.parquet
- config_name: questions
  data_files: questions.parquet
---
# Facts to train on, and questions that are never trained on

Written by `inweights augment`. `train` and `control` have the columns `prompt` and `completion`,
`text`, and `messages`, for a trainer of any of these forms; `fact` and `line` say where a row comes
from, `role` what it is, `stage` when to train it. `control` has no identities, and as many words:
an effect of identities that it shows too is one of mere repetition.

{counts}
"""
_TASK = """task: {name}
dataset_path: json
dataset_kwargs:
  data_files:
    test: questions_{role}.jsonl
test_split: test
output_type: multiple_choice
doc_to_text: "{{{{prompt}}}}"
doc_to_choice: "{{{{candidates}}}}"
doc_to_target: "{{{{candidates.index(answer)}}}}"
metric_list:
  - metric: acc
    aggregation: mean
    higher_is_better: true
metadata:
  version: 1
"""


@dataclass(frozen=True, eq=False)
class Augmented:
    """What :func:`augment` made.

    Attributes:
        train: A row a statement: ``id, fact, line, role, stage, prompt, completion, text``.
        control: The same columns: no identities, as many words.
        questions: A row a question: ``role, prompt, answer, candidates, subject, first, bridge,
            second``.
        words: Number of words of ``train`` and ``control``.
        plain: Relations that have no template of their own.
    """

    train: pl.DataFrame
    control: pl.DataFrame
    questions: pl.DataFrame
    words: dict[str, int]
    plain: tuple[str, ...]

    @property
    def counts(self) -> dict[str, int]:
        """Rows by role, of the training set and of the questions."""
        rows = self.train.group_by("role", maintain_order=True).len().rows()
        asked = self.questions.group_by("role", maintain_order=True).len().rows()
        return dict(rows) | {f"question: {role}": count for role, count in asked}


def augment(
    knowledge: Knowledge,
    *,
    wording: Wording | None = None,
    identity: bool = True,
    reverse: bool = False,
    paraphrase: int = 1,
    curriculum: Literal["joint", "sa"] = "joint",
    seed: int = 0,
) -> Augmented:
    """Put facts into words, add identities of the bridges, and hold questions out.

    Args:
        knowledge: The facts.
        wording: Templates; plain ones if left out.
        identity: Whether the identity ``b → b`` of each bridge is added.
        reverse: Whether each fact is told from its object, too.
        paraphrase: In how many wordings each statement is made.
        curriculum: ``joint``: one stage, or those of the file. ``sa``: facts whose value is shared
            with other subjects first, with the identities; the others second (Feature
            Resemblance, §5: similarity before attribution).
        seed: Decides which questions and repetitions are drawn where there are too many.

    Raises:
        ConfigError: An option cannot be.

    Example:
        >>> from inweights.worlds import read_knowledge
        >>> made = augment(read_knowledge("@people"))
        >>> made.counts["fact"], made.counts["identity"], made.counts["question: composition"]
        (90, 55, 70)
        >>> made.train["text"][0], made.questions["prompt"][0]
        ('The born in of Mozart is Salzburg.', 'The country of the born in of Mozart is')
    """
    if curriculum not in ("joint", "sa"):
        raise unknown_name("curriculum", curriculum, ("joint", "sa"))
    if not 1 <= paraphrase <= 20:
        raise ConfigError(f"paraphrase is from 1 to 20 wordings, not {paraphrase}")
    words = wording or Wording()
    stages = _stages(knowledge) if curriculum == "sa" else knowledge.stages
    rows = list(_statements(knowledge, words, stages, paraphrase, reverse=reverse))
    plain = pl.DataFrame(rows, schema=_SCHEMA, orient="row")
    extra = _identities(knowledge, words, paraphrase) if identity else []
    train = pl.concat([plain, pl.DataFrame(extra, schema=_SCHEMA, orient="row")])
    train = _finish(train.sort("stage", maintain_order=True))
    control = _finish(_repeat(plain, _words(train), seed).sort("stage", maintain_order=True))
    return Augmented(
        train=train,
        control=control,
        questions=_questions(knowledge, words, seed, reverse=not reverse),
        words={"train": _words(train), "control": _words(control)},
        plain=tuple(r for r in knowledge.relations if words.plain(r)),
    )


def write_augmented(made: Augmented, folder: str | Path) -> Path:
    """Write everything to a folder, whole or not at all; the same data gives the same bytes.

    ``train``, ``control`` and ``questions`` as Parquet and JSONL, a card with which
    ``datasets.load_dataset`` reads them, and ``lm_eval/`` with one task for each kind of question.

    Raises:
        DataError: The folder exists already.
    """
    target = Path(folder)
    if target.exists():
        raise DataError(f"{target} exists already; choose another folder or remove it first")
    target.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        parts = {"train": made.train, "control": made.control, "questions": made.questions}
        for name, table in parts.items():
            shown = table if name == "questions" else _with_messages(table)
            shown.write_parquet(work / f"{name}.parquet")
            _jsonl(shown, work / f"{name}.jsonl")
        tasks = work / "lm_eval"
        tasks.mkdir()
        for (role,), table in made.questions.group_by("role", maintain_order=True):
            _jsonl(table, tasks / f"questions_{role}.jsonl")
            task = _TASK.format(name=f"inweights_{role}", role=role)
            (tasks / f"{role}.yaml").write_text(task, encoding="utf-8")
        counts = {**made.counts, **{f"words: {k}": v for k, v in made.words.items()}}
        listed = "\n".join(f"- {name}: {count}" for name, count in counts.items())
        (work / "README.md").write_text(_CARD.format(counts=listed), encoding="utf-8")
        work.chmod(0o755)  # as any folder that a user makes
        work.replace(target)
    except BaseException:
        shutil.rmtree(work, ignore_errors=True)
        raise
    return target


_SCHEMA: dict[str, Any] = {
    "fact": pl.Int64, "line": pl.Int64, "role": pl.String, "stage": pl.Int64,
    "prompt": pl.String, "completion": pl.String,
}  # fmt: skip
_QUESTION: dict[str, Any] = {
    "role": pl.String, "prompt": pl.String, "answer": pl.String,
    "candidates": pl.List(pl.String), "subject": pl.String, "first": pl.String,
    "bridge": pl.String, "second": pl.String,
}  # fmt: skip


def _statements(
    facts: Knowledge, words: Wording, stages: Any, paraphrase: int, *, reverse: bool
) -> Iterator[tuple[Any, ...]]:
    for i in range(len(facts)):
        s, r, o = facts.names(i)
        where = (i, int(facts.lines[i]))
        for k in range(min(paraphrase, len(words.templates(r)))):
            yield (*where, "fact", int(stages[i]), *words.state(r, s, o, k))
        if reverse:
            for k in range(min(paraphrase, 2)):
                yield (*where, "reverse", int(stages[i]), *words.turn(r, s, o, k))


def _identities(facts: Knowledge, words: Wording, paraphrase: int) -> list[tuple[Any, ...]]:
    return [
        (-1, -1, "identity", 0, *words.identify(facts.entities[b], k))
        for b in bridges_of(facts).tolist()
        for k in range(min(paraphrase, 3))
    ]


def _stages(facts: Knowledge) -> Any:
    """0 where another subject has the same value of the same relation, else 1."""
    key = facts.triples[:, 1] * len(facts.entities) + facts.triples[:, 2]
    _, place, counts = np.unique(key, return_inverse=True, return_counts=True)
    return np.where(counts[place] > 1, 0, 1)


def _finish(table: pl.DataFrame) -> pl.DataFrame:
    text = (pl.col("prompt") + pl.col("completion")).alias("text")
    return table.with_row_index("id").with_columns(text)


def _words(table: pl.DataFrame) -> int:
    text = pl.col("prompt") + pl.col("completion")
    return int(table.select(text.str.split(" ").list.len().sum()).item() or 0)


def _repeat(plain: pl.DataFrame, words: int, seed: int) -> pl.DataFrame:
    """Facts once, then again in a drawn order, until there are so many words."""
    rng = Streams(seed).numpy(WORLD, "control")
    text = pl.col("prompt") + pl.col("completion")
    lengths = plain.select(text.str.split(" ").list.len()).to_series().to_numpy()
    left = words - int(lengths.sum())
    rows = list(range(plain.height))
    while left > 0 and plain.height:
        fitting = [i for i in rng.permutation(plain.height).tolist() if lengths[i] <= left]
        if not fitting:
            break
        for i in fitting:
            if lengths[i] <= left:
                rows.append(i)
                left -= int(lengths[i])
    return plain[rows]


def _questions(facts: Knowledge, words: Wording, seed: int, *, reverse: bool) -> pl.DataFrame:
    """Compositions, and reversals where these are not trained."""
    values: dict[int, list[str]] = {}
    for _, r, o in facts.triples.tolist():
        values.setdefault(r, []).append(facts.entities[o])
    candidates = {r: list(dict.fromkeys(names)) for r, names in values.items()}
    after: dict[int, list[tuple[int, int]]] = {}
    for s, r, o in facts.triples.tolist():
        if s != o:
            after.setdefault(s, []).append((r, o))
    rng = Streams(seed).numpy(WORLD, "questions")
    rows: list[tuple[Any, ...]] = []
    for row in rng.permutation(len(facts)).tolist():
        s, r, b = facts.triples[row].tolist()
        for second, o in after.get(b, ()) if s != b else ():
            if len(rows) < QUESTIONS:
                first_name, second_name = facts.relations[r], facts.relations[second]
                subject, answer = facts.entities[s], facts.entities[o]
                rows.append(
                    (row, "composition", words.chain(first_name, second_name, subject), answer,
                     _among(candidates[second], answer, rng), subject, first_name,
                     facts.entities[b], second_name)
                )  # fmt: skip
    made = sorted(rows, key=lambda q: (q[0], q[2], q[3]))
    turned: list[tuple[Any, ...]] = []
    unique = _single(facts)
    for row in rng.permutation(len(facts)).tolist() if reverse else ():
        s, r, o = facts.names(row)
        if row in unique and len(turned) < QUESTIONS:
            prompt = words.turn(r, s, o, 1)[0]
            subjects = list(dict.fromkeys(facts.entities[k] for k in facts.triples[:, 0]))
            turned.append((row, "reversal", prompt, s, _among(subjects, s, rng), s, r, None, None))
    made += sorted(turned, key=lambda q: (q[0], q[2], q[3]))
    return pl.DataFrame([q[1:] for q in made], schema=_QUESTION, orient="row")


def _single(facts: Knowledge) -> set[int]:
    """Facts whose object has one subject only: those that can be asked in reverse."""
    key = facts.triples[:, 1] * len(facts.entities) + facts.triples[:, 2]
    _, place, counts = np.unique(key, return_inverse=True, return_counts=True)
    return set(np.flatnonzero(counts[place] == 1).tolist())


def _among(names: list[str], answer: str, rng: np.random.Generator) -> list[str]:
    """The answer among candidates of its kind, in alphabetical order."""
    others = [name for name in names if name != answer]
    if len(others) >= CANDIDATES:
        others = [others[i] for i in rng.permutation(len(others))[: CANDIDATES - 1].tolist()]
    return sorted([*others, answer])


def _with_messages(table: pl.DataFrame) -> pl.DataFrame:
    said = [
        pl.struct(role=pl.lit(role), content=pl.col(column).str.strip_chars())
        for role, column in (("user", "prompt"), ("assistant", "completion"))
    ]
    return table.with_columns(messages=pl.concat_list(said))


def _jsonl(table: pl.DataFrame, path: Path) -> None:
    encoder = msgspec.json.Encoder()
    path.write_bytes(b"".join(encoder.encode(row) + b"\n" for row in table.iter_rows(named=True)))
