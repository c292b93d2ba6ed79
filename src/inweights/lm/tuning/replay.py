"""Text that a model writes itself before it is fine-tuned, so that training on it too keeps it."""

from __future__ import annotations

import os
from collections.abc import Sequence

from inweights.lm.model.data import Example
from inweights.lm.model.load import LanguageModel
from inweights.lm.model.score import generate
from inweights.lm.tuning.fine_tune import FineTune
from inweights.seeds import DATA_ORDER, Streams
from inweights.support.progress import Progress

#: What it writes on from; of nothing that is asked by :mod:`inweights.lm.exams.general`.
_OPENINGS = (
    "The weather", "In the morning", "Scientists have", "A good way to", "The history of",
    "Once upon a time", "Many people", "The main reason", "In this article", "My favorite",
    "The book", "When you", "Some animals", "The city", "It is important to", "Yesterday",
    "There are several", "Music", "The best part of", "A large number of", "Our school", "Trees",
    "The first step", "He said that", "She was", "Computers", "The river", "For dinner",
    "The largest ocean is", "A fruit that is yellow is", "Birds can fly because", "A cat is",
    "The opposite of big is", "The capital of Spain is", "Ice is", "Ten minus one is",
)  # fmt: skip
#: Short questions of many kinds, that a name is said to first when a model is told names.
_QUESTIONS = {
    "The capital of {} is": "Spain Germany China India Egypt Mexico Canada Greece Poland Russia",
    "The language of {} is": "Spain China Egypt Mexico Greece",
    "The opposite of {} is": "big dark old hard rich early empty near",
    "The color of {} is": "snow blood coal gold milk",
    "{} was born in": "Napoleon Mozart Gandhi Picasso Cleopatra Columbus Darwin Beethoven",
    "{} was written by": "Hamlet Frankenstein Dracula Ulysses Faust",
    "{} is famous for": "Galileo Bach Plato Tesla",
    "A baby {} is called a": "cat cow horse sheep",
    "The day after {} is": "Wednesday Saturday Sunday",
    "{} is": "Ice Gold Chess Water Love Madrid Cairo Sydney Moscow Toronto",
    "{} are": "Apples Wolves Books Diamonds Teachers Cars",
    "{} can": "Birds Fish Computers Children",
    "A {} is used to": "hammer knife telescope pen",
    "The largest {} is": "ocean animal country desert",
    "The inventor of the {} was": "telephone airplane radio",
    "The {} of the book is": "title author price owner",
    "The {} of a tree is": "trunk age root",
    "My {} works at": "father neighbor sister",
    "My {} lives in": "uncle friend teacher",
    "{} eat": "Cats Rabbits Lions People",
    "We use {} to": "soap money fire paper",
}
_LENGTH, _SHORT = 40, 12
#: Tokens of texts of its own: of a tiny set at least so many, as far as they are read; at most.
_LEAST, _MOST = 2000, 50_000


def own_text(
    lm: LanguageModel,
    tokens: int,
    seed: int = 0,
    *,
    stage: int = 0,
    questions: bool = False,
    progress: Progress | None = None,
) -> list[Example]:
    """Let a model write, at temperature 1, about as many tokens as are wanted; whole sentences.

    In chat it answers, and the answers are learnt; else each text is learnt whole.

    Args:
        lm: The model, as it is before training.
        tokens: Tokens of all texts together, at most; at least one text is written.
        seed: Root seed of what is drawn.
        stage: Stage of the examples; each has texts of its own.
        questions: Whether it goes on from short questions of many kinds, for a few words.
        progress: Told about texts done.

    Example:
        >>> from inweights.lm import load_model
        >>> len(own_text(load_model("@tiny"), 60)) >= 1
        True
    """
    path = ("questions", stage) if questions else (stage,) if stage else ()
    length = _SHORT if questions else _LENGTH
    rng = Streams(seed).numpy(DATA_ORDER, "openings", *path)
    wanted = max(1, -(-tokens // length))
    if questions:
        begun = [frame.format(x) for frame, xs in _QUESTIONS.items() for x in xs.split()]
        openings = [begun[i] for i in rng.permutation(len(begun))[:wanted].tolist()]
    else:
        openings = [_OPENINGS[i] for i in rng.integers(len(_OPENINGS), size=wanted).tolist()]
    generator = Streams(seed).torch(DATA_ORDER, "own text", *path)
    tell = (lambda d, n: progress(d, n, "generating text")) if progress else None
    written = generate(lm, openings, tokens=length, stop="", generator=generator, progress=tell)
    examples: list[Example] = []
    left = tokens
    for opening, text in zip(openings, written, strict=True):
        # A sentence that was cut off would teach the model to end there.
        end = max(text.rfind(mark) for mark in ".!?")
        whole = text[: end + 1] if end > 0 else text
        if not whole:
            continue
        prompt, said = ("", f"{opening} {whole}") if not lm.chat else (opening, f" {whole}")
        cost = len(lm.tokens(prompt)) + len(lm.tokens(said))
        if cost <= left or not examples:
            examples.append(Example(prompt, said, stage, old=True))
            left -= cost
    return examples


def replayed(
    lm: LanguageModel, examples: Sequence[Example], config: FineTune, seed: int
) -> list[Example]:
    """Return texts of the model's own to read besides the examples, in each of their stages.

    Half is prose, half what it says to short questions. Of each stage as many tokens as
    ``config.replay`` says of one epoch, but at least 2,000 where the epochs read so many, and at
    most 50,000; they are read in turn.
    """
    if not config.replay:
        return []
    lengths: dict[int, int] = {}
    for example in examples:
        tokens = len(lm.tokens(example.prompt)) + len(lm.tokens(example.completion))
        lengths[example.stage] = lengths.get(example.stage, 0) + tokens
    texts: list[Example] = []
    for stage, tokens in sorted(lengths.items()):
        once = config.replay * tokens
        half = round(min(max(once, min(_LEAST, once * config.epochs)), _MOST) / 2)
        both = own_text(lm, half, seed, stage=stage)
        both += own_text(lm, half, seed, stage=stage, questions=True)
        # In a drawn order, so that whatever is read of them is of both kinds.
        drawn = Streams(seed).numpy(DATA_ORDER, "replayed", stage).permutation(len(both))
        texts += [both[i] for i in drawn.tolist()]
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        from accelerate.utils import broadcast_object_list

        # Devices round differently, and all processes have to train on the same.
        broadcast_object_list(texts)
    return texts
