"""Repeat training texts up to a number of tokens, so that all conditions cost the same."""

from collections.abc import Sequence

import numpy as np

from inweights.errors import ConfigError
from inweights.lm.model.data import Example, encode
from inweights.lm.model.load import LanguageModel
from inweights.seeds import WORLD, Streams


def fill_budget(
    lm: LanguageModel, examples: Sequence[Example], tokens: int, seed: int
) -> list[Example]:
    """Return all statements once, followed by repetitions in random order, up to a token limit.

    Every mix of statements then contains about the same number of tokens, so that an
    effect of mere repetition is not mistaken for an effect of the mix.

    Args:
        lm: The model, whose tokenizer counts the tokens.
        examples: The statements.
        tokens: Maximum number of tokens in one pass over the texts.
        seed: Root seed of the random order of repetitions.

    Returns:
        The statements in their order, followed by repetitions in random order, until no
        statement fits in the remaining tokens.

    Raises:
        ConfigError: The statements together have more than ``tokens`` tokens, or
            ``seed`` is negative.
        DataError: There are no statements, or one of them has no token to train on.
    """
    lengths = np.array([len(row.ids) for row in encode(lm, examples)])
    left = tokens - int(lengths.sum())
    if left < 0:
        raise ConfigError(
            f"the statements have {lengths.sum()} tokens, more than the {tokens} tokens "
            "of one pass; increase 'tokens'"
        )
    rng = Streams(seed).numpy(WORLD, "repeated")
    rows = list(range(len(examples)))
    while (lengths <= left).any():
        for i in rng.permutation(np.flatnonzero(lengths <= left)).tolist():
            if lengths[i] <= left:
                rows.append(i)
                left -= int(lengths[i])
    return [examples[i] for i in rows]
