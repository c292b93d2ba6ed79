"""Describe a figure or table of a paper as one object: a plan, tables, figures and claims.

A :class:`Recipe` gives settings at several scales and the functions that use them; a
:class:`Paper` makes the recipes of one paper. :mod:`~.recipe_file` reads one from TOML,
the engine runs it (:func:`inweights.run`).
"""

import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict, Unpack

from inweights.config import Config, apply_overrides, as_overrides, identity
from inweights.errors import ConfigError, check_names
from inweights.experiments.claims.claim import Claim, Stating
from inweights.experiments.grammar.figure import Figure
from inweights.experiments.grammar.protocols.protocol_file import PaperProtocol, Reason
from inweights.experiments.grammar.seed_choice import choose_seeds
from inweights.experiments.grammar.trial import Plan
from inweights.support.border import guarded
from inweights.support.keys.sources import RAISED, sources_of

if TYPE_CHECKING:
    import polars as pl

#: ``smoke`` takes seconds and is in the tests; ``cpu`` minutes on two cores; ``paper``
#: a GPU.
SCALES = ("smoke", "cpu", "paper")

Tables = dict[str, "pl.DataFrame"]


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """One figure or table of a paper: what it trains, judges and draws.

    Attributes:
        name: ``<paper>/<figure>``.
        title: What it shows, in one sentence.
        paper: Full name of the paper, or ``inweights`` for a recipe of our own.
        place: Where in the paper.
        summary: What is done, in a few sentences.
        scales: Settings of each scale, all of one config class.
        seeds: Number of replicates of each scale.
        plan: Makes the plan from the settings.
        claims: What is judged.
        figures: What is drawn.
        derive: Computes further tables from the measured ones, for claims and figures.
        ours: Settings that the paper does not give and that are our choice: dotted
            names, which are marked wherever settings are listed, and sentences that say
            more.
        first_seed: First root seed. Settings are chosen on other seeds than they are
            judged on.
        root_seeds: The root seeds, where they do not count on from the first.
        version: Raised by hand when the recipe's results change; part of a run's
            identity.
        whole: The recipe of which this one is a part, with some of its claims.
        versions: Version of each claim in the ledger, for claims that stand there
            unchanged; ``None`` where no ledger is kept.
        cautions: Returns from settings and tables what a reader has to know, in
            sentences.
        results: Returns from the same what came out, in sentences; for a page without
            claims.
        meanings: What settings decide, by name; others say it in the docstring of their
            config.
        reasons: Why settings that differ from the paper's do.
        protocol: What the paper and its code state, where that is known.

    Raises:
        ConfigError: A scale has settings and no seeds, or the reverse; a scale is
            unknown; or a claim's id is of another recipe.
    """

    name: str
    title: str
    paper: str
    place: str
    summary: str
    scales: Mapping[str, Config]
    seeds: Mapping[str, int]
    plan: Callable[[Any], Plan]
    claims: Sequence[Claim] = ()
    figures: Sequence[Figure] = ()
    derive: Callable[[Tables], Tables] | None = None
    ours: Sequence[str] = ()
    first_seed: int = 100
    root_seeds: tuple[int, ...] = ()
    version: int = 1
    whole: "Recipe | None" = None
    versions: Mapping[str, int] | None = None
    cautions: Callable[[Any, Tables], Sequence[str]] | None = None
    results: Callable[[Any, Tables], Sequence[str]] | None = None
    meanings: Mapping[str, str] = field(default_factory=dict)
    reasons: Sequence[Reason] = ()
    protocol: PaperProtocol | None = None

    @guarded
    def __post_init__(self) -> None:
        if not self.scales or set(self.scales) != set(self.seeds):
            raise ConfigError(
                f"recipe {self.name}: settings are given for {', '.join(self.scales) or 'no scale'}"
                f", seeds for {', '.join(self.seeds) or 'no scale'}; give both for each scale"
            )
        check_names("scale", self.scales, SCALES, hint=f"Recipe {self.name}.")
        for claim in self.claims:
            if not claim.id.startswith(f"{self.name}/"):
                raise ConfigError(
                    f"recipe {self.name}: claim '{claim.id}' belongs to another recipe"
                )

    def resolve(
        self,
        scale: str,
        seeds: int | Sequence[int] | None = None,
        overrides: Sequence[str] = (),
    ) -> tuple[Any, tuple[int, ...], dict[str, Any]]:
        """Return the settings and seeds of a run, and the config that names it.

        Args:
            scale: ``smoke``, ``cpu`` or ``paper``.
            seeds: Number of replicates, or root seeds; by default the recipe's own.
            overrides: Changes of settings, as on the command line: ``n=10``.

        Returns:
            Settings, root seeds, and the config: recipe, version, scale, seeds,
            settings, and the sources that decide the tables.

        Raises:
            ConfigError: There is no such scale, an override does not fit, or the seeds
            are not valid.
        """
        settings = apply_overrides(self._settings(scale), overrides)
        asked = (self.root_seeds or self.seeds[scale]) if seeds is None else seeds
        chosen = choose_seeds(asked, self.first_seed)
        config = {
            "recipe": self.name,
            "version": self.version,
            "scale": scale,
            "seeds": list(chosen),
            "settings": identity(settings),
        }
        if self.whole:
            config["claims"] = [claim.id.rpartition("/")[2] for claim in self.claims]
        if sources := (self.whole or self)._sources(settings):
            config["sources"] = sources
        return settings, chosen, config

    def _sources(self, settings: Config) -> dict[str, str]:
        """Return the files, users' modules and raised versions that decide the tables."""
        if self.plan.__module__.startswith("inweights.recipes."):
            # All of those: which of them a recipe uses its plan alone says, and that
            # loads torch.
            raised = {f"inweights:{name}": f"version {v}" for name, v in RAISED.items()}
            return sources_of(settings) | raised
        plan = self.plan(settings)
        trials = [[trial.world, trial.model, trial.learner] for trial in plan.trials]
        measures = [measure.call for measure in plan.measures]
        computed = [computation.call for computation in plan.computations]
        return sources_of(
            [settings, self.plan, self.derive, trials, measures, computed]
        )

    def derived(self, tables: Tables) -> Tables:
        """Return the tables together with the tables derived from them."""
        return tables | (self.derive(tables) if self.derive else {})

    def changes(
        self, scale: str, overrides: Sequence[str] | Mapping[str, Any]
    ) -> tuple[str, ...]:
        """Return changes of a scale's settings as they are written on the command line.

        Args:
            scale: ``smoke``, ``cpu`` or ``paper``.
            overrides: Texts such as ``n=10``, or values by name.

        Raises:
            ConfigError: There is no such scale, or a change does not fit.
        """
        return as_overrides(self._settings(scale), overrides)

    def _settings(self, scale: str) -> Config:
        """Return the settings of a scale; an unknown one is refused."""
        check_names("scale", [scale], self.scales, hint=f"Recipe {self.name}.")
        return self.scales[scale]


