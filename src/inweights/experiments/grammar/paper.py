"""Describe the data that the recipes of one paper share.

A :class:`Paper` creates the :class:`~.recipe.Recipe` objects of a paper; :class:`Code` lists
the attributes that come from their Python code. :mod:`~.recipe_file` uses both.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NotRequired, TypedDict, Unpack

from inweights.config import Config
from inweights.experiments.claims.claim import Claim
from inweights.experiments.claims.stating import Stating
from inweights.experiments.grammar.figure import Figure
from inweights.experiments.grammar.recipe import Recipe, Tables
from inweights.experiments.grammar.trial import Plan


class Code(TypedDict):
    """Attributes of a :class:`Recipe` that are given in its Python code.

    Attributes:
        scales: Settings, keyed by the name of the scale: ``smoke``, ``cpu``, ``paper``.
        seeds: Number of seeds, keyed by the name of the scale, or one number for all
            scales.
        plan: Function that returns the plan for given settings.
        derive: Function that takes a dictionary of the measured tables, keyed by name,
            and returns a dictionary of further tables; ``None`` (the default) if there
            are none.
        version: Version of the recipe; by default 1.
    """

    scales: Mapping[str, Config]
    seeds: int | Mapping[str, int]
    plan: Callable[[Any], Plan]
    derive: NotRequired[Callable[[Tables], Tables] | None]
    version: NotRequired[int]


@dataclass(frozen=True)
class Paper:
    """Data that the recipes and claims of one paper share.

    Attributes:
        source: Short name of the paper, which is the first part of the names of its
            recipes.
        title: Full name of the paper.
        claims_of: Value of ``source`` in the paper's claims, such as ``ours``; by
            default the short name of the paper.
        ours: Deprecated (with a ``DeprecationWarning``): our own choices, for recipes
            that do not list any. Pass ``ours`` to each recipe instead.

    Example:
        >>> paper = Paper("identity-bridge", "Identity Bridge")
        >>> paper.stating("fig2", "Fig. 2").recipe
        'identity-bridge/fig2'
    """

    source: str
    title: str
    claims_of: str = ""
    ours: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.ours:
            text = "Paper(ours=...) works in this release only; pass ours to each recipe instead"
            warnings.warn(text, DeprecationWarning, stacklevel=3)

    def stating(self, name: str, place: str = "", condition: str = "") -> Stating:
        """Return a callable that creates the claims of one recipe.

        Args:
            name: Short name of the recipe, the part of its name after the slash.
            place: Place in the paper, such as ``Fig. 2``; used for claims that do not
                specify one.
            condition: Value of the label ``condition`` to display with claims whose
                scores do not select rows by this label; empty by default. It has no
                effect on the scores.

        Returns:
            A :class:`Stating`, which returns a :class:`Claim` each time it is called.
        """
        return Stating(
            f"{self.source}/{name}", self.claims_of or self.source, place, condition
        )

    def recipe(
        self,
        name: str,
        *,
        title: str,
        place: str = "",
        summary: str = "",
        claims: Sequence[Claim] = (),
        figures: Sequence[Figure] = (),
        ours: Sequence[str] = (),
        **code: Unpack[Code],
    ) -> Recipe:
        """Return a recipe of the paper.

        Args:
            name: Short name of the recipe, the part of its name after the slash.
            title: One sentence that states what the recipe shows.
            place: Place in the paper, such as ``Fig. 2``; by default empty.
            summary: Description of the procedure, in a few sentences; by default empty.
            claims: Claims that are judged; by default none.
            figures: Figures that are drawn; by default none.
            ours: Our own choices, which the paper does not state: dotted names of
                settings, and sentences. By default the paper's own list (:attr:`ours`),
                which is deprecated.
            **code: ``scales``, the settings of each scale, keyed by its name;
                ``seeds``, the number of seeds for all scales, or a mapping from scales
                to numbers; ``plan``, the function that returns the plan for given
                settings; optionally ``derive`` and ``version``, as :class:`Code`
                explains.

        Returns:
            The recipe, named ``<source of the paper>/<name>``.

        Raises:
            ConfigError: A scale has settings but no seeds, or seeds but no settings; a
                scale is not ``smoke``, ``cpu`` or ``paper``; or a claim's id
                does not begin with the recipe's full name, ``source/name``, and a
                slash.
        """
        about: dict[str, Any] = {**code}
        if isinstance(code["seeds"], int):
            about["seeds"] = dict.fromkeys(code["scales"], code["seeds"])
        return Recipe(
            name=f"{self.source}/{name}",
            paper=self.title,
            title=title,
            place=place,
            summary=summary,
            claims=tuple(claims),
            figures=tuple(figures),
            ours=tuple(ours or self.ours),
            **about,
        )
