"""Compare every setting of a recipe with the statements of its paper.

:func:`compare` takes, at one scale, every setting of the world, model, learner and
measures of every trial, and of every computation. For each setting, it returns whether
the value agrees with the paper or with the paper's code, is only a smaller size, or is
our own choice, together with the reason for that choice.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from inweights.errors import ConfigError
from inweights.experiments.grammar.protocols.differences import Difference, Whose
from inweights.experiments.grammar.protocols.leaves import Subject, subjects_of
from inweights.experiments.grammar.protocols.protocol_file import (
    PaperProtocol,
    PaperSetting,
    ProtocolPart,
    Reason,
    absent,
    equal,
    fits,
    named,
)
from inweights.experiments.grammar.recipe import Recipe
from inweights.experiments.grammar.trial import Plan


def compare(recipe: Recipe, scale: str) -> list[list[Difference]]:
    """Compare every setting of a recipe with what its paper states.

    Args:
        recipe: A recipe whose paper has a protocol file (:class:`PaperProtocol`), as
            the three papers of the library do.
        scale: The scale whose settings are compared: ``smoke``, ``cpu`` or ``paper``.

    Returns:
        One list for each trial, followed by one for each computation of the recipe's
        plan, in order. Each list has a :class:`~.differences.Difference` for every
        setting, including settings that agree with the paper. Settings that have no
        effect because of other settings are left out. One more list at the end has a
        single item, for the number of seeds (``seeds``).

    Raises:
        ConfigError: The recipe's paper has no protocol file, or the recipe has no such
            scale. (Errors of the recipe's ``plan`` propagate.)
        DataError: A file to which the settings refer cannot be read.

    Example:
        >>> from inweights.recipes import get_recipe
        >>> trials = compare(get_recipe("geometric-memory/fig3"), "cpu")
        >>> [one.whose for one in trials[0] if one.leaf == "model.position_std"]
        ['ours']
    """
    protocol = _protocol(recipe)
    settings, seeds, _ = recipe.resolve(scale)
    look = partial(_compare, recipe, protocol, scale)
    return [
        look(one)
        for one in (*subjects_of(recipe.plan(settings)), Subject({"seeds": len(seeds)}))
    ]


def compare_plan(recipe: Recipe, scale: str, plan: Plan) -> list[list[Difference]]:
    """Compare the settings of a recipe's trials and computations with those of its paper.

    Args:
        recipe: A recipe whose paper has a protocol file (:class:`PaperProtocol`).
        scale: The scale of ``plan``: ``smoke``, ``cpu`` or ``paper``. It selects the
            reasons for our own choices, which may differ between scales. It is not
            checked.
        plan: The trials and computations.

    Returns:
        One list for each trial, followed by one for each computation, as returned by
        :func:`compare`, but without the list for the number of seeds.

    Raises:
        ConfigError: The recipe's paper has no protocol file.
    """
    look = partial(_compare, recipe, _protocol(recipe), scale)
    return list(map(look, subjects_of(plan)))


def other_statements(recipe: Recipe, plan: Plan) -> dict[str, PaperSetting]:
    """Return what a paper or its code states about subjects for which the library has no setting.

    Args:
        recipe: A recipe; the result is empty if its paper has no protocol.
        plan: Trials and computations. A statement is returned if it applies to at least
            one of them.

    Returns:
        The statements, keyed by subject, such as ``label smoothing``; an empty
        dictionary if there are none. If several parts of the protocol mention a subject
        for a trial, the statement of the last part is used. If statements about a
        subject apply to several trials, the statement for the last trial is returned.

    Example:
        >>> from inweights.recipes import get_recipe
        >>> recipe = get_recipe("geometric-memory/fig3")
        >>> settings, _, _ = recipe.resolve("smoke")
        >>> found = other_statements(recipe, recipe.plan(settings))
        >>> found["label smoothing"].text
        'lost in the text at hand (B.2.1); code: none (in_weights/trainer.py:586)'
    """
    found: dict[str, PaperSetting] = {}
    if recipe.protocol is None:
        return found
    for subject in subjects_of(plan):
        for part in _parts(recipe, recipe.protocol, subject):
            found |= part.others
    return found


def _protocol(recipe: Recipe) -> PaperProtocol:
    """Return the protocol of a recipe's paper, or raise an error if it has none."""
    if recipe.protocol is None:
        raise ConfigError(f"the paper of {recipe.name} has no protocol file")
    return recipe.protocol


def _compare(
    recipe: Recipe, protocol: PaperProtocol, scale: str, subject: Subject
) -> list[Difference]:
    """Return the differences of one trial or computation."""
    short = recipe.name.rpartition("/")[2]
    known = {**subject.labels, **subject.values}
    parts = _parts(recipe, protocol, subject)
    reasons = [
        one
        for one in (*recipe.reasons, *protocol.ours)
        if _about(one.recipes, short)
        and (not one.scales or scale in one.scales)
        and fits(one.where, known)
    ]
    found = []
    for leaf, value in subject.values.items():
        stated = _stated(parts, leaf)
        whose = _whose(leaf, value, stated)
        reason = _reason(reasons, leaf) if whose == "ours" else None
        found.append(Difference(leaf, value, whose, stated, reason))
    return found


def _parts(
    recipe: Recipe, protocol: PaperProtocol, subject: Subject
) -> list[ProtocolPart]:
    """Return the parts of a protocol that apply to a trial or computation of a recipe."""
    short = recipe.name.rpartition("/")[2]
    known = {**subject.labels, **subject.values}
    return [
        one
        for one in protocol.parts
        if _about(one.recipes, short) and fits(one.where, known)
    ]


def _stated(parts: Iterable[ProtocolPart], leaf: str) -> PaperSetting | None:
    """Return the statement about a setting in the last part that mentions it."""
    stated = None
    for part in parts:
        for pattern, setting in part.settings.items():
            if named(pattern, leaf):
                stated = setting
    return stated


def _reason(reasons: Iterable[Reason], leaf: str) -> Reason | None:
    """Return the first reason that is given for a setting."""
    for reason in reasons:
        if any(named(pattern, leaf) for pattern in reason.leaves):
            return reason
    return None


def _about(recipes: Sequence[str], short: str) -> bool:
    """Return whether one of the patterns matches a recipe; an empty list matches every recipe."""
    return not recipes or any(named(pattern, short) for pattern in recipes)


def _whose(leaf: str, value: Any, stated: PaperSetting | None) -> Whose:
    """Return the origin of a setting's value: the paper, its code, or our choice."""
    if stated is None:
        neutral = [
            wanted for pattern, wanted in absent().items() if named(pattern, leaf)
        ]
        if not neutral:
            return "unclassified"
        return "paper" if equal(neutral[-1], value) else "ours"
    if stated.every or (stated.paper is not None and equal(stated.paper, value)):
        return "paper"
    if stated.code is not None and equal(stated.code, value):
        return "code"
    sizes = [one for one in _numbers(stated.paper, stated.code) if stated.size]
    if sizes and _numbers(value) and value < max(sizes):
        return "smaller"
    return "ours"


def _numbers(*values: Any) -> list[float]:
    """Return the numbers among values, including those in nested lists but not Booleans."""
    found: list[float] = []
    for value in values:
        if isinstance(value, list | tuple):
            found += _numbers(*value)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            found.append(value)
    return found
