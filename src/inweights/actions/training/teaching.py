"""Teach a model facts in one way with one seed, and measure its knowledge afterwards.

:func:`prepare` creates the texts and questions, and :func:`teach_and_ask` trains and
evaluates. :func:`sizes` estimates the cost of each way.
"""

import time
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from typing import NamedTuple

import numpy as np
import polars as pl

from inweights import lm as language
from inweights.actions.training.settings import TrainingSettings
from inweights.audit import augment
from inweights.lm.exams.compare import ALL_HELD_OUT, HELD_OUT
from inweights.lm.exams.kinds import groups, kind_of
from inweights.lm.exams.retrieval import with_retrieved
from inweights.seeds import EVALUATION, Streams
from inweights.support.progress import Progress
from inweights.worlds.knowledge.knowledge import Knowledge
from inweights.worlds.knowledge.words.wording import Wording

#: Number of wordings of each fact in the training texts. Questions use the last
#: template.
_WORDINGS = 3
#: Number of questions and texts that measure earlier knowledge.
GENERAL = 28
#: A measured value: kind, name, value, and the number of questions or texts of which
#: the value is a mean.
Row = tuple[str, str, float, int]


class Prepared(NamedTuple):
    """The training texts of each way of teaching, and the questions.

    Attributes:
        trained: Training texts of each way of teaching, keyed by its name. Ways in
            which the model is not trained are left out.
        questions: The questions, which are the same for all ways.
        facts: The facts as sentences, one per fact.
    """

    trained: dict[str, list[language.Example]]
    questions: list[language.Question]
    facts: list[str]

    def asked(self, way: str, most: int) -> list[language.Question]:
        """Return the questions for a way of teaching, with added facts for ``retrieval``.

        For ``retrieval``, each question is preceded by facts that BM25 finds with the
        words of the question as the query. The field ``steps`` of the returned
        questions is empty. For all other ways, :attr:`questions` is returned unchanged.

        Args:
            way: Name of the way of teaching, such as ``retrieval`` (not checked).
            most: Maximum number of facts that precede a question, with ``retrieval``;
                at least 2 (not checked).

        Raises:
            ConfigError: The way is ``retrieval`` and ``bm25s`` is not installed.
        """
        if way == "retrieval":
            return with_retrieved(self.questions, self.facts, most=most)
        return self.questions


def prepare(settings: TrainingSettings, lm: language.LanguageModel) -> Prepared:
    """Create questions, and training texts of equal length for each way of teaching.

    Args:
        settings: Settings of the comparison.
        lm: The model, whose tokenizer is used to count tokens.

    Returns:
        The texts for the ways in ``settings.ways`` that involve training (the number of
        tokens is the same for each way), the questions (the same for all ways), and the
        facts as sentences.

    Raises:
        ConfigError: A strategy or a number is invalid for the facts, or the file of
            wordings cannot be read or does not match the facts.
        DataError: The facts cannot be read.
    """
    facts = settings.read_facts()
    file = settings.wording.name
    own = Wording.read(file, facts) if file else Wording()
    making = partial(
        augment,
        facts,
        wording=own,
        wordings=_WORDINGS,
        hold_out=settings.hold_out,
        floor=settings.floor,
        tokens=lambda texts: [len(lm.tokens(text)) for text in texts],
    )
    mixture = making(strategies=settings.strategy, budget=settings.tokens)
    entities = making(strategies=["entities"], budget=mixture.tokens["train"])
    tables = {
        "facts": mixture.control,
        "entities": entities.train,
        "mixture": mixture.train,
    }
    turn = "turn" if settings.chat else "prompt"
    trained = {}
    for way, table in tables.items():
        if way in settings.ways:
            rows = table.select(turn, "completion", "stage").rows()
            trained[way] = [language.Example(*row) for row in rows]
    asked = _asked(mixture.questions, entities.questions, settings.questions)
    if settings.chat:
        asked = asked.with_columns(prompt=pl.coalesce("question", "prompt"))
    train = mixture.train.with_columns(prompt=turn)
    questions = [q for q in language.exam(asked, train) if q.role != "skip"]
    words = own.over(facts)
    questions += islice(_in_new_words(facts, words), settings.questions)
    sentences = []
    for i in range(len(facts)):
        prompt, completion = words.state(*facts.names(i), 0)
        sentences.append(prompt + completion)
    return Prepared(trained, questions, sentences)


