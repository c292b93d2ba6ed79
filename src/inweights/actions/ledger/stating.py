"""Determine which claims are new or changed, and state them in the ledger with their seeds.

:func:`state` and :func:`withdraw` return lines for the ledger. :func:`on_its_block`
returns a recipe with the seeds and versions that the ledger states for its claims.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache, partial
from typing import Any

from msgspec import structs

from inweights.actions.ledger.hashes import (
    code_hash,
    hashes,
    judged_values,
    remembered_hashes,
)
from inweights.actions.ledger.ledger import Entry, Ledger
from inweights.actions.ledger.lines import (
    BLOCK,
    Corrected,
    Line,
    Reworded,
    RuleChange,
    Stated,
    Withdrawn,
)
from inweights.errors import ConfigError, check_names
from inweights.experiments.claims.claim import SIGNS, Claim, Protocol
from inweights.experiments.claims.published import printed_number
from inweights.experiments.grammar.recipe import Recipe
from inweights.experiments.studies.protocols import computed_protocols


def stands(entry: Entry, claim: Claim, now: str, code: Callable[[], str]) -> bool:
    """Return whether the ledger states a claim in the form in which it would be judged now.

    Args:
        entry: The ledger's lines about the claim.
        claim: The claim as its recipe contains it.
        now: Hash of the claim, as returned by :func:`hashes`.
        code: Function that returns the hash of its recipe's code (:func:`code_hash`).
            It is called only for claims that were stated with such a hash (since 27
            November 2026).

    Returns:
        True if the following are the same as in the ledger: both hashes, the claim's
        source and protocol, the published number, the range of numbers close to it, and
        whether the claim is a check. The wording of the claim may differ. False for a
        withdrawn claim.
    """
    if entry.stated is None or entry.claim is None or entry.stated.hash != now:
        return False
    if entry.stated.code and entry.stated.code != code():
        return False
    known, here = (
        (one.source, one.check, one.protocol, one.close, printed_number(one.published))
        for one in (entry.claim, claim)
    )
    return known == here


def corrected_from(
    entry: Entry,
    claim: Claim,
    now: str,
    code: Callable[[], str],
    computed: Callable[[], Mapping[str, Protocol]],
) -> Protocol | None:
    """Return the protocol that the ledger states for a claim, if it must be corrected.

    The protocol of a claim is corrected if nothing else has changed, the current
    protocol is the one determined from the settings, and it is farther from the paper
    than the stated one. If the protocol is closer to the paper than stated, the claim
    gets a new version instead.

    Args:
        entry: The ledger's lines about the claim.
        claim: The claim as its recipe contains it.
        now: Hash of the claim, as returned by :func:`hashes`.
        code: Function that returns the hash of its recipe's code.
        computed: Function that returns the protocols determined from the settings,
            keyed by claim id.

    Returns:
        The former protocol: ``exact``, ``scaled`` or ``substitute``; ``None`` if no
        correction is required.
    """
    before = entry.claim.protocol if entry.claim else None
    if before is None or claim.protocol is None:
        return None
    same = stands(entry, structs.replace(claim, protocol=before), now, code)
    nearness = list(SIGNS)
    farther = nearness.index(claim.protocol) > nearness.index(before)
    if same and farther and computed().get(claim.id) == claim.protocol:
        return before
    return None


def _once(recipe: Recipe) -> Callable[[], str]:
    """Return a function that computes the hash of a recipe's code on its first call."""
    return cache(partial(code_hash, recipe))


