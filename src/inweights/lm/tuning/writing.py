"""Let a model write text: its own, to be replayed in training, and paraphrases of facts.

:func:`inweights.lm.finetune` uses :func:`own_text` and :func:`replayed`, and
:func:`inweights.audit.augment` uses :func:`paraphraser`.
"""

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from inweights.config import load_toml
from inweights.lm.model.data import Example
from inweights.lm.model.ending import Ending
from inweights.lm.model.load import LanguageModel
from inweights.lm.model.score import generate, generate_stored
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
#: Minimum and maximum number of tokens of the model's own texts in one stage. Fewer than
#: the minimum are written if all epochs together read fewer.
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
    """Let a model write whole sentences at temperature 1, with a limited number of tokens.

    With a chat template, the texts are answers of the model to a user, and the loss
    will apply only to the answers. Otherwise it will apply to each whole text.

    Args:
        lm: The model before training.
        tokens: Maximum number of tokens of all texts together. The first text that is
            not empty is returned even if it is longer.
        seed: Root seed of the random draws; by default 0.
        stage: Number of the stage of the examples, by default 0; each stage has
            different texts.
        questions: Whether the model answers short questions of many kinds in a few
            words. By default (False), it writes prose.
        begun: File in which texts are stored as they are written, so that an
            interrupted call can be resumed; ``None`` for no file.
        progress: Function that is called with the number of texts done, the total
            number of texts, and a description; ``None`` for no progress reports.

    Returns:
        Examples with ``old`` set, in the order in which they were drawn; an empty list
        if the model wrote only empty texts.

    Raises:
        DataError: ``begun`` cannot be written.
        ConfigError: ``seed`` is not an integer from 0 to 2^63 - 1.

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
        tell(0, wanted)  # reported at once, because there may be only one block
    part = None
    if begun:
        part = begun.part("/".join(map(str, path)) or "prose")
    # The text does not stop early, because whole sentences are selected from it below.
    ending = Ending(tokens=length, stop="")
    written = generate_stored(lm, openings, ending, part, generator, tell)
    examples: list[Example] = []
    left = tokens
    for opening, text in zip(openings, written, strict=True):
        # An incomplete last sentence is removed, because it would teach the model to
        # end there.
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
    """Return the number of tokens that a model writes as its own texts for one stage.

    Args:
        tokens: Number of tokens of one pass over the stage's examples.
        config: Settings; ``replay`` and ``epochs`` are used.

    Returns:
        ``config.replay`` times ``tokens``, but at least 2,000 (unless all epochs
        together read fewer) and at most 50,000.

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
    """Let a model write texts of its own that are replayed with the examples of each stage.

    About half of their tokens are prose and half are short answers to questions, in
    random order.

    Args:
        lm: The model before training.
        examples: Examples, whose stages and lengths determine the amount of text.
        config: Settings; ``replay`` and ``epochs`` are used. If ``replay`` is 0, no
            texts are written.
        seed: Root seed of the random draws.
        progress: Function that is called with the number of texts done, the total
            number of texts, and a description; ``None`` for no progress reports.
        begun: File in which texts are stored as they are written, so that an
            interrupted call can be resumed; ``None`` for no file.

    Returns:
        Examples with ``old`` set, ordered by stage, with about :func:`tokens_to_write`
        tokens for each stage.

    Raises:
        DataError: ``begun`` cannot be written.
        ConfigError: ``seed`` is not an integer from 0 to 2^63 - 1.
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
        # The order is random, so that any part of the texts contains both kinds.
        drawn = (
            Streams(seed).numpy(DATA_ORDER, "replayed", stage).permutation(len(both))
        )
        texts += [both[i] for i in drawn.tolist()]
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        from accelerate.utils import broadcast_object_list

        # The texts of one process are sent to all others, because devices round
        # differently, but all processes must train on the same texts.
        broadcast_object_list(texts)
    return texts


def paraphraser(
    lm: LanguageModel, *, progress: Progress | None = None
) -> Callable[[Sequence[str]], list[str]]:
    """Return a function that lets a model paraphrase sentences.

    A paraphrase is the most likely line that the model writes. With a chat template,
    the prompt is an instruction; otherwise it contains two examples. The caller has to
    check whether the fact is preserved.

    Args:
        lm: The model.
        progress: Function that is called with the number of sentences done, the total
            number of sentences, and a description; ``None`` for no progress reports.

    Returns:
        A function from a list of sentences to a list of paraphrases, one for each
        sentence in the same order, each at most 40 tokens long.

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
