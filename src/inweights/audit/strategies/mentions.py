"""Find the entities that a text names.

:class:`Mentions` is used to mark questions that a training text answers directly, and
to check texts that a model reworded.
"""

import re
from collections import defaultdict
from collections.abc import Sequence

_PART = re.compile(r"\w+|[^\w\s]")


class Mentions:
    """Finder of names in texts, which matches whole words.

    If several names begin at the same position in a text, the longest one is found.

    Args:
        names: The names to find. Results refer to them by index; a name that occurs
            twice is represented by its first index.
    """

    def __init__(self, names: Sequence[str]) -> None:
        """Prepare to find names in texts, as whole words.

        Args:
            names: The names; results refer to them by index.
        """
        found: defaultdict[str, list[tuple[tuple[str, ...], int]]] = defaultdict(list)
        for number, name in enumerate(names):
            parts = tuple(_PART.findall(name))
            if parts:
                found[parts[0]].append((parts, number))
        self._names = {
            first: sorted(found[first], key=lambda n: -len(n[0])) for first in found
        }

    def __call__(self, text: str) -> list[int]:
        """Return the indices of the names that a text contains, in the order of the text.

        Matching is case-sensitive. A name that occurs twice in the text is listed
        twice.

        Args:
            text: The text.
        """
        parts = tuple(_PART.findall(text))
        named = []
        at = 0
        while at < len(parts):
            step = 1
            for name, number in self._names.get(parts[at], ()):
                if parts[at : at + len(name)] == name:
                    named.append(number)
                    step = len(name)
                    break
            at += step
        return named
