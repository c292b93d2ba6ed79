"""Sentences said again by a language model; whether a fact survived is checked by who asks."""

from collections.abc import Callable, Sequence

from inweights.lm.model.load import LanguageModel
from inweights.lm.model.score import generate
from inweights.support.progress import Progress

_TOKENS = 40
_ASKED = "Say this sentence again in other words, and end with the same word: {}"
_SHOWN = (
    "Each sentence is said again in other words.\n"
    "Sentence: The author of Dracula is Bram Stoker.\n"
    "Again: Dracula was written by the author Bram Stoker.\n"
    "Sentence: The color of snow is white.\n"
    "Again: If one looks at snow, its color is white.\n"
    "Sentence: {}\n"
    "Again:"
)


def paraphraser(
    lm: LanguageModel, *, progress: Progress | None = None
) -> Callable[[Sequence[str]], list[str]]:
    """Return a function that says each sentence again: the likeliest line that the model writes.

    Args:
        lm: The model; in chat it is asked, else it is shown two examples.
        progress: Told about sentences done.

    Example:
        >>> from inweights.lm import load_model
        >>> len(paraphraser(load_model("@tiny"))(["Rome is in Italy.", "Oslo is in Norway."]))
        2
    """
    frame = _ASKED if lm.chat else _SHOWN
    tell = (lambda d, n: progress(d, n, "paraphrases")) if progress else None

    def rewrite(texts: Sequence[str]) -> list[str]:
        prompts = [frame.format(text) for text in texts]
        written = generate(lm, prompts, tokens=_TOKENS, stop="\n", progress=tell)
        return [text.strip() for text in written]

    return rewrite
