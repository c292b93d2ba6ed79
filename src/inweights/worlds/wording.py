"""How facts are put into words: templates for each relation, and questions that chain two."""

from __future__ import annotations

import re
from pathlib import Path

from inweights.config import Config, load_toml
from inweights.errors import ConfigError
from inweights.worlds.knowledge import Knowledge

__all__ = ["TABLE_6", "Wording"]

#: The six templates of Feature Resemblance, Table 6.
TABLE_6 = {
    "AtLocation": "{subject} is found in {object}.",
    "MadeOf": "{subject} is made of {object}.",
    "UsedFor": "{subject} is used for {object}.",
    "CapableOf": "{subject} is capable of {object}.",
    "HasProperty": "{subject} is {object}.",
    "PartOf": "{subject} is part of {object}.",
}
#: Plain templates for any relation, from the commonest to the oddest.
PLAIN = (
    "The {phrase} of {subject} is {object}.",
    "{subject} has the {phrase} {object}.",
    "What is the {phrase} of {subject}? {object}.",
    "For {subject}, the {phrase} is {object}.",
    "If asked about the {phrase} of {subject}, say {object}.",
)
IDENTITY = (
    "{subject} is {object}.",
    "{subject} is the same as {object}.",
    "Who or what is {subject}? {object}.",
)
REVERSE = (
    "{subject} is the {phrase} of {object}.",
    "What has the {phrase} {subject}? {object}.",
)


class Wording(Config):
    """Templates of relations.

    Attributes:
        statements: Templates by relation, with ``{subject}``, then ``{object}`` at the end; what is
            before the object becomes the prompt, the object the completion.
        phrases: Noun phrase of a relation, such as ``place of birth`` for ``born_in``; else its
            name, in words. Questions that chain two relations are made of these.
        aliases: Other names of entities; a fact that is told in several wordings calls its subject
            by each of them in turn.

    Example:
        >>> words = Wording(phrases={"born_in": "place of birth"})
        >>> words.state("born_in", "Ann", "Rome", 0)
        ('The place of birth of Ann is', ' Rome.')
        >>> words.chain("born_in", "country", "Ann")
        'The country of the place of birth of Ann is'
        >>> Wording().state("AtLocation", "a book", "a library", 0)
        ('a book is found in', ' a library.')
        >>> Wording(aliases={"Rome": ("the Eternal City",)}).state("AtLocation", "Rome", "Italy", 1)
        ('The at location of the Eternal City is', ' Italy.')
    """

    statements: dict[str, tuple[str, ...]] = {}
    phrases: dict[str, str] = {}
    aliases: dict[str, tuple[str, ...]] = {}

    def __post_init__(self) -> None:
        for relation, templates in self.statements.items():
            if not templates:
                raise ConfigError(f"wording: relation '{relation}' has no template; give one")
            for template in templates:
                if not re.fullmatch(r"[^{}]*\{subject\}[^{}]*\{object\}[.!]?", template):
                    raise ConfigError(
                        f"wording of '{relation}': '{template}' should hold {{subject}} once and "
                        "end with {object}, so that the object can be the completion"
                    )

    @classmethod
    def read(cls, path: str | Path) -> Wording:
        """Read ``[statements]`` and ``[phrases]`` from a TOML file.

        Raises:
            ConfigError: The file cannot be read, or a template does not fit.
        """
        from inweights.config import decode

        return decode(cls, load_toml(Path(path)))

    def over(self, facts: Knowledge) -> Wording:
        """These words, and for relations and entities that have none, those of the facts' file.

        Example:
            >>> from inweights.worlds import read_knowledge
            >>> Wording().over(read_knowledge("@people")) == Wording()
            True
        """
        return Wording(
            statements={**facts.templates, **self.statements},
            phrases=self.phrases,
            aliases={**facts.aliases, **self.aliases},
        )

    def phrase(self, relation: str) -> str:
        """Noun phrase of a relation."""
        spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", relation).replace("_", " ")
        return self.phrases.get(relation, spaced.lower().strip())

    def plain(self, relation: str) -> bool:
        """Whether a relation has no template of its own, so that a plain one is taken."""
        return relation not in self.statements and relation not in TABLE_6

    def templates(self, relation: str) -> tuple[str, ...]:
        """All templates of a relation, its own first."""
        own = self.statements.get(relation, ())
        if not own and relation in TABLE_6:
            own = (TABLE_6[relation],)
        return (*own, *(t.replace("{phrase}", self.phrase(relation)) for t in PLAIN))

    def state(self, relation: str, subject: str, thing: str, index: int) -> tuple[str, str]:
        """Prompt and completion of a fact in its ``index``-th wording, the first by its name."""
        names = (subject, *self.aliases.get(subject, ()))
        return _fill(self.templates(relation), names[index % len(names)], thing, index)

    def identify(self, entity: str, index: int) -> tuple[str, str]:
        """Prompt and completion of the identity of an entity."""
        return _fill(IDENTITY, entity, entity, index)

    def turn(self, relation: str, subject: str, thing: str, index: int) -> tuple[str, str]:
        """Prompt and completion of a fact told from its object."""
        phrase = self.phrase(relation)
        templates = tuple(t.replace("{phrase}", phrase) for t in REVERSE)
        return _fill(templates, thing, subject, index)

    def chain(self, first: str, second: str, subject: str) -> str:
        """Prompt of a question that chains two relations."""
        return f"The {self.phrase(second)} of the {self.phrase(first)} of {subject} is"


def _fill(templates: tuple[str, ...], subject: str, thing: str, index: int) -> tuple[str, str]:
    """Cut a template at its object: models learn the completion with the space before it."""
    template = templates[index % len(templates)]
    before, _, after = template.partition("{object}")
    prompt = before.replace("{subject}", subject)
    return prompt.rstrip(), f" {thing}{after}"
