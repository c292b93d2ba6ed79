"""Find pairs of names that differ by one or two letters, or by an initial.

:func:`similar_names` yields such pairs with a description of the difference. It
compares only the names; :mod:`inweights.audit.correction.near` then decides from the
facts whether two names can mean the same entity.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations

from inweights.worlds.knowledge.checks.names import is_literal, is_nothing
from inweights.worlds.readers.tables.headers import without_accents
from inweights.worlds.world import Ids

#: Minimum length of the longer of two names that may differ by one edit, and by two.
_SHORTEST = (5, 8)
#: Maximum number of names that agree once letters are omitted. Larger groups are
#: skipped: such names usually differ in a number or letter that enumerates them.
_MOST = 12
#: If there are more names than this, only pairs that differ by one edit are searched
#: for.
_MANY = 5000


def similar_names(names: Sequence[str], used: Ids) -> Iterator[tuple[int, int, str]]:
    """Yield pairs of names with similar spellings, and describe how they differ.

    Two names are similar if they differ by one edit (:func:`count_edits`) and the
    longer one has at least 5 characters; if they differ by two edits and the longer one
    has at least 8 characters; or if they are equal except that one contains only the
    initial of the first name. If more than 5,000 names are compared, only one edit is
    allowed. Accents and case are ignored. The function leaves out dates, numbers,
    placeholders, names that differ only in a number (:func:`differ_in_words`), and
    groups of more than 12 names that become equal when one or two letters are removed.

    Args:
        names: Names of all entities.
        used: Indices in ``names`` of the ``N`` names to compare, ``[N]`` (NumPy).

    Yields:
        The indices of both names in ``names``, and a description of the difference:
        ``1 letter apart``, ``2 letters apart`` or ``an initial``.
    """
    plain = {
        i: " ".join(without_accents(names[i]).split())
        for i in used.tolist()
        if not is_literal(names[i]) and not is_nothing(names[i])
    }
    yield from _pairs_by_letters(plain)
    yield from _pairs_by_initial(plain)


def _pairs_by_letters(plain: dict[int, str]) -> Iterator[tuple[int, int, str]]:
    seen = set()
    shortest = _SHORTEST if len(plain) <= _MANY else _SHORTEST[:1]
    for members in _buckets(plain, shortest).values():
        for pair in combinations(members, 2):
            if pair in seen:
                continue
            seen.add(pair)
            one, other = (plain[i] for i in pair)
            edits = count_edits(one, other)
            longest = max(len(one), len(other))
            allowed = sum(longest >= least for least in shortest)
            if 0 < edits <= allowed and differ_in_words(one, other):
                yield *pair, f"{edits} letter{'s' if edits > 1 else ''} apart"


def _pairs_by_initial(plain: dict[int, str]) -> Iterator[tuple[int, int, str]]:
    """Yield pairs such as ``J. Smith`` and ``John Smith``."""
    in_full: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    initials: list[tuple[int, tuple[str, str]]] = []
    for i, name in plain.items():
        first, _, rest = name.partition(" ")
        if not rest:
            continue
        letters = len(first.rstrip("."))
        if letters > 1:
            in_full[first[0], rest].append(i)
        elif letters == 1:
            initials.append((i, (first[0], rest)))
    for i, key in initials:
        for other in in_full.get(key, ()):
            yield min(i, other), max(i, other), "an initial"


def _buckets(plain: dict[int, str], shortest: Sequence[int]) -> dict[str, list[int]]:
    """Group names that are equal after removing one or two letters from each.

    Args:
        plain: Names by their index.
        shortest: Minimum length of the longer name for each number of edits.
    """
    found: defaultdict[str, list[int]] = defaultdict(list)
    for i, name in plain.items():
        # Names that differ by few edits agree once as many letters are omitted. Only
        # names that share a key are compared, rather than all pairs.
        keys = {name}
        for least in shortest:
            # The limit applies to the longer of two names; the shorter one may have one
            # letter less.
            if len(name) >= least - 1:
                for key in tuple(keys):
                    keys |= {key[:k] + key[k + 1 :] for k in range(len(key))}
        for key in keys:
            found[key].append(i)
    return {key: members for key, members in found.items() if 1 < len(members) <= _MOST}


def differ_in_words(one: str, other: str) -> bool:
    """Return whether two names differ in spelling rather than in a number or a short word.

    Args:
        one: A name.
        other: Another name.

    Returns:
        True if the names may be spellings of one name. False in two cases: a word that
        differs contains a digit or has fewer than three letters in one of the names, as
        in ``room 12`` and ``room 13``; or the names have different numbers of words and
        one of the names contains a digit.

    Example:
        >>> differ_in_words("anna karenina", "ana karenina"), differ_in_words("room 12", "room 13")
        (True, False)
    """
    parts = one.split()
    other_parts = other.split()
    if len(parts) != len(other_parts):
        return not _has_digit(one + other)
    for part, other_part in zip(parts, other_parts, strict=True):
        if part == other_part:
            continue
        # Short words and digits often distinguish names of a series, such as Louis XV
        # and Louis XVI, or Boeing 747 and 757.
        if min(len(part), len(other_part)) < 3 or _has_digit(part + other_part):
            return False
    return True


def _has_digit(text: str) -> bool:
    return any(letter.isdigit() for letter in text)


def count_edits(one: str, other: str) -> int:
    """Return the number of edits between two texts (optimal string alignment distance).

    An edit inserts, deletes or replaces a character, or swaps two adjacent characters.

    Args:
        one: A text.
        other: Another text.

    Returns:
        Number of edits; 0 for equal texts.

    Example:
        >>> count_edits("venice", "vencie"), count_edits("oslo", "osl")
        (1, 1)
    """
    # The row before the last one is needed for swaps of two adjacent letters.
    before = list[int]()
    last = list(range(len(other) + 1))
    for i, x in enumerate(one):
        row = [i + 1]
        for j, y in enumerate(other):
            cost = min(last[j + 1] + 1, row[j] + 1, last[j] + (x != y))
            swapped = i and j and x == other[j - 1] and one[i - 1] == y
            if swapped:
                cost = min(cost, before[j - 1] + 1)
            row.append(cost)
        before = last
        last = row
    return last[-1]
