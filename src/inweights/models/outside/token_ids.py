"""Map a world's names to token ids of a trained module: :func:`token_ids`.

The arguments ``tokens`` and ``vocabulary`` of :func:`inweights.wrap` determine the ids;
nothing is guessed.
"""

from collections.abc import Mapping, Sequence

from inweights.errors import DataError
from inweights.worlds.vocabulary import Vocabulary

#: Token ids by name, or in the order of the world's tokens. A name that consists of
#: several token ids has a list of them.
Tokens = Mapping[str, int | Sequence[int]] | Sequence[int | Sequence[int]]


def token_ids(
    tokens: Tokens | None, vocabulary: Vocabulary | int | None, size: int, label: str
) -> tuple[tuple[str, ...], tuple[tuple[int, ...], ...]]:
    """Return the names of the world's tokens, if known, and the module's ids for each name.

    Args:
        tokens: The module's ids, keyed by name or as a list in the world's order;
            ``None`` if the module uses the world's ids.
        vocabulary: The world's vocabulary, or its number of tokens; ``None`` if
            ``tokens`` or the module determines the number.
        size: Number of tokens of the module.
        label: Name of the module in messages.

    Returns:
        Two tuples: the names, empty if they are not known, and the ids of each name,
        empty if the module uses the world's ids.

    Raises:
        DataError: A name has no id, an id does not exist in the module, two names have
            the same ids, or ``tokens`` and the vocabulary differ in length; or
            ``tokens`` is not given, and the vocabulary has more tokens than the module.

    Example:
        >>> token_ids({"ann": 7, "bob": [2, 5]}, None, 9, "GPT")
        (('ann', 'bob'), ((7,), (2, 5)))
    """
    names = vocabulary.names if isinstance(vocabulary, Vocabulary) else ()
    if tokens is None:
        if number_of(vocabulary, size) > size:
            raise DataError(
                f"the world has {number_of(vocabulary)} tokens, but '{label}' returns logits "
                f"for {size} tokens; pass a dictionary from the names of tokens to ids, "
                f"tokens={{'name': id}}"
            )
        return names, ()
    if isinstance(tokens, Mapping):
        names = names or tuple(tokens)
        lacking = [name for name in names if name not in tokens]
        if lacking:
            raise DataError(
                f"'tokens' has no id for the world's token '{lacking[0]}' ({len(lacking)} of "
                f"{len(names)} are missing)"
            )
        tokens = [tokens[name] for name in names]
    ids = tuple(map(_as_ids, tokens))
    if len(ids) != number_of(vocabulary, len(ids)):
        raise DataError(
            f"'tokens' has {len(ids)} entries, but the vocabulary has {number_of(vocabulary)} "
            "tokens; give the ids of each token, in the order of the vocabulary"
        )
    called = names or tuple(f"token {place}" for place in range(len(ids)))
    seen: dict[tuple[int, ...], str] = {}
    for name, own in zip(called, ids, strict=True):
        if not own or not all(0 <= one < size for one in own):
            raise DataError(
                f"the token '{name}' must have ids from 0 to {size - 1}, which are the ids of "
                f"'{label}', got {list(own)}"
            )
        if own in seen:
            raise DataError(
                f"names must have distinct ids, but '{seen[own]}' and '{name}' both have "
                f"{list(own)}"
            )
        seen[own] = name
    return names, ids


def _as_ids(given: int | Sequence[int]) -> tuple[int, ...]:
    if hasattr(given, "__len__"):
        return tuple(int(one) for one in given)  # type: ignore[union-attr]
    return (int(given),)


def number_of(vocabulary: Vocabulary | int | None, usual: int = 0) -> int:
    """Return the number of tokens of a vocabulary.

    Args:
        vocabulary: A vocabulary, its number of tokens, or ``None``.
        usual: Number that is returned if ``vocabulary`` is ``None``.
    """
    if vocabulary is None:
        return usual
    return vocabulary if isinstance(vocabulary, int) else len(vocabulary)
