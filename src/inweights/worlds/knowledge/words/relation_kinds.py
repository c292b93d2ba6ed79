"""Kinds of relations by their objects, such as persons, and the questions for each kind.

:func:`kinds_of_relations` returns the kinds of ``kinds.toml``; a user's
:class:`.Wording` may add relations to them and replace their questions.
"""

import re
from functools import lru_cache
from pathlib import Path

from inweights.config import Config, decode, load_toml
from inweights.errors import ConfigError


class KindOfRelation(Config):
    """Question templates for relations whose objects are of one kind, such as persons.

    Attributes:
        relations: Names, nouns (``spouse``) and verbs (``reports to``) of the relations
            of the kind.
        ask: Template of a question about a subject, with ``{subject}`` and ``{noun}``.
            If this or one of the next two fields is empty, the text in ``kinds.toml``
            is used.
        ask_chain: Template of a question about the entity that ``{phrase}`` describes,
            with ``{phrase}`` and ``{noun}``.
        ask_verb: First words of a question with a verb, such as ``Who``.

    Raises:
        ConfigError: A template lacks one of these placeholders, or contains another
            placeholder.
    """

    relations: tuple[str, ...] = ()
    ask: str = ""
    ask_chain: str = ""
    ask_verb: str = ""

    def __post_init__(self) -> None:
        for template, needed in ((self.ask, "subject"), (self.ask_chain, "phrase")):
            if template and set(re.findall(r"\{(.*?)\}", template)) != {needed, "noun"}:
                raise ConfigError(
                    f"the template '{template}' of a kind of relation must contain "
                    f"{{{needed}}} and {{noun}}"
                )


@lru_cache(maxsize=1)
def kinds_of_relations() -> dict[str, KindOfRelation]:
    """Return the kinds ``person``, ``name`` and ``other`` of ``kinds.toml``, keyed by name."""
    tables = load_toml(Path(__file__).with_name("kinds.toml"))
    return {name: decode(KindOfRelation, table) for name, table in tables.items()}
