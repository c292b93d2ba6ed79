"""Find the columns of subject, relation and object of a table from the words of its header.

The main function is :func:`places_of`. The same list of words, ``headers.toml``, is
used for facts (:data:`FACTS`) and edges (:data:`EDGES`).
"""

import re
import tomllib
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

#: Roles of the columns of a fact, in the order in which users name them.
FACTS = ("subject", "relation", "object")
#: Roles of the columns of an edge.
EDGES = ("subject", "object")

#: Number of characters of a cell that are compared; no word of a header is longer.
LONGEST = 200

#: Further columns that a header may name, which are not part of a fact.
_BESIDE = ("stage", "weight", "number")
#: Endings that distinguish two columns of one kind.
_ENDS = (("1", "2"), ("a", "b"))


@lru_cache(maxsize=1)
def _table() -> Mapping[str, Any]:
    """Read the words of headers from ``headers.toml``."""
    text = Path(__file__).with_name("headers.toml").read_text(encoding="utf-8")
    found = tomllib.loads(text)
    relation = found["relation"]
    relation["words"] = [*relation["clear"], *relation["words"]]
    return found


@lru_cache(maxsize=1)
def _known() -> Mapping[str, Mapping[str, int]]:
    """Return the rank of each known word by role, with words in plain form; 0 is the best rank."""
    known = {}
    for role, part in _table().items():
        if "words" in part:
            known[role] = _ranks(part["words"])
    return known


def _ranks(words: Sequence[str]) -> dict[str, int]:
    """Return the index of the first occurrence of each word, in its plain form."""
    ranks: dict[str, int] = {}
    for rank, word in enumerate(words):
        ranks.setdefault(" ".join(_tokens(word)), rank)
    return ranks


def _tokens(name: str) -> list[str]:
    """Return the words of a name, without accents, case, brackets and punctuation.

    Example:
        >>> _tokens("propLabel"), _tokens("Node_1"), _tokens(":START_ID"), _tokens("Prädikat")
        (['prop', 'label'], ['node', '1'], ['start', 'id'], ['pradikat'])
    """
    text = re.sub(r"\([^)]*\)", " ", name[:LONGEST])
    text = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text)
    plain = re.sub(r"(?<=[^\W\d_])(?=\d)", " ", without_accents(text))
    return [word for word in re.split(r"[\W_]+", plain) if word]


def places_of(
    names: Sequence[str], needed: Sequence[str] = FACTS
) -> dict[str, int] | None:
    """Return the index of the column of each role, from the words of a header.

    Case, accents and punctuation do not matter. For facts, if the words name two of the
    three roles and only one other column exists, it has the third role.

    Args:
        names: Cells of a header, or keys of an object.
        needed: Roles of the required columns: ``FACTS`` (``subject``, ``relation``,
            ``object``) or ``EDGES`` (``subject``, ``object``).

    Returns:
        Indices, from 0, of the required columns, and of columns with the roles
        ``relation``, ``stage``, ``weight`` and ``number`` if they exist; ``None`` if a
        required column is not found.

    Example:
        >>> places_of(["id", "source", "target", "label"])
        {'subject': 1, 'object': 2, 'relation': 3, 'number': 0}
        >>> places_of(["node1", "node2"], EDGES), places_of(["Ana", "likes", "Ben"])
        ({'subject': 0, 'object': 1}, None)
    """
    if len(names) > 2 and is_numbered(names):
        return None
    found = _by_words(names)
    for role, place in _by_endings(names):
        if not {"subject", "object"} <= found.keys():
            found[role] = place
    lacking = [role for role in needed if role not in found]
    # If only one column is left, it has the third role.
    if len(lacking) == 1 and len(needed) > 2:
        words = [names[found[role]] for role in needed if role in found]
        left = []
        for place, name in enumerate(names):
            if place not in found.values() and name.strip():
                left.append(place)
        if len(left) == 1 and all(len(word.strip()) > 1 for word in words):
            found[lacking[0]] = left[0]
            lacking = []
    return None if lacking else found


