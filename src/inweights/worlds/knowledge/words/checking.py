"""Check whether a wording fits the facts to be expressed: :func:`check_wording`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from inweights.errors import ConfigError, check_names
from inweights.worlds.knowledge.knowledge import Knowledge

if TYPE_CHECKING:
    from inweights.worlds.knowledge.words.wording import Wording


def check_wording(words: Wording, path: str | Path, facts: Knowledge) -> None:
    """Raise an error for relations and entities that the facts lack, and for ambiguous aliases.

    Args:
        words: The wording.
        path: File of the wording, used in error messages.
        facts: The facts to be expressed.

    Raises:
        ConfigError: The facts lack a relation or an entity of the wording; or an alias
            is empty, repeats the name of its entity, or is a name or an alias of
            another entity.
    """
    known = {*facts.relations}
    where = f"relation in {path}"
    check_names(where, [*words.statements, *words.phrases], known)
    # Kinds may name a relation by its noun or verb, too.
    for relation in facts.relations:
        known |= {word for word in words.sense(relation) if word}
    for kind in words.kinds.values():
        check_names(where, kind.relations, known)
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