def _asked(mixture: pl.DataFrame, entities: pl.DataFrame, most: int) -> pl.DataFrame:
    """Draw questions of each kind, except compositions that the training texts of a way state."""
    told = pl.col("told").list.len() > 0
    prompt = pl.col("prompt")
    composed = pl.col("role") == "composition"
    # Compositions that the texts about entities state are left out: with these texts,
    # they would not require combining two facts.
    related = entities.filter(told & composed)["prompt"].to_list()
    fair = told | pl.col("stated") | ~prompt.is_in(related)
    asked = mixture.filter(prompt.is_in(entities["prompt"].to_list()) & fair)
    drawn = Streams(0).numpy(EVALUATION, "compared").permutation(asked.height)
    kinds = asked[drawn].group_by("role", told.alias("direct"), maintain_order=True)
    return kinds.head(most).drop("direct")


def _in_new_words(facts: Knowledge, words: Wording) -> Iterator[language.Question]:
    """Yield facts as questions in a wording that no way of teaching uses, in random order."""
    triples = list(map(facts.names, range(len(facts))))
    objects: dict[str, set[str]] = {relation: set() for relation in facts.relations}
    for _, relation, thing in triples:
        objects[relation].add(thing)
    order = Streams(0).numpy(EVALUATION, "new words").permutation(len(facts))
    for i in order.tolist():
        subject, relation, thing = triples[i]
        answers = tuple(sorted(objects[relation]))
        last = len(words.templates(relation)) - 1
        if len(answers) > 1 and last >= _WORDINGS:
            prompt = words.state(relation, subject, thing, last)[0]
            right = answers.index(thing)
            yield language.Question(f"recall {i}", "recall", prompt, answers, right)


def teach_and_ask(
    *, settings: TrainingSettings, way: str, seed: int = 0, progress: Progress
) -> pl.DataFrame:
    """Teach a model the facts in one way, and evaluate it on all questions.

    Args:
        settings: Settings of the comparison.
        way: Name of the way, one of ``settings.ways``. With ``untrained`` and
            ``retrieval``, the model is not trained.
        seed: Root seed of the order of the texts and of the adapters, by default 0.
            Texts and questions are the same for all seeds.
        progress: Function that is called with the number of updates or questions done,
            their total number, and the name of the stage: ``training``, ``asking`` or
            ``answering in words``.

    Returns:
        One row per measured number, with the columns ``kind``, ``name``, ``value`` and
        ``n``, the number of questions or texts over which ``value`` is averaged (1 for
        times and for the other costs of training). The kinds are:

        - ``accuracy`` (among candidates) and ``in words`` (of generated answers): the
          accuracy, from 0 to 1, for each group of questions.
        - ``answered`` and ``answered in words``: 1 or 0 for each question. The name is
          the kind of the question, a colon and its id.
        - ``kept``: the fraction of ``plain questions`` that are still answered
          correctly, and the fraction answered with a ``new name``.
        - ``language``: the ``perplexity`` of plain text.
        - ``minutes``: the duration of ``training`` and of ``asking``.
        - ``cost``: the number of ``tokens`` read, the number of ``updates``, and the
          mean number of tokens of a ``question``.

    Raises:
        ConfigError: The model cannot be loaded; the tuning settings, a strategy or the
            wordings are invalid; or an optional package (``peft``, ``bm25s``) is not
            installed.
        DataError: The facts or the model cannot be read.
        RunError: The loss is not a finite number.
    """
    lm = settings.load(seed)
    made = prepare(settings, lm)
    questions = made.asked(way, settings.retrieved)

    def trained_so_far(done: int, total: int, _what: str) -> None:
        progress(done, total, "training")

    began = time.perf_counter()
    done = None
    if way in made.trained:
        done = language.finetune(
            lm,
            made.trained[way],
            settings.tuning,
            seed=seed,
            progress=trained_so_far,
        )
    trained = time.perf_counter()
    rows = _accuracies(lm, questions, made.questions, progress)
    rows += _general(lm, questions)
    if done:
        rows.append(("cost", "tokens", float(done.tokens), 1))
        rows.append(("cost", "updates", float(done.losses.height), 1))
        rows.append(("minutes", "training", (trained - began) / 60, 1))
    else:
        rows += [("cost", "tokens", 0.0, 1), ("cost", "updates", 0.0, 1)]
        rows.append(("minutes", "training", 0.0, 1))
    rows.append(("minutes", "asking", (time.perf_counter() - trained) / 60, 1))
    lengths = [len(lm.tokens(question.prompt)) for question in questions]
    rows.append(("cost", "question", float(np.mean(lengths)), len(lengths)))
    return pl.DataFrame(rows, schema=("kind", "name", "value", "n"), orient="row")