def without_accents(name: str) -> str:
    """Return a name in lower case, without accents."""
    text = unicodedata.normalize("NFKD", name.casefold())
    return "".join(c for c in text if not unicodedata.combining(c))


def found_roles(names: Sequence[str]) -> dict[str, int]:
    """Return the index of the column of each role that a header names.

    Unlike :func:`places_of`, this function does not require that all roles are found,
    and does not infer a missing role from the remaining column.

    Args:
        names: Cells of a header, or keys of an object.

    Returns:
        Dictionary that maps a role (``subject``, ``relation``, ``object``, ``stage``,
        ``weight`` or ``number``) to the index of its column, from 0. Roles that no name
        fits are left out.

    Example:
        >>> found_roles(["subject", "prompt", "answer"])
        {'subject': 0}
    """
    return _by_words(names)


def has_clear_word(names: Sequence[str]) -> bool:
    """Return whether any name is a word that can only mean a relation, such as *predicate*.

    Args:
        names: Cells of a header.
    """
    clear = {" ".join(_tokens(word)) for word in _table()["relation"]["clear"]}
    return any(" ".join(_tokens(name)) in clear for name in names)


def is_numbered(names: Sequence[str]) -> bool:
    """Return whether names are merely column numbers: ``col1, col2, col3``, or ``0, 1, 2``.

    Args:
        names: Cells of a header. If there is only one, the result is False.

    Example:
        >>> is_numbered(["V1", "V2", "V3"]), is_numbered(["0", "1", "2"]), is_numbered(["a1", "b2"])
        (True, True, False)
    """
    parts = [re.fullmatch(r"(\D*?)(\d+)", name.strip()) for name in names]
    if len(parts) < 2 or not all(parts):
        return False
    found = [(part[1], int(part[2])) for part in parts if part]
    start = found[0][1]
    counted = [number for _, number in found] == list(range(start, start + len(found)))
    return counted and start in (0, 1) and len({stem for stem, _ in found}) == 1


def _by_words(names: Sequence[str]) -> dict[str, int]:
    """Return the index of the best column for each role; a column has at most one role."""
    ranked: list[tuple[tuple[int, int], int, str]] = []
    for place, name in enumerate(names):
        ranked += [(quality, place, role) for role, quality in _roles(name)]
    found: dict[str, int] = {}
    for _, place, role in sorted(ranked):
        if role not in found and place not in found.values():
            found[role] = place
    return found


def _roles(name: str) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield roles that a name may have, each with the rank of the match (the lowest is best)."""
    words = _tokens(name)
    known = _known()
    beside = _table()["beside"]
    whole = " ".join(words)
    manners = (
        (1, ()),
        (0, beside["better"]),
        (2, beside["same"]),
        (3, beside["worse"]),
    )
    for role, ranks in known.items():
        later = 10 if role in _BESIDE else 0
        for manner, dropped in manners:
            rest = [word for word in words if word not in dropped]
            text = " ".join(rest)
            if text in ranks and (manner == 1 or text != whole):
                yield role, (manner + later, ranks[text])
                break
        else:
            # For example, source_airport or station_to.
            inside = [word for word in words if len(word) > 1 and word in ranks]
            if role in EDGES and len(words) == 2 and len(inside) == 1:
                yield role, (5, ranks[inside[0]])


def _by_endings(names: Sequence[str]) -> list[tuple[str, int]]:
    """Find subject and object in two numbered columns with one stem: ``person1, person2``."""
    words = list(map(_tokens, names))
    for first, second in _ENDS:
        for place, own in enumerate(words):
            pair = [*own[:-1], second]
            if len(own) > 1 and own[-1] == first and words.count(pair) == 1:
                return [("subject", place), ("object", words.index(pair))]
    return []
