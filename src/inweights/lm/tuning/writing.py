"""Let a model write text: its own, to train on so that it keeps it; and paraphrases of facts.

:func:`own_text` and :func:`replayed` serve :func:`inweights.lm.finetune`,
:func:`paraphraser` serves :func:`inweights.audit.augment`.
"""

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from inweights.config import load_toml
from inweights.lm.model.data import Example
from inweights.lm.model.load import LanguageModel
from inweights.lm.model.score import Ending, generate, generate_stored
from inweights.lm.model.unfinished import BegunTexts
from inweights.lm.tuning.fine_tune import FineTune
from inweights.seeds import DATA_ORDER, Streams
from inweights.support.progress import Progress

_BEGUN = load_toml(Path(__file__).with_suffix(".toml"))
_OPENINGS: list[str] = _BEGUN["openings"]
_QUESTIONS: dict[str, str] = _BEGUN["questions"]
_LENGTH = 40
_SHORT = 12
_SENTENCE = 40
#: Tokens of texts of its own: of a tiny set at least so many, as far as they are read;
#: at most.
_LEAST = 2000
_MOST = 50_000


def own_text(
    lm: LanguageModel,
    tokens: int,
    seed: int = 0,
    *,
    stage: int = 0,
    questions: bool = False,
    begun: BegunTexts | None = None,
    progress: Progress | None = None,
) -> list[Example]:
    """Let a model write whole sentences at temperature 1, up to a number of tokens.

    In chat the model answers, and the answers are learnt; otherwise each text is learnt
    whole.

    Args:
        lm: The model, as it is before training.
        tokens: Maximum number of tokens of all texts together; at least one text is
            written.
        seed: Root seed of the random draws.
        stage: Stage of the examples; each stage has texts of its own.
        questions: Whether the model continues short questions of many kinds, for a few
            words.
        begun: Where texts are stored as they are written, so that an interrupted call
            goes on; None stores nothing.
        progress: Called with the number of texts done, their total and a text.

    Returns:
        Examples that are marked ``old``.

    Example:
        >>> from inweights.lm import load_model
        >>> len(own_text(load_model("@tiny"), 60)) >= 1
        True
    """
    path: tuple[str | int, ...] = ()
    if questions:
        path = ("questions", stage)
    elif stage:
        path = (stage,)
    length = _SHORT if questions else _LENGTH
    rng = Streams(seed).numpy(DATA_ORDER, "openings", *path)
    wanted = max(1, -(-tokens // length))
    if questions:
        asked: list[str] = []
        for frame, topics in _QUESTIONS.items():
            asked += list(map(frame.format, topics.split()))
        openings = [asked[i] for i in rng.permutation(len(asked))[:wanted].tolist()]
    else:
        openings = [
            _OPENINGS[i] for i in rng.integers(len(_OPENINGS), size=wanted).tolist()
        ]
    generator = Streams(seed).torch(DATA_ORDER, "own text", *path)
    tell = (lambda d, n: progress(d, n, "generating text")) if progress else None
    if tell:
        tell(0, wanted)  # so that a display knows when it began: one block may be all
    part = None
    if begun:
        part = begun.part("/".join(map(str, path)) or "prose")
    # No stop: whole sentences are cut out of the text below.
    ending = Ending(tokens=length, stop="")
    written = generate_stored(lm, openings, ending, part, generator, tell)
    examples: list[Example] = []
    left = tokens
    for opening, text in zip(openings, written, strict=True):
        # A sentence that was cut off would teach the model to end there.
        end = max(text.rfind(mark) for mark in ".!?")
        whole = text[: end + 1] if end > 0 else text
        if not whole:
            continue
        prompt, said = (
            ("", f"{opening} {whole}") if not lm.chat else (opening, f" {whole}")
        )
        cost = len(lm.tokens(prompt)) + len(lm.tokens(said))
        if cost <= left or not examples:
            examples.append(Example(prompt, said, stage, old=True))
            left -= cost
    return examples


def tokens_to_write(tokens: int, config: FineTune) -> float:
    """Return how many tokens of its own text a model writes for one stage.

    Args:
        tokens: Tokens of one pass over the stage's examples.
        config: Amount of replay, and epochs.

    Returns:
        ``config.replay`` times ``tokens``, but at least 2,000 (where all epochs read so
        many) and at most 50,000.

    Example:
        >>> tokens_to_write(5000, FineTune(replay=1.0))
        5000.0
    """
    once = config.replay * tokens
    return min(max(once, min(_LEAST, once * config.epochs)), _MOST)


def replayed(
    lm: LanguageModel,
    examples: Sequence[Example],
    config: FineTune,
    seed: int,
    progress: Progress | None = None,
    begun: BegunTexts | None = None,
) -> list[Example]:
    """Return texts of the model's own to read beside the examples, in each of their stages.

    Half is prose, half short answers to questions; they are read in turn.

    Args:
        lm: The model before training.
        examples: Examples, whose stages and lengths count.
        config: Amount of replay; with 0 there are no texts.
        seed: Root seed of the random draws.
        progress: Called with the number of texts done, their total and a text.
        begun: Where texts are stored as they are written, so that an interrupted call
            can go on; ``None`` to store nothing.

    Returns:
        Examples that are marked ``old``, of each stage as many tokens as
        :func:`tokens_to_write` says.
    """
    if not config.replay:
        return []
    lengths: dict[int, int] = {}
    for example in examples:
        tokens = len(lm.tokens(example.prompt)) + len(lm.tokens(example.completion))
        lengths[example.stage] = lengths.get(example.stage, 0) + tokens
    texts: list[Example] = []
    for stage, tokens in sorted(lengths.items()):
        half = round(tokens_to_write(tokens, config) / 2)
        own = partial(
            own_text, lm, half, seed, stage=stage, begun=begun, progress=progress
        )
        both = own() + own(questions=True)
        # In a drawn order, so that whatever is read of them is of both kinds.
        drawn = (
            Streams(seed).numpy(DATA_ORDER, "replayed", stage).permutation(len(both))
        )
        texts += [both[i] for i in drawn.tolist()]
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        from accelerate.utils import broadcast_object_list

        # Devices round differently, and all processes have to train on the same.
        broadcast_object_list(texts)
    return texts


def paraphraser(
    lm: LanguageModel, *, progress: Progress | None = None
) -> Callable[[Sequence[str]], list[str]]:
    """Return a function that rewrites each sentence: the likeliest line that the model writes.

    Whether a fact survived has to be checked by the caller. In chat the model is given
    an instruction, otherwise two examples.

    Args:
        lm: The model.
        progress: Called with the number of sentences done, their total and a text.

    Returns:
        A function from sentences to as many sentences.

    Example:
        >>> from inweights.lm import load_model
        >>> len(paraphraser(load_model("@tiny"))(["Rome is in Italy.", "Oslo is in Norway."]))
        2
    """
    frame: str = _BEGUN["again"]["chat" if lm.chat else "text"]
    tell = (lambda d, n: progress(d, n, "paraphrases")) if progress else None

    def rewrite(texts: Sequence[str]) -> list[str]:
        prompts = list(map(frame.format, texts))
        return generate(lm, prompts, tokens=_SENTENCE, stop="\n", progress=tell)

    return rewrite
