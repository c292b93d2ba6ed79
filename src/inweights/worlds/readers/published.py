"""Read facts from published data sets: TwoHopFact, SOCRATES, MQuAKE and CounterFact.

TwoHopFact (Yang et al., arXiv:2402.16837) and SOCRATES (arXiv:2411.16679) are CSV files
with a chain ``e1 → e2 → e3`` in each row. MQuAKE (Zhong et al., arXiv:2305.14795) is a
JSON list of chains of two to four facts, before and after an edit. The columns are
those of the repositories ``google-deepmind/latent-multi-hop-reasoning`` and
``princeton-nlp/MQuAKE``. For each set, one function recognises a record, and another
returns its facts; ``knowledge/rows`` calls them.
"""

import ast
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from inweights.errors import DataError

_ENTITIES = ("e1.value", "e2.value", "e3.value")
#: Columns that name a relation, in order of preference.
_RELATION = ("category", "template_id")

#: Columns with other names of an entity, the most complete one first. SOCRATES has
#: ``minimal_aliases``.
_ALIASES = ("aliases", "minimal_aliases")
#: Largest number of characters of a cell of aliases, 50 times that of the published
#: sets.
_CELL = 1_000_000


class Fact(NamedTuple):
    """A fact from a file, with further information from the file.

    Attributes:
        triple: Subject, relation and object.
        template: Sentence with ``{subject}`` and ``{object}`` in place of the names;
            empty if the file has none.
        aliases: Other names of the object; empty if the file has none.
    """

    triple: tuple[str, str, str]
    template: str = ""
    aliases: tuple[str, ...] = ()


def is_two_hop(columns: Mapping[str, Any] | list[str]) -> bool:
    """Return whether a file has the columns of TwoHopFact and SOCRATES.

    Args:
        columns: Names of the columns, in lower case.

    Example:
        >>> is_two_hop(["uid", "e1.value", "e2.value", "e3.value"]), is_two_hop(["subject"])
        (True, False)
    """
    return set(_ENTITIES) <= set(columns)


def two_hop_facts(row: Mapping[str, str], where: str) -> tuple[Fact, Fact]:
    """Return the two facts of a row of TwoHopFact or SOCRATES.

    The columns that are read are ``e1.value``, ``e2.value``, ``e3.value``,
    ``r1.category``, ``r2.category`` (or ``r1.template_id``, ``r2.template_id`` in a
    file without categories), and if they exist ``r1(e1).prompt``, ``r2(e2).prompt``,
    ``e2.aliases`` and ``e3.aliases`` (or their ``minimal_aliases``).

    Args:
        row: Dictionary that maps the name of each column, in lower case, to its cell.
        where: File and line, used in error messages.

    Returns:
        The facts ``e1 → e2`` and ``e2 → e3``.

    Raises:
        DataError: An entity or a relation has no name.
        KeyError: A column of an entity is missing, so that :func:`is_two_hop` is False.
    """
    names = [row[column].strip() for column in _ENTITIES]
    if not all(names):
        raise DataError(
            f"{where}: e1.value, e2.value and e3.value must not be blank: {names}"
        )
    first, second, third = names
    return _hop(row, 1, first, second, where), _hop(row, 2, second, third, where)


def _hop(
    row: Mapping[str, str], hop: int, subject: str, thing: str, where: str
) -> Fact:
    """Return the first or second fact of a row of TwoHopFact or SOCRATES."""
    relations = [row.get(f"r{hop}.{key}", "") for key in _RELATION]
    relation = next(filter(None, relations), "")
    if not relation.strip():
        raise DataError(
            f"{where}: the relation has no name; expected it in the column r{hop}.category"
        )
    prompt = row.get(f"r{hop}(e{hop}).prompt", "")
    cells = [row.get(f"e{hop + 1}.{key}", "") for key in _ALIASES]
    aliases = _aliases(next(filter(None, cells), ""), thing)
    return Fact((subject, relation.strip(), thing), _template(prompt, subject), aliases)


def is_mquake(record: Any) -> bool:
    """Return whether a record is a case of MQuAKE, with ``orig`` or ``orig_triples_labeled``.

    Args:
        record: Decoded JSON value.
    """
    if not isinstance(record, Mapping):
        return False
    return isinstance(record.get("orig"), Mapping) or "orig_triples_labeled" in record


