"""What kind of words a relation's name is: a noun, as ``country``, or a verb, as ``reports_to``."""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["Sense", "sense"]


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


#: Nouns for the verbs that are common as names of relations.
_NOUNS = {
    "born in": "birthplace", "born on": "date of birth", "died in": "place of death",
    "died on": "date of death", "lives in": "home", "works for": "employer", "works at": "employer",
    "works on": "project", "located in": "location", "headquartered in": "headquarters",
    "led by": "leader", "managed by": "manager", "owned by": "owner", "founded by": "founder",
    "founded in": "place or year of foundation", "written by": "author", "directed by": "director",
    "created by": "creator", "made by": "maker", "made of": "material", "married to": "spouse",
    "speaks": "language",
}  # fmt: skip
_PREPOSITIONS = _set(
    "about after against at before behind below beside between by for from in into near of on onto "
    "over to toward under upon with within"
)
#: Verbs that stand alone; other words in -s are taken for nouns (``address``, ``parents``).
_VERBS = _set(
    "admires advises affects approves assists attends audits borders builds buys calls causes "
    "chairs coaches contains controls covers creates cites designs develops directs eats edits "
    "employs follows funds has hates heads helps holds hosts includes influences inhibits invents "
    "kills knows leads likes lives loves maintains makes manages mentors needs operates oversees "
    "owns pays plays precedes produces prevents publishes rents replaces represents requires runs "
    "sells serves speaks sponsors stores studies succeeds supervises supplies supports teaches "
    "treats trains uses visits wants wears wins works writes"
)
_IRREGULAR = _set(
    "born bought bound brought built done driven eaten fed felt found given grown held kept known "
    "led left lost made met paid put read run seen sent set shot sold spoken spent taken taught "
    "told understood won worn written"
)


class Sense(NamedTuple):
    """How a relation's name is said.

    Attributes:
        noun: As in ``the NOUN of Ann``; empty where there is none.
        verb: As in ``Ann VERB Bob``; empty where there is none. There is always one of the two.
    """

    noun: str
    verb: str


def sense(name: str) -> Sense:
    """Return how the name of a relation is said.

    Example:
        >>> sense("reports_to"), sense("bornIn")
        (Sense(noun='', verb='reports to'), Sense(noun='birthplace', verb='was born in'))
        >>> sense("country"), sense("is_part_of"), sense("capital_of"), sense("has_owner")
        (Sense(noun='country', verb=''), Sense(noun='', verb='is part of'),
        Sense(noun='', verb='is the capital of'), Sense(noun='owner', verb=''))
    """
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).replace("_", " ")
    phrase = " ".join(spaced.lower().split()) or name
    words = phrase.split(" ")
    if words[0] in ("is", "was", "are", "were") and len(words) > 1:
        return Sense(_NOUNS.get(" ".join(words[1:]), ""), phrase)
    if words[0] == "has" and len(words) > 1 and words[-1] not in _PREPOSITIONS:
        return Sense(" ".join(words[1:]), "")
    noun = _NOUNS.get(phrase, "")
    if words[0] in _VERBS and (len(words) == 1 or words[-1] in _PREPOSITIONS):
        return Sense(noun, phrase)
    if len(words) == 1 or words[-1] not in _PREPOSITIONS:
        return Sense(phrase, "")
    if words[0] == "died":
        return Sense(noun, phrase)
    if words[0] in _IRREGULAR or words[0].endswith("ed"):
        return Sense(noun, f"{'was' if words[0] in ('born', 'founded') else 'is'} {phrase}")
    if words[0].endswith("s") and not words[0].endswith("ss"):
        return Sense(noun, phrase)
    if words[0] in _PREPOSITIONS or words[0] == "part":
        return Sense(noun, f"is {phrase}")
    return Sense(noun, f"is the {phrase}")
