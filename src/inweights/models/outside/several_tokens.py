"""Messages about a world's names that consist of several tokens of a trained module.

:class:`~inweights.models.outside.trained_model.Trained` calls :func:`say_several` when
it is created; :func:`tokens_differ` returns the text of an error.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from inweights.errors import CautionWarning

if TYPE_CHECKING:
    from inweights.models.outside.module_configs import TrainedConfig


def say_several(config: TrainedConfig, ids: Sequence[Sequence[int]]) -> None:
    """Warn about names that consist of several tokens, or that count as the same answer.

    If answers are scored by their first id, names with the same first id are the same
    answer.

    Args:
        config: Config of the trained module.
        ids: Token ids of each name of the world, in the world's order. At least one
            name must have several ids, which is not checked.

    Warns:
        CautionWarning: Always; the message states how such names are treated in
            prompts, states and scores.
    """
    names = config.names or tuple(f"token {place}" for place in range(len(ids)))
    several = [name for name, own in zip(names, ids, strict=True) if len(own) > 1]
    by_first: dict[int, list[str]] = defaultdict(list)
    for name, own in zip(names, ids, strict=True):
        by_first[own[0]].append(name)
    alike = [group for group in by_first.values() if len(group) > 1]
    text = (
        f"{len(several)} of {len(names)} names consist of several tokens of '{config.label}', "
        f"such as '{several[0]}'. Prompts contain all tokens of a name, the state of a name is "
        "that at its last token, and "
    )
    if config.answers == "sum":
        text += (
            "the score of an answer is the sum of the log-probabilities of its tokens"
        )
        text += _said_of_beginnings(names, ids)
    else:
        text += (
            'the score of an answer is that of its first token (answers="sum" uses all)'
        )
        if alike:
            text += (
                f". {len(alike)} first tokens are shared by several names, such as "
                f"{' and '.join(map(repr, alike[0][:2]))}, which are then the same answer"
            )
    warnings.warn(text, CautionWarning, stacklevel=5)


def _said_of_beginnings(names: Sequence[str], ids: Sequence[Sequence[int]]) -> str:
    """Return a warning about a name whose ids begin with all ids of another name, or ""."""
    whole = {tuple(own): name for name, own in zip(names, ids, strict=True)}
    for name, own in zip(names, ids, strict=True):
        for end in range(1, len(own)):
            shorter = whole.get(tuple(own[:end]))
            if shorter is not None:
                return (
                    f". '{name}' begins with all tokens of '{shorter}', which is therefore "
                    "never less likely"
                )
    return ""


def tokens_differ(config: TrainedConfig, tokens: int) -> str:
    """Return the error message for a world whose number of tokens differs from a module's.

    Args:
        config: Config of the trained module.
        tokens: Number of tokens of the world.
    """
    return (
        f"'{config.label}' reads {config.vocabulary:,} tokens and the world has {tokens:,}; "
        "state which tokens are the world's: iw.wrap(module, vocabulary=world.vocabulary) if they "
        "are the first ones in the world's order, otherwise tokens={name: id}"
    )
