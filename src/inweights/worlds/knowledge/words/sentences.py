"""Parts of English sentences about facts and chains of facts, for :class:`.Wording`.

:func:`fill` forms a prompt and a completion from a template; :func:`stations` and
:func:`relative_clauses` describe the entities of a chain.
"""

from collections.abc import Sequence

from inweights.worlds.knowledge.words.english import Sense, a


def stations(senses: Sequence[Sense], subject: str) -> list[str]:
    """Describe each entity of a chain by its relation to the previous one.

    Args:
        senses: Noun and verb of each relation, in the order of the chain.
        subject: Name of the first entity of the chain.

    Returns:
        A noun phrase for the object of each relation.

    Example:
        >>> stations([Sense("birthplace", ""), Sense("", "lies in")], "Ann")
        ['the birthplace', 'the one that this one lies in']
    """
    places = []
    for k, (noun, verb) in enumerate(senses):
        if noun:
            places.append(f"the {noun}")
        elif k == 0:
            places.append(f"the one that {subject} {verb}")
        else:
            places.append(f"the one that this one {verb}")
    return places


def relative_clauses(senses: Sequence[Sense]) -> str:
    """Describe a chain of relations with relative clauses.

    Args:
        senses: Noun and verb of each relation, at least two.

    Returns:
        The text between the first and the last entity of the chain.

    Example:
        >>> relative_clauses([Sense("birthplace", ""), Sense("country", "")])
        'has a birthplace whose country is'
    """
    (first_noun, first_verb), *middle, (last_noun, last_verb) = senses
    parts = [f"has {a(first_noun)}" if first_noun else f"{first_verb} one"]
    for noun, verb in middle:
        parts.append(f"with {a(noun)}" if noun else f"that {verb} one")
    parts.append(f"whose {last_noun} is" if last_noun else f"that {last_verb}")
    return " ".join(parts)


def ended(thing: str, stop: str = ".") -> str:
    """Return a name with the full stop of its sentence, unless it ends with one, as ``Inc.`` does.

    Args:
        thing: The name.
        stop: Full stop or other mark that ends the sentence, or an empty string.
    """
    return thing if stop == "." and thing.endswith(".") else f"{thing}{stop}"


def fill(
    templates: Sequence[str], subject: str, thing: str, index: int
) -> tuple[str, str]:
    """Fill in a template, and split the text into a prompt and a completion.

    The completion begins with the space before the object, as is usual in the training
    of language models.

    Args:
        templates: Templates with ``{subject}``, then ``{object}``; at least one.
        subject: Name that replaces ``{subject}``.
        thing: Name that replaces ``{object}``.
        index: Index of the template; an index beyond the last one wraps around.

    Returns:
        The prompt, and the completion with a space before it and the end of the
        sentence.

    Example:
        >>> fill(["{subject} is in {object}."], "Rome", "Italy", 0)
        ('Rome is in', ' Italy.')
    """
    before, _, after = templates[index % len(templates)].partition("{object}")
    return before.replace("{subject}", subject).rstrip(), f" {ended(thing, after)}"