def state(
    recipes: Iterable[Recipe], scale: str, ledger: Ledger, date: str, anew: str = ""
) -> list[Line]:
    """Return the lines to be added to the ledger for the claims of recipes.

    No file is written. All claims that are stated together share a new block of seeds,
    on which no claim was stated before.

    Args:
        recipes: The recipes.
        scale: Scale at which the claims are judged: ``smoke``, ``cpu`` or ``paper``.
        ledger: The ledger.
        date: Today's date, as ``2026-11-27``.
        anew: Reason for restating, on one new block, every claim that has not been
            judged in its current version. This is intended for changes that affect the
            whole library. A version number stays the same if score, target and rule are
            unchanged. If ``anew`` is empty (the default), only new and changed claims
            are stated.

    Returns:
        Lines that state new and changed claims, correct a protocol or reword a claim,
        grouped by recipe. If ``anew`` is given, a line with the reason comes first.
        Recipes without the scale are skipped.

    Raises:
        ConfigError: A claim of the ledger is no longer in its recipe, or an option of a
            measure cannot be stored exactly.
        DataError: A file that the settings name cannot be read.
    """
    block = ledger.next_block
    lines: list[Line] = []
    if anew:
        lines.append(
            RuleChange(date=date, says=f"Claims not judged yet are stated anew: {anew}")
        )
    for recipe in recipes:
        if scale not in recipe.scales:
            continue
        now = hashes(recipe, scale)
        code = _once(recipe)
        computed = cache(partial(computed_protocols, recipe, scale))
        for name, entry in ledger.of_scale(scale):
            home = name.rpartition("/")[0]
            if home == recipe.name and name not in now and not entry.withdrawn:
                raise ConfigError(
                    f"the ledger contains {name}, but this is no longer a claim of {home}; "
                    f"first run 'inweights claims withdraw {name} --why …'"
                )
        for claim in recipe.claims:
            entry = ledger.entry(claim.id, scale)
            about: dict[str, Any] = {"date": date, "claim": claim, "scale": scale}
            known = entry.claim
            open_one = (
                bool(anew) and entry.stated is not None and entry.judged_anew is None
            )
            before = corrected_from(entry, claim, now[claim.id], code, computed)
            if before and not open_one:
                about |= {"version": entry.version, "before": before}
                lines.append(Corrected(**about))
            elif open_one or not stands(entry, claim, now[claim.id], code):
                kept = (
                    open_one and known and judged_values(known) == judged_values(claim)
                )
                about |= {
                    "version": entry.version + (not kept),
                    "seeds": recipe.seeds[scale],
                }
                lines.append(
                    Stated(**about, block=block, hash=now[claim.id], code=code())
                )
            # The claim has the same hash; only its wording differs.
            elif known and known != claim:
                lines.append(Reworded(**about, before=known.text))
    return lines


def withdraw(name: str, scale: str, why: str, ledger: Ledger, date: str) -> Withdrawn:
    """Return the line that withdraws a claim; no file is written.

    Args:
        name: Id of the claim.
        scale: Scale at which it is judged: ``smoke``, ``cpu`` or ``paper``.
        why: Reason for the withdrawal.
        ledger: The ledger.
        date: Today's date, as ``2026-11-27``.

    Returns:
        The line, with the version, wording and last verdict of the claim (``not
        judged`` if there is none).

    Raises:
        ConfigError: The ledger has no such claim at this scale, the claim was already
            withdrawn, or no reason is given.
    """
    standing = {
        one: entry for one, entry in ledger.of_scale(scale) if not entry.withdrawn
    }
    check_names(
        "claim", [name], standing, hint="No other claim is in force at this scale."
    )
    if not why.strip():
        raise ConfigError(
            "give a reason for the withdrawal, such as --why 'the score measures …'"
        )
    entry = standing[name]
    last = entry.verdict
    return Withdrawn(
        date=date,
        name=name,
        scale=scale,
        version=entry.version,
        text=entry.claim.text if entry.claim else getattr(last, "text", ""),
        verdict=last.verdict if last else "not judged",
        why=why,
    )


def on_its_block(recipe: Recipe, scale: str, ledger: Ledger) -> Recipe:
    """Return a recipe with the seeds and versions that the ledger states for its claims.

    The seeds of the returned recipe begin with the newest block on which one of its
    claims is stated. A claim that the ledger does not state in the same form has no
    version and is not judged. A recipe that is not in the ledger is returned unchanged.

    Args:
        recipe: The recipe.
        scale: Scale at which its claims are judged: ``smoke``, ``cpu`` or ``paper``.
        ledger: The ledger.

    Returns:
        A copy of the recipe with ``first_seed`` and ``versions`` from the ledger.

    Raises:
        ConfigError: An option of a measure cannot be stored exactly.
        DataError: A file that the settings name cannot be read.
    """
    entries = [(claim, ledger.entry(claim.id, scale)) for claim in recipe.claims]
    if scale not in recipe.scales or not any(entry.stated for _, entry in entries):
        return recipe
    now = remembered_hashes(recipe, scale)
    code = _once(recipe)
    held = [
        entry.stated
        for claim, entry in entries
        if entry.stated and stands(entry, claim, now[claim.id], code)
    ]
    versions = {line.claim.id: line.version for line in held}
    first = max(line.block for line in held) * BLOCK if held else recipe.first_seed
    return replace(recipe, versions=versions, first_seed=first)