def _accuracies(
    lm: language.LanguageModel,
    questions: Sequence[language.Question],
    same: Sequence[language.Question],
    progress: Progress,
) -> list[Row]:
    """Return the accuracy by kind of question, and whether each question is answered correctly."""
    answers = language.ask(lm, questions, progress=progress)
    exact = language.say(lm, questions, progress=progress)["exact"]
    said = answers.with_columns(hit=exact)
    rows: list[Row] = []
    for kind, table in (("accuracy", answers), ("in words", said)):
        rows += [(kind, *row) for row in _shares(groups(table, questions))]
    rows += _answered("answered", answers, same)
    rows += _answered("answered in words", said, same)
    return rows


def _general(
    lm: language.LanguageModel, questions: Sequence[language.Question]
) -> list[Row]:
    """Return measures of the model's earlier knowledge, from plain questions and plain text."""
    names = set[str]()
    for question in questions:
        names.update(question.candidates)
    general = language.general_knowledge(lm, sorted(names))
    plain = general.filter(kind="question")
    texts = general.filter(kind="text")
    perplexity = float(np.exp(_mean(texts["nats"])))
    return [
        ("kept", "plain questions", _mean(plain["hit"]), plain.height),
        ("kept", "new name", _mean(plain["spilled"]), plain.height),
        ("language", "perplexity", perplexity, texts.height),
    ]


def _shares(found: pl.DataFrame) -> list[tuple[str, float, int]]:
    """Return the accuracy by group, and over all held-out questions."""
    rows = [(name, hit, n) for name, n, hit in found.select(pl.nth(0, 1, 2)).rows()]
    held = [(hit, n) for name, hit, n in rows if name in HELD_OUT]
    if held:
        total = sum(n for _, n in held)
        right = sum(hit * n for hit, n in held)
        rows.append((ALL_HELD_OUT, right / total, total))
    return rows


def _answered(
    what: str, table: pl.DataFrame, questions: Sequence[language.Question]
) -> list[Row]:
    """Return whether each question is answered correctly, to pair ways by question."""
    hits = dict(table.select("id", "hit").iter_rows())
    # The same fact may be a hop of several chains, but is counted once.
    once = {question.prompt: question for question in questions}
    rows: list[Row] = []
    for question in once.values():
        name = f"{kind_of(question)}: {question.id}"
        rows.append((what, name, float(hits[question.id]), 1))
    return rows


def _mean(column: pl.Series) -> float:
    return float(column.cast(pl.Float64).mean())  # type: ignore[arg-type]