class Code(TypedDict):
    """Attributes of a :class:`Recipe` that its code gives.

    Attributes:
        scales: Settings of each scale, by name: ``smoke``, ``cpu``, ``paper``.
        seeds: Number of replicates of each scale by name, or one number.
        plan: Returns the plan for some settings.
        derive: Returns further tables made of the measured ones; ``None`` for none.
        version: Version of the recipe, 1 where it is left out.
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
        source: Short name of the paper, the first part of its recipes' names.
        title: Full name of the paper.
        claims_of: ``source`` of its claims, where that is another name.
        ours: Deprecated; give it to each recipe.

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
            text = "Paper(ours=...) works in this release only; give it to each recipe of the paper"
            warnings.warn(text, DeprecationWarning, stacklevel=3)

    def stating(self, name: str, place: str = "", condition: str = "") -> Stating:
        """Return a function that makes the claims of a recipe.

        Args:
            name: Short name of the recipe.
            place: Where in the paper, for claims that do not say it.
            condition: Under which condition its claims are judged; by default none.
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
            name: Its short name, the second part of the name.
            title: What it shows, in one sentence.
            place: Where in the paper.
            summary: What is done, in a few sentences.
            claims: What is judged.
            figures: What is drawn.
            ours: What is our choice and not the paper's; see :class:`Recipe`.
            **code: ``scales``, ``seeds`` and ``plan``, and if wanted ``derive`` and
                ``version``.

        Raises:
            ConfigError: Scales, seeds and claims do not fit each other.
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


def split_ours(ours: Iterable[str]) -> tuple[list[str], list[str]]:
    """Split a recipe's list of choices that no paper gives into names of settings, and sentences.

    Args:
        ours: Dotted names and sentences, as in :attr:`Recipe.ours`.

    Returns:
        The dotted names, and the sentences.
    """
    names = [one for one in ours if re.fullmatch(r"[\w.]+", one)]
    return names, [one for one in ours if one not in names]
