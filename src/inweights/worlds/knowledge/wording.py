"""Wording of facts: templates for each relation, and questions about two."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Self

from msgspec.structs import replace

from inweights.config import Config, decode, load_toml
from inweights.errors import ConfigError, check_names
from inweights.worlds.knowledge.english import Sense, a, question, sense
from inweights.worlds.knowledge.knowledge import Knowledge

_TEXT = load_toml(Path(__file__).with_name("wording.toml"))
#: The six templates of Feature Resemblance, Table 6.
TABLE_6: dict[str, str] = _TEXT["table_6"]
IDENTITY, REVERSE = _TEXT["identity"], _TEXT["reverse"]
#: Wordings of a derived fact.
DERIVED = 3


class KindOfRelation(Config):
    """How relations are worded whose objects are of one kind, such as persons.

    Attributes:
        relations: Nouns (``spouse``) and verbs (``reports to``) of the kind.
        ask: A question, with ``{subject}`` and ``{noun}``.
        ask_chain: The same about what is described by ``{phrase}``.
        ask_verb: Its first words, where the relation is a verb.
    """

    relations: tuple[str, ...] = ()
    ask: str = ""
    ask_chain: str = ""
    ask_verb: str = ""

    def __post_init__(self) -> None:
        for template, needed in ((self.ask, "subject"), (self.ask_chain, "phrase")):
            if template and set(re.findall(r"\{(.*?)\}", template)) != {needed, "noun"}:
                raise ConfigError(
                    f"wording of a kind: '{template}' must contain {{{needed}}} and {{noun}}"
                )


@lru_cache(maxsize=1)
def _kinds() -> dict[str, KindOfRelation]:
    """The table that comes with the package."""
    tables = load_toml(Path(__file__).with_name("kinds.toml"))
    return {name: decode(KindOfRelation, table) for name, table in tables.items()}


class Wording(Config):
    """Templates of relations.

    Attributes:
        statements: Templates by relation, with ``{subject}``, then ``{object}`` at the end; what is
            before the object becomes the prompt, the object the completion.
        phrases: Noun phrase of a relation, such as ``place of birth`` for ``born_in``; else what
            its name is in English, a noun or a verb. Questions that chain are made of these.
        aliases: Other names of entities; a fact that is told in several wordings calls its subject
            by each of them in turn.
        kinds: Kinds of relations, ``person``, ``name`` and ``other``: relations to add to one, and
            questions to ask instead of those of ``kinds.toml``.

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
        check_names("kind of relation", self.kinds, _kinds())
        for relation, templates in self.statements.items():
            if not templates:
                raise ConfigError(f"wording: relation '{relation}' has no template; give one")
            for template in templates:
                if not re.fullmatch(r"[^{}]*\{subject\}[^{}]*\{object\}[.!]?", template):
                    raise ConfigError(
                        f"wording of '{relation}': '{template}' must contain {{subject}} once and "
                        "end with {object}, since the object is the completion"
                    )

    @classmethod
    def read(cls, path: str | Path, facts: Knowledge | None = None) -> Self:
        """Read ``[statements]``, ``[phrases]``, ``[kinds.NAME]`` and ``[aliases]`` of a TOML file.

        Raises:
            ConfigError: The file cannot be read, a template does not fit, the facts that are given
                lack a relation or an entity of it, or an alias is empty or the name of another.
        """
        words = decode(cls, load_toml(Path(path)))
        if facts:
            known, where = {*facts.relations}, f"relation in {path}"
            check_names(where, [*words.statements, *words.phrases], known)
            known |= {said for relation in known for said in words.sense(relation) if said}
            check_names(where, [r for k in words.kinds.values() for r in k.relations], known)
            check_names(f"entity in [aliases] of {path}", words.aliases, {*facts.entities})
            owners = {name: name for name in facts.entities}
            for entity, others in words.aliases.items():
                for alias in others or ("",):
                    owner = owners.setdefault(alias, entity)
                    if not alias.strip() or owner != entity or alias == entity:
                        wrong = f"is a name of '{owner}'" if alias.strip() else "is empty"
                        raise ConfigError(
                            f"{path}: the alias '{alias}' of '{entity}' {wrong}; give a name that "
                            "no other entity has, or leave it out"
                        )
        return words

    def over(self, facts: Knowledge) -> Self:
        """These words, and for relations and entities that have none, those of the facts' file.

        Example:
            >>> from inweights.worlds import read_knowledge
            >>> Wording().over(read_knowledge("@people")) == Wording()
            True
        """
        return replace(
            self,
            statements={**facts.templates, **self.statements},
            aliases={**facts.aliases, **self.aliases},
        )

    def sense(self, relation: str) -> Sense:
        """How a relation is said: its own phrase, or what its name is in English."""
        if relation in self.phrases:
            return Sense(self.phrases[relation], "")
        return sense(relation)

    def kind(self, relation: str) -> str:
        """The kind of a relation's objects: ``person``, ``name`` or ``other``.

        Example:
            >>> words = Wording(kinds={"person": KindOfRelation(relations=("goalkeeper",))})
            >>> [words.kind(name) for name in ("spouse", "reports_to", "goalkeeper", "country")]
            ['person', 'person', 'person', 'other']
        """
        said = (relation, *self.sense(relation))
        kinds = [(w, *kind) for own in (self.kinds, _kinds()) for w in said for kind in own.items()]
        return next((name for word, name, kind in kinds if word in kind.relations), "other")

    def plain(self, relation: str) -> bool:
        """Whether a relation has no template of its own, so that a plain one is taken."""
        return relation not in self.statements and relation not in TABLE_6

    def templates(self, relation: str) -> tuple[str, ...]:
        """All templates of a relation, its own first."""
        own = self.statements.get(relation, ())
        if not own and relation in TABLE_6:
            own = (TABLE_6[relation],)
        noun, verb = self.sense(relation)
        named = tuple(t.replace("{phrase}", noun) for t in _TEXT["plain"]) if noun else ()
        if self.kind(relation) == "person":
            named = tuple(t.replace("What is", "Who is") for t in named)
        if not verb:
            return (*own, *named)
        asked = question("{subject}", verb)
        told = tuple(
            t.replace("{verb}", verb).replace("{question}", asked) for t in _TEXT["verbal"]
        )
        return (*own, *(told[:1] + named if named else told))

    def state(self, relation: str, subject: str, thing: str, index: int) -> tuple[str, str]:
        """Prompt and completion of a fact in its ``index``-th wording, the first by its name."""
        names = (subject, *self.aliases.get(subject, ()))
        return _fill(self.templates(relation), names[index % len(names)], thing, index)

    def identify(self, entity: str, index: int) -> tuple[str, str]:
        """Prompt and completion of the identity of an entity."""
        return _fill(IDENTITY, entity, entity, index)

    def turn(self, relation: str, subject: str, thing: str, index: int) -> tuple[str, str]:
        """Prompt and completion of a fact stated from its object."""
        noun, verb = self.sense(relation)
        person = self.kind(relation) in ("person", "name")
        turned = ("reverse_of_person" if person else "reverse") if noun else "reverse_verbal"
        templates = [t.replace("{phrase}", noun).replace("{verb}", verb) for t in _TEXT[turned]]
        return _fill(templates, thing, subject, index)

    def chain(self, first: str, second: str, subject: str) -> str:
        """Prompt of a question that chains two relations."""
        noun, verb = self.sense(second)
        start = self._reached([first], subject)
        if noun:
            return f"The {noun} of {start} is"
        return f"{'T' + start[1:] if start.startswith('the ') else start} {verb}"

    def ask(self, relations: Sequence[str], subject: str) -> str:
        """A question for the end of a chain of relations.

        Example:
            >>> Wording().ask(["born_in", "country"], "Ann"), Wording().ask(["reports_to"], "Ann")
            ('What is the country of the birthplace of Ann?', 'Who does Ann report to?')
            >>> Wording().ask(["spouse"], "Ann"), Wording().ask(["mentor", "spouse"], "Ann")
            ("Who is Ann's spouse?", 'Who is the spouse of the mentor of Ann?')
        """
        noun, verb = self.sense(relations[-1])
        start = self._reached(relations[:-1], subject)
        name = self.kind(relations[-1])
        table, own = _kinds()[name], self.kinds.get(name, KindOfRelation())
        if not noun:
            asked = question(start, verb).removeprefix("Who or what")
            return f"{own.ask_verb or table.ask_verb}{asked}" if asked[:1] == " " else asked
        template = own.ask_chain or table.ask_chain if relations[1:] else own.ask or table.ask
        return template.format(noun=noun, subject=subject, phrase=start)

    def derive(
        self, relations: Sequence[str], subject: str, thing: str, index: int
    ) -> tuple[str, str]:
        """Prompt and completion of the end of a chain, in words that :meth:`chain` has not.

        Example:
            >>> path = ["born_in", "country"]
            >>> ["".join(Wording().derive(path, "Ann", "Italy", k)) for k in range(DERIVED)]
            ['Ann has a birthplace whose country is Italy.',
            'From Ann to the birthplace, then to the country: Italy.',
            'Start with Ann and look up the birthplace, then the country: it is Italy.']
            >>> "".join(Wording().derive(["led_by", "manages"], "Heron", "Dee", 0))
            'Heron has a leader that manages Dee.'
        """
        senses = [self.sense(relation) for relation in relations]
        places = [f"the {noun}" if noun else f"the one that {subject} {verb}"
                  if not k else f"the one that this one {verb}"
                  for k, (noun, verb) in enumerate(senses)]  # fmt: skip
        end = "" if self.kind(relations[-1]) == "person" else " it is"
        parts = [f"has {a(noun)}" if noun else f"{verb} one" for noun, verb in senses[:1]]
        parts += [f"with {a(noun)}" if noun else f"that {verb} one" for noun, verb in senses[1:-1]]
        noun, verb = senses[-1]
        parts.append(f"whose {noun} is" if noun else f"that {verb}")
        templates = (
            f"{{subject}} {' '.join(parts)} {{object}}.",
            f"From {{subject}} to {', then to '.join(places)}: {{object}}.",
            f"Start with {{subject}} and look up {', then '.join(places)}:{end} {{object}}.",
        )
        return _fill(templates, subject, thing, index)

    def _reached(self, relations: Sequence[str], subject: str) -> str:
        """What one reaches from a subject, as a noun phrase."""
        for noun, verb in map(self.sense, relations):
            subject = f"the {noun} of {subject}" if noun else f"the one that {subject} {verb}"
        return subject


def ended(thing: str, stop: str = ".") -> str:
    """A name at the end of a sentence, which one such as ``Inc.`` ends itself."""
    return thing if stop == "." and thing.endswith(".") else f"{thing}{stop}"


def _fill(templates: Sequence[str], subject: str, thing: str, index: int) -> tuple[str, str]:
    """Cut a template at its object: models learn the completion with the space before it."""
    before, _, after = templates[index % len(templates)].partition("{object}")
    return before.replace("{subject}", subject).rstrip(), f" {ended(thing, after)}"
