"""English phrases for the names of relations: nouns (``country``) or verbs (``reports_to``).

:func:`sense` determines which of them a name is; :class:`~inweights.worlds.Wording`
forms sentences from the phrase.
"""

import re
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from inweights.config import load_toml


class _Words(NamedTuple):
    """The lists of words in ``english.toml``."""

    verbs: frozenset[str]
    irregular: frozenset[str]
    events: frozenset[str]
    prepositions: frozenset[str]
    among_others: frozenset[str]
    nouns: dict[str, str]


@lru_cache(maxsize=1)
def _words() -> _Words:
    """Read the lists of words."""
    table = load_toml(Path(__file__).with_name("english.toml"))
    nouns = table.pop("nouns")
    return _Words(
        **{name: frozenset(text.split()) for name, text in table.items()}, nouns=nouns
    )


class Sense(NamedTuple):
    """The phrase for a relation's name: a noun, a verb or both.

    Attributes:
        noun: Noun phrase as in ``the NOUN of Ann``; empty if there is only a verb.
        verb: Verb phrase as in ``Ann VERB Bob``; empty if there is only a noun.
    """

    noun: str
    verb: str


def sense(name: str) -> Sense:
    """Return the noun and the verb phrase that a relation's name suggests.

    Args:
        name: Name of the relation, in ``snake_case``, ``camelCase`` or words.

    Returns:
        The noun and the verb phrase, of which at most one is empty.

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
    known = _words()
    if words[0] in ("is", "was", "are", "were") and len(words) > 1:
        return Sense(known.nouns.get(" ".join(words[1:]), ""), phrase)
    if words[0] == "has" and len(words) > 1 and words[-1] not in known.prepositions:
        return Sense(" ".join(words[1:]), "")
    noun = known.nouns.get(phrase, "")
    if words[0] in known.verbs and (len(words) == 1 or words[-1] in known.prepositions):
        return Sense(noun, phrase)
    if len(words) == 1 or words[-1] not in known.prepositions:
        led = len(words) > 1 and words[0] in ("in", "on", "from")  # as in inCountry
        return Sense(noun or " ".join(words[led:]), "")
    if words[0] == "died":
        return Sense(noun, phrase)
    if words[0] in known.irregular or words[0].endswith("ed"):
        return Sense(noun, f"{'was' if words[0] in known.events else 'is'} {phrase}")
    if words[0].endswith("s") and not words[0].endswith("ss"):
        return Sense(noun, phrase)
    if words[0] in known.prepositions or words[0] == "part":
        return Sense(noun, f"is {phrase}")
    described = a(phrase) if words[0] in known.among_others else f"the {phrase}"
    return Sense(noun, f"is {described}")


def a(noun: str) -> str:
    """Return a noun with its indefinite article, which is ``an`` before a, e, i, o and u.

    Args:
        noun: The noun, in lower case and not empty.

    Example:
        >>> a("employer"), a("member")
        ('an employer', 'a member')
    """
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"


def question(subject: str, verb: str) -> str:
    """Return a question that asks for the object of a verb.

    Args:
        subject: Person or thing that the question is about.
        verb: Verb phrase, such as ``reports to``.

    Returns:
        A question that begins with ``Who or what``. If the first word of the verb
        phrase does not end with s, and is not ``are``, ``were`` or ``died``, the
        question is ``SUBJECT VERB whom or what?`` instead.

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
    """Return a verb that ends in -s in the form that follows ``does``."""
    if verb.endswith("ies") and len(verb) > 4:
        return f"{verb[:-3]}y"
    if verb.endswith(("ches", "shes", "sses", "xes", "oes")):
        return verb[:-2]
    return verb[:-1]
