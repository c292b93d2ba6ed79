"""Text that a model writes itself before it is fine-tuned, so that training on it too keeps it."""

from __future__ import annotations

import os
from collections.abc import Sequence

from inweights.lm.data import Example
from inweights.lm.fine_tune import FineTune
from inweights.lm.load import LanguageModel
from inweights.lm.score import generate
from inweights.progress import Progress
from inweights.seeds import DATA_ORDER, Streams

__all__ = ["own_text", "replayed"]

#: What it writes on from; of nothing that is asked by :mod:`inweights.lm.general`.
_OPENINGS = (
    "The weather", "In the morning", "Scientists have", "A good way to", "The history of",
    "Once upon a time", "Many people", "The main reason", "In this article", "My favorite",
    "The book", "When you", "Some animals", "The city", "It is important to", "Yesterday",
    "There are several", "Music", "The best part of", "A large number of", "Our school", "Trees",
    "The first step", "He said that", "She was", "Computers", "The river", "For dinner",
    "The largest ocean is", "A fruit that is yellow is", "Birds can fly because", "A cat is",
    "The opposite of big is", "The capital of Spain is", "Ice is", "Ten minus one is",
)  # fmt: skip
_LENGTH = 40


def own_text(
    lm: LanguageModel,
    tokens: int,
    seed: int = 0,
    *,
    stage: int = 0,
    progress: Progress | None = None,
) -> list[Example]:
    """Let a model write, at temperature 1, about as many tokens as are wanted; whole sentences.

    In chat it answers, and the answers are learnt; else each text is learnt whole.

    Args:
        lm: The model, as it is before training.
        tokens: Tokens of all texts together, at most; at least one text is written.
        seed: Root seed of what is drawn.
        stage: Stage of the examples.
        progress: Told about texts done.

    Example:
        >>> from inweights.lm import load_model
        >>> len(own_text(load_model("@tiny"), 60)) >= 1
        True
    """
    wanted = max(1, -(-tokens // _LENGTH))
    rng = Streams(seed).numpy(DATA_ORDER, "openings")
    openings = [_OPENINGS[i] for i in rng.integers(len(_OPENINGS), size=wanted).tolist()]
    generator = Streams(seed).torch(DATA_ORDER, "own text")
    tell = (lambda d, n: progress(d, n, "writing text of its own")) if progress else None
    written = generate(lm, openings, tokens=_LENGTH, stop="", generator=generator, progress=tell)
    examples: list[Example] = []
    left = tokens
    for opening, text in zip(openings, written, strict=True):
        # A sentence that was cut off would teach the model to end there.
        end = max(text.rfind(mark) for mark in ".!?")
        whole = text[: end + 1] if end > 0 else text
        if not whole:
            continue
        told = ("", f"{opening} {whole}") if not lm.chat else (opening, f" {whole}")
        cost = sum(map(len, map(lm.tokens, told)))
        if cost <= left or not examples:
            examples.append(Example(*told, stage, old=True))
            left -= cost
    return examples


def replayed(
    lm: LanguageModel, examples: Sequence[Example], config: FineTune, seed: int
) -> list[Example]:
    """Return text of the model's own to train on besides the examples, in each of their stages.

    Example:
        >>> from inweights.lm import load_model
        >>> lm, fact = load_model("@tiny"), Example("Rome is in", " Italy.", stage=2)
        >>> [e.stage for e in replayed(lm, [fact], FineTune(replay=0.5), 0)]
        [2]
    """
    if not config.replay:
        return []
    lengths: dict[int, int] = {}
    for example in examples:
        tokens = len(lm.tokens(example.prompt)) + len(lm.tokens(example.completion))
        lengths[example.stage] = lengths.get(example.stage, 0) + tokens
    texts = [
        example
        for stage, tokens in sorted(lengths.items())
        for example in own_text(lm, round(config.replay * tokens), seed, stage=stage)
    ]
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        from accelerate.utils import broadcast_object_list

        # Devices round differently, and all processes have to train on the same.
        broadcast_object_list(texts)
    return texts
