"""The vocabulary of a world: token names in named groups, and ids for them.

A world and its models share a :class:`Vocabulary`. The functions return names for
generated tokens.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from inweights.errors import DataError, check_names
from inweights.support.border import guarded

Ids = NDArray[np.int64]


class Vocabulary:
    """Token names in disjoint, named groups; a token's id is its index among all names.

    ``vocabulary[group]`` returns the token ids of a group, and raises a ``DataError``
    if there is no such group. ``group in vocabulary`` tests whether the group exists,
    and ``len(vocabulary)`` is the number of tokens.

    Args:
        groups: Names of the tokens of each group, in the order of their ids.

    Attributes:
        names: Names of all tokens; the index of a name is the token's id.

    Raises:
        DataError: A name occurs twice.

    Example:
        >>> words = Vocabulary({"subject": ["a1", "a2"], "object": ["c1"]})
        >>> len(words), words["object"].tolist(), words.names[1], words.id("c1")
        (3, [2], 'a2', 2)
        >>> words
        Vocabulary(3 tokens: 2 subject, 1 object)
    """

    @guarded
    def __init__(self, groups: Mapping[str, Sequence[str]]) -> None:
        """Number the token names of all groups from 0.

        Args:
            groups: Names of the tokens of each group, in the order of their ids.

        Raises:
            DataError: A name occurs twice.
        """
        self.names: tuple[str, ...] = tuple(chain.from_iterable(groups.values()))
        self._ids = {name: i for i, name in enumerate(self.names)}
        if len(self._ids) != len(self.names):
            seen: set[str] = set()
            for name in self.names:
                if name in seen:
                    raise DataError(
                        f"the token name '{name}' occurs twice in the vocabulary"
                    )
                seen.add(name)
        ends = np.cumsum([0, *map(len, groups.values())])
        self._spans = {
            g: (int(ends[i]), int(ends[i + 1])) for i, g in enumerate(groups)
        }

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, group: str) -> Ids:
        check_names("token group", [group], self._spans, error=DataError)
        return np.arange(*self._spans[group], dtype=np.int64)

    def __contains__(self, group: object) -> bool:
        return group in self._spans

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self.groups == other.groups

    def __hash__(self) -> int:
        return hash((self.names, tuple(self._spans)))

    @property
    def groups(self) -> dict[str, tuple[str, ...]]:
        """Dictionary that maps the name of each group to the names of its tokens."""
        return {group: self.names[a:b] for group, (a, b) in self._spans.items()}

    def id(self, name: str) -> int:
        """Return the id of a token.

        Args:
            name: Name of the token.

        Raises:
            DataError: The vocabulary has no such token.
        """
        check_names("token", [name], self._ids, error=DataError)
        return self._ids[name]

    def text(self, ids: Iterable[int]) -> str:
        """Return the names of tokens, joined by spaces.

        Args:
            ids: Ids of the tokens.

        Raises:
            IndexError: An id is not below the number of tokens. (Negative ids count
                from the end.)
        """
        return " ".join(self.names[i] for i in ids)

    def __repr__(self) -> str:
        groups = (counted(b - a, group) for group, (a, b) in self._spans.items())
        return f"Vocabulary({len(self):,} tokens: {', '.join(groups)})"


def numbered(stem: str, count: int) -> list[str]:
    """Return ``count`` names numbered from 1: for the stem ``a`` these are ``a1``, ``a2``, ….

    Args:
        stem: First part of each name.
        count: Number of names.
    """
    return [f"{stem}{i + 1}" for i in range(count)]


def bridge_levels(count: int) -> tuple[str, ...]:
    """Return names for the levels between the ends of a chain: ``bridge``, ``second bridge``, ….

    Args:
        count: Number of levels. If 0, the result is empty.
    """
    ordinals = ("", "second ", "third ", *(f"{n}th " for n in range(4, count + 1)))
    return tuple(f"{ordinal}bridge" for ordinal in ordinals[:count])


def counted(count: int, name: str) -> str:
    """Return a number and a name as text, such as ``1,000 edge``.

    Args:
        count: The number.
        name: Name of the counted things. It is used unchanged, without a plural form.
    """
    return f"{count:,} {name}"
