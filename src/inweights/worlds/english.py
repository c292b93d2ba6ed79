"""What kind of words a relation's name is: a noun, as ``country``, or a verb, as ``reports_to``."""

from __future__ import annotations

import re
from typing import NamedTuple


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
    "speaks": "language", "based in": "location", "based at": "location", "located at": "location",
    "opened on": "opening date", "launched on": "launch date", "released on": "release date",
    "founded on": "date of foundation", "hired on": "hiring date",
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
#: What happened once.
_EVENTS = _set("born founded opened launched released established closed hired built discontinued")
#: What one may be beside others: ``is a member of``, where ``capital`` is ``the capital of``.
_AMONG_OTHERS = _set(
    "branch brother child citizen client colleague customer daughter department descendant "
    "division employee example friend instance kind member neighbour parent partner pupil "
    "resident shareholder sibling sister son student subsidiary supplier synonym type unit variant"
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
        >>> sense("member_of").verb, sense("opened in").verb, sense("inCountry").noun
        ('is a member of', 'was opened in', 'country')
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
        led = len(words) > 1 and words[0] in ("in", "on", "from")  # as in inCountry
        return Sense(" ".join(words[led:]), "")
    if words[0] == "died":
        return Sense(noun, phrase)
    if words[0] in _IRREGULAR or words[0].endswith("ed"):
        return Sense(noun, f"{'was' if words[0] in _EVENTS else 'is'} {phrase}")
    if words[0].endswith("s") and not words[0].endswith("ss"):
        return Sense(noun, phrase)
    if words[0] in _PREPOSITIONS or words[0] == "part":
        return Sense(noun, f"is {phrase}")
    return Sense(noun, f"is {a(phrase) if words[0] in _AMONG_OTHERS else f'the {phrase}'}")


def a(noun: str) -> str:
    """A noun with its article.

    Example:
        >>> a("employer"), a("member")
        ('an employer', 'a member')
    """
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"


def question(subject: str, verb: str) -> str:
    """Ask for the object of a verb.

    Example:
        >>> question("Ann", "reports to"), question("Ann", "is a member of")
        ('Who or what does Ann report to?', 'Who or what is Ann a member of?')
        >>> question("Ann", "teaches"), question("the king", "died in")
        ('Who or what does Ann teach?', 'Who or what did the king die in?')
    """
    first, _, rest = verb.partition(" ")
    if first in ("is", "was", "are", "were"):
        words = (first, subject, rest)
    elif first == "died":
        words = ("did", subject, f"die {rest}")
    elif first == "has":
        words = ("does", subject, f"have {rest}")
    elif first.endswith("s"):
        words = ("does", subject, f"{_plural(first)} {rest}")
    else:
        return f"{subject} {verb} whom or what?"
    return f"Who or what {' '.join(words).rstrip()}?"


def _plural(verb: str) -> str:
    """A verb in -s as it is after ``does``."""
    if verb.endswith("ies") and len(verb) > 4:
        return f"{verb[:-3]}y"
    return verb[: -2 if verb.endswith(("ches", "shes", "sses", "xes", "oes")) else -1]
