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
    """Return statements once, then again in a drawn order, up to a number of tokens.

    Every mix then costs the same number of tokens, so that an effect that more of the
    same facts has as well is recognised as one of repetition.

    Args:
        lm: The model, with whose tokenizer tokens are counted.
        examples: The statements.
        tokens: Number of tokens of one pass.
        seed: Root seed of the order.

    Returns:
        The statements in their order, then repetitions, until no statement fits in the
        remaining tokens.

    Raises:
        ConfigError: The statements together have more than ``tokens`` tokens.
        DataError: There are no statements.
    """
    lengths = np.array([len(row.ids) for row in encode(lm, examples)])
    left = tokens - int(lengths.sum())
    if left < 0:
        raise ConfigError(
            f"the statements have {lengths.sum()} tokens, more than the {tokens} of a pass; raise "
            "'tokens'"
        )
    rng = Streams(seed).numpy(WORLD, "repeated")
    rows = list(range(len(examples)))
    while (lengths <= left).any():
        for i in rng.permutation(np.flatnonzero(lengths <= left)).tolist():
            if lengths[i] <= left:
                rows.append(i)
                left -= int(lengths[i])
    return [examples[i] for i in rows]
