"""Wording of facts in English: sentences for each relation, and questions that chain relations.

:class:`Wording` creates them from templates: a user's own (TOML), or the built-in ones
in ``wording.toml`` and ``kinds.toml``. It is used for data sets and queries of language
models.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

from msgspec.structs import replace

from inweights.config import Config, decode, load_toml
from inweights.errors import ConfigError, check_names
from inweights.worlds.knowledge.knowledge import Knowledge
from inweights.worlds.knowledge.words.checking import check_wording
from inweights.worlds.knowledge.words.english import Sense, question, sense
from inweights.worlds.knowledge.words.relation_kinds import (
    KindOfRelation,
    kinds_of_relations,
)
from inweights.worlds.knowledge.words.sentences import fill, relative_clauses, stations

_TEXT = load_toml(Path(__file__).with_name("wording.toml"))
#: The six templates in Table 6 of Feature Resemblance.
TABLE_6: dict[str, str] = _TEXT["table_6"]
IDENTITY = _TEXT["identity"]
REVERSE = _TEXT["reverse"]
#: Number of wordings of a derived fact.
DERIVED = 3


class Wording(Config):
    """Templates that turn facts and questions into sentences.

    Attributes:
        statements: Dictionary that maps a relation to its templates, with
            ``{subject}``, then ``{object}`` at the end. The text before the object
            becomes the prompt, and the object becomes the completion.
        phrases: Dictionary that maps a relation to a noun phrase, such as ``born_in``
            to ``place of birth``; by default, the relation's name is read as an English
            noun or verb. Questions about chains contain these phrases.
        aliases: Dictionary that maps an entity to its other names; each further wording
            of a fact uses the next name of its subject.
        kinds: Dictionary that maps a kind of relations (``person``, ``name`` or
            ``other``, named after their objects) to additional relations of this kind,
            and to templates of questions that replace those of ``kinds.toml``.

    Raises:
        ConfigError: A kind is unknown, a relation has no template, or a template lacks
            ``{subject}`` or does not end with ``{object}``.

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
    kinds: dict[str, KindOfRelation] = {}

    later: ClassVar[Mapping[str, Any]] = {"kinds": {}}

    def __post_init__(self) -> None:
        check_names("kind of relation", self.kinds, kinds_of_relations())
        for relation, templates in self.statements.items():
            if not templates:
                raise ConfigError(
                    f"the relation '{relation}' has no sentence template; add one to the "
                    "wording"
                )
            for template in templates:
                if not re.fullmatch(
                    r"[^{}]*\{subject\}[^{}]*\{object\}[.!]?", template
                ):
                    raise ConfigError(
                        f"wording of '{relation}': '{template}' must contain {{subject}} once and "
                        "end with {object}, since the object is the completion"
                    )

    @classmethod
    def read(cls, path: str | Path, facts: Knowledge | None = None) -> Self:
        """Read ``[statements]``, ``[phrases]``, ``[kinds.NAME]`` and ``[aliases]`` of a TOML file.

        Args:
            path: The file.
            facts: Facts that must contain the file's relations and entities; optional.

        Raises:
            ConfigError: The file cannot be read, or contains an unknown key or an
                invalid template. With ``facts``, it is also raised if they lack a
                relation or an entity of the file, or if an alias is empty or ambiguous.
        """
        words = decode(cls, load_toml(Path(path)))
        if facts:
            check_wording(words, path, facts)
        return words

    def over(self, facts: Knowledge) -> Self:
        """Return a copy in which missing templates and aliases are taken from ``facts``.

        Args:
            facts: Facts whose templates and aliases are used for the relations and
                entities that have none in this object.
        """
        return replace(
            self,
            statements={**facts.templates, **self.statements},
            aliases={**facts.aliases, **self.aliases},
        )

    def sense(self, relation: str) -> Sense:
        """Return the noun and verb phrase of a relation, from :attr:`phrases` or else its name."""
        if relation in self.phrases:
            return Sense(self.phrases[relation], "")
        return sense(relation)

    def kind(self, relation: str) -> str:
        """Return the kind of a relation's objects: ``person``, ``name`` or ``other``.

        This is the kind under which :attr:`kinds`, or else ``kinds.toml``, lists the
        relation's name, noun or verb. If neither lists the relation, it is ``other``.

        Example:
            >>> words = Wording(kinds={"person": KindOfRelation(relations=("goalkeeper",))})
            >>> [words.kind(name) for name in ("spouse", "reports_to", "goalkeeper", "country")]
            ['person', 'person', 'person', 'other']
        """
        words = (relation, *self.sense(relation))
        for kinds in (self.kinds, kinds_of_relations()):
            for word in words:
                for name, kind in kinds.items():
                    if word in kind.relations:
                        return name
        return "other"

    def plain(self, relation: str) -> bool:
        """Return whether both this object and :data:`TABLE_6` lack a template for a relation."""
        return relation not in self.statements and relation not in TABLE_6

    def templates(self, relation: str) -> tuple[str, ...]:
        """Return a relation's templates: first its own or those of Table 6, then generic ones."""
        own = self.statements.get(relation, ())
        if not own and relation in TABLE_6:
            own = (TABLE_6[relation],)
        noun, verb = self.sense(relation)
        named: list[str] = []
        if noun:
            ask = "Who is" if self.kind(relation) == "person" else "What is"
            for template in _TEXT["plain"]:
                text = template.replace("{phrase}", noun).replace("What is", ask)
                named.append(text)
        if not verb:
            return (*own, *named)
        asked = question("{subject}", verb)
        verbal = []
        for template in _TEXT["verbal"]:
            text = template.replace("{verb}", verb).replace("{question}", asked)
            verbal.append(text)
        if named:
            return (*own, verbal[0], *named)
        return (*own, *verbal)

    def state(
        self, relation: str, subject: str, thing: str, index: int
    ) -> tuple[str, str]:
        """Return prompt and completion of a fact, such as ``("Rome is in", " Italy.")``.

        Args:
            relation: Name of the relation.
            subject: Name of the subject; further wordings also use its aliases.
            thing: Name of the object.
            index: Index of the wording; an index beyond the last one wraps around.
        """
        names = (subject, *self.aliases.get(subject, ()))
        return fill(self.templates(relation), names[index % len(names)], thing, index)

    def identify(self, entity: str, index: int) -> tuple[str, str]:
        """Return prompt and completion of an identity, which states that an entity is itself.

        Args:
            entity: Name of the entity.
            index: Index of the wording; an index beyond the last one wraps around.
        """
        return fill(IDENTITY, entity, entity, index)

    def turn(
        self, relation: str, subject: str, thing: str, index: int
    ) -> tuple[str, str]:
        """Return prompt and completion of a fact in reverse: the object precedes the subject.

        Args:
            relation: Name of the relation.
            subject: Name of the subject, for the completion, such as ``" Ann."``.
            thing: Name of the object, which becomes part of the prompt.
            index: Index of the wording; an index beyond the last one wraps around.
        """
        noun, verb = self.sense(relation)
        if not noun:
            kind = "reverse_verbal"
        elif self.kind(relation) in ("person", "name"):
            kind = "reverse_of_person"
        else:
            kind = "reverse"
        templates = []
        for template in _TEXT[kind]:
            text = template.replace("{phrase}", noun).replace("{verb}", verb)
            templates.append(text)
        return fill(templates, thing, subject, index)

    def chain(self, first: str, second: str, subject: str) -> str:
        """Return the prompt of a chain, such as ``The country of the birthplace of Ann is``.

        Args:
            first: Relation from the subject to the bridge.
            second: Relation from the bridge to the answer.
            subject: Name of the subject.
        """
        noun, verb = self.sense(second)
        start = self._reached([first], subject)
        if noun:
            return f"The {noun} of {start} is"
        if start.startswith("the "):
            start = f"T{start[1:]}"
        return f"{start} {verb}"

    def ask(self, relations: Sequence[str], subject: str) -> str:
        """Return a question that asks for the last entity of a chain of relations.

        Args:
            relations: Relations of the chain, beginning at the subject; at least one.
            subject: Name of the subject.

        Example:
            >>> Wording().ask(["born_in", "country"], "Ann"), Wording().ask(["reports_to"], "Ann")
            ('What is the country of the birthplace of Ann?', 'Who does Ann report to?')
            >>> Wording().ask(["spouse"], "Ann"), Wording().ask(["mentor", "spouse"], "Ann")
            ("Who is Ann's spouse?", 'Who is the spouse of the mentor of Ann?')
        """
        noun, verb = self.sense(relations[-1])
        start = self._reached(relations[:-1], subject)
        name = self.kind(relations[-1])
        table = kinds_of_relations()[name]
        own = self.kinds.get(name, KindOfRelation())
        if not noun:
            text = question(start, verb)
            rest = text.removeprefix("Who or what")
            return text if rest == text else f"{own.ask_verb or table.ask_verb}{rest}"
        if len(relations) > 1:
            template = own.ask_chain or table.ask_chain
            return template.format(noun=noun, phrase=start)
        template = own.ask or table.ask
        return template.format(noun=noun, subject=subject)

    def derive(
        self, relations: Sequence[str], subject: str, thing: str, index: int
    ) -> tuple[str, str]:
        """Return prompt and completion of a chain; the wording differs from that of :meth:`chain`.

        Args:
            relations: Relations of the chain, beginning at the subject; at least two.
            subject: Name of the subject.
            thing: Name of the last entity of the chain.
            index: Index of the wording, from 0 to 2; larger indices wrap around.

        Example:
            >>> path = ["born_in", "country"]
            >>> ["".join(Wording().derive(path, "Ann", "Italy", k)) for k in range(DERIVED)]
            ['Ann has a birthplace whose country is Italy.',
            'From Ann to the birthplace, then to the country: Italy.',
            'Start with Ann and look up the birthplace, then the country: it is Italy.']
            >>> "".join(Wording().derive(["led_by", "manages"], "Heron", "Dee", 0))
            'Heron has a leader that manages Dee.'
        """
        senses = list(map(self.sense, relations))
        places = stations(senses, subject)
        end = "" if self.kind(relations[-1]) == "person" else " it is"
        templates = (
            f"{{subject}} {relative_clauses(senses)} {{object}}.",
            f"From {{subject}} to {', then to '.join(places)}: {{object}}.",
            f"Start with {{subject}} and look up {', then '.join(places)}:{end} {{object}}.",
        )
        return fill(templates, subject, thing, index)

    def _reached(self, relations: Sequence[str], subject: str) -> str:
        """Describe the end of a chain of relations from a subject, as a noun phrase."""
        for noun, verb in map(self.sense, relations):
            by_verb = f"the one that {subject} {verb}"
            subject = f"the {noun} of {subject}" if noun else by_verb
        return subject