def mquake_facts(
    record: Mapping[str, Any], where: str, *, edited: bool = False
) -> list[Fact]:
    """Return the facts of a case of MQuAKE, before or after its edit.

    Before the edit, the keys that are read are ``triples_labeled`` of ``orig`` (or
    ``orig_triples_labeled`` at the top level in flat copies of the set), and ``cloze``
    and ``answer_alias`` of ``single_hops``. After the edit, they are
    ``new_triples_labeled`` of ``orig`` (or at the top level), and the same two keys of
    ``new_single_hops``.

    Args:
        record: The case.
        where: File and case, used in error messages.
        edited: Whether to read the facts after the edit.

    Returns:
        The facts, in the order of the chain.

    Raises:
        DataError: There are no facts, or one is not a triple of names.
    """
    key = "new_triples_labeled" if edited else "triples_labeled"
    nested = record.get("orig")
    nested = nested if isinstance(nested, Mapping) else {}
    triples = nested.get(key, record.get(key if edited else f"orig_{key}"))
    if not isinstance(triples, list) or not triples:
        raise DataError(f"{where}: no facts; expected '{key}' within 'orig'")
    hops = record.get("new_single_hops" if edited else "single_hops")
    hops = hops if isinstance(hops, list) else []
    facts = []
    for place, triple in enumerate(triples):
        if not (
            isinstance(triple, list) and len(triple) == 3 and all(map(_written, triple))
        ):
            raise DataError(
                f"{where}: {triple} is not a triple of subject, relation and object"
            )
        subject, relation, thing = map(str.strip, triple)
        hop = (
            hops[place]
            if place < len(hops) and isinstance(hops[place], Mapping)
            else {}
        )
        names = hop.get("answer_alias")
        names = names if isinstance(names, list) else []
        aliases = tuple(a for a in names if _written(a) and a != thing)
        template = _template(str(hop.get("cloze", "")), subject)
        facts.append(Fact((subject, relation, thing), template, aliases))
    return facts


def is_counterfact(record: Any) -> bool:
    """Return whether a record is a case of CounterFact, with ``requested_rewrite``.

    Args:
        record: Decoded JSON value.
    """
    return isinstance(record, Mapping) and isinstance(
        record.get("requested_rewrite"), Mapping
    )


def counterfact_fact(
    record: Mapping[str, Any], where: str, *, edited: bool = False
) -> Fact:
    """Return the fact of a case of CounterFact, before or after its edit.

    The keys of ``requested_rewrite`` that are read are ``subject``, ``relation_id``
    (the number of a Wikidata property), ``prompt``, and the entry ``str`` of
    ``target_true``, or of ``target_new`` if ``edited`` is true.

    Args:
        record: The case, for which :func:`is_counterfact` is True.
        where: File and case, used in error messages.
        edited: Whether to read the fact after the edit.

    Returns:
        The fact. Its relation is ``relation_id``, or else the prompt.

    Raises:
        DataError: The subject, the target, or both ``relation_id`` and ``prompt`` are
            missing or blank.
    """
    found = record["requested_rewrite"]
    target = found.get("target_new" if edited else "target_true")
    target = target.get("str") if isinstance(target, Mapping) else target
    prompt = str(found.get("prompt", ""))
    triple = (found.get("subject"), found.get("relation_id") or prompt, target)
    if not all(map(_written, triple)):
        raise DataError(
            f"{where}: a case of CounterFact must have the key 'subject', one of the keys "
            "'relation_id' and 'prompt', and the key 'target_true', whose value must have the "
            f"key 'str'; got subject, relation and target {triple}"
        )
    subject, relation, thing = (" ".join(str(part).split()) for part in triple)
    template = _template(prompt.replace("{}", subject, 1), subject)
    return Fact((subject, relation, thing), template)


def _written(value: Any) -> bool:
    """Return whether a value is a string that is not blank."""
    return isinstance(value, str) and bool(value.strip())


def _template(prompt: str, subject: str) -> str:
    """Return a prompt as a template; empty unless it contains the subject once, and no braces."""
    if prompt.count(subject) != 1 or set("{}") & set(prompt):
        return ""
    return f"{prompt.strip().replace(subject, '{subject}')} {{object}}."


@lru_cache(maxsize=2**14)  # the same cell occurs in many rows, and is slow to parse
def _aliases(cell: str, name: str) -> tuple[str, ...]:
    """Return the names in a cell with a Python tuple of tuples of names; empty for other cells."""
    if len(cell) > _CELL:
        return ()
    try:
        groups = ast.literal_eval(cell) if cell.strip() else ()
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return ()  # names in a form that the set does not document are left out, not guessed
    if not isinstance(groups, list | tuple):
        return ()
    flat: list[Any] = []
    for group in groups:
        flat += group if isinstance(group, list | tuple) else (group,)
    return tuple(dict.fromkeys(a for a in flat if _written(a) and a != name))
