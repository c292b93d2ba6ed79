"""Describe a figure or table of a paper as one object: a plan, tables, figures and claims.

A :class:`Recipe` contains settings at several scales and the functions that use them.
A :class:`~.paper.Paper` creates the recipes of one paper, :mod:`~.recipe_file` reads a
recipe from TOML, and the engine runs it (:func:`inweights.run`).
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from inweights.config import Config, apply_overrides, as_overrides, identity
from inweights.errors import ConfigError, check_names
from inweights.experiments.claims.claim import Claim
from inweights.experiments.grammar.figure import Figure
from inweights.experiments.grammar.protocols.protocol_file import PaperProtocol, Reason
from inweights.experiments.grammar.seed_choice import choose_seeds
from inweights.experiments.grammar.trial import Plan
from inweights.support.border import guarded
from inweights.support.keys.sources import RAISED, sources_of

if TYPE_CHECKING:
    import polars as pl

#: Scales: ``smoke`` takes seconds and is used in tests, ``cpu`` takes minutes on two
#: cores, and ``paper`` needs a GPU.
SCALES = ("smoke", "cpu", "paper")

Tables = dict[str, "pl.DataFrame"]


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Reproduction of a figure or table of a paper: what is trained, judged and drawn.

    Attributes:
        name: Name, as ``<paper>/<figure>``.
        title: One sentence that states what the recipe shows.
        paper: Full title of the paper, or ``inweights`` for a recipe that is not from a
            paper.
        place: Place in the paper, such as ``Figure 3, §4``.
        summary: Description of the procedure, in a few sentences.
        scales: Settings, keyed by the name of the scale (``smoke``, ``cpu`` or
            ``paper``). All of them are of the same config class.
        seeds: Number of seeds, keyed by the name of the scale.
        plan: Function that returns the plan for given settings.
        claims: Claims that are judged; by default none.
        figures: Figures that are drawn; by default none.
        derive: Function that takes a dictionary of the measured tables, keyed by name,
            and returns a dictionary of further tables; ``None`` if there are no further
            tables.
        ours: Our own choices, which the paper does not state: dotted names of settings,
            which are marked wherever settings are listed, and explanatory sentences. By
            default none.
        first_seed: First root seed; the other seeds are the integers after it. It is
            100 by default, so that claims are judged on seeds other than those with
            which settings were chosen.
        root_seeds: The root seeds themselves, if they are not consecutive; empty, the
            default, for consecutive seeds.
        version: Version, by default 1. It is increased by hand when results change, and
            is part of the key of every run, so that runs of earlier versions are not
            reused.
        whole: The complete recipe, if this recipe contains only some of its claims;
            otherwise ``None``.
        versions: Version of each claim in the ledger (the file of claims that were
            stated before their runs), keyed by the claim's id. Only claims with the
            same wording in the ledger are included. ``None`` if no ledger is used.
        cautions: Function that takes the settings and all tables, keyed by name, and
            returns warnings as sentences; ``None`` if there are no warnings.
        results: Function that takes the settings and all tables, keyed by name, and
            returns the results as sentences; ``None`` if there are none.
        meanings: Meanings of settings, keyed by name. Settings that are not listed are
            explained in the docstring of their config.
        reasons: Reasons for settings that differ from the paper's; by default none.
        protocol: Statements of the paper and its code about the settings; ``None`` if
            unknown.

    Raises:
        ConfigError: A scale has settings but no seeds, or seeds but no settings; a scale is
            unknown; or a claim's id does not begin with the recipe's name and a slash.
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
                f"recipe {self.name}: settings and seeds must be given for the same scales; "
                f"settings are given for {', '.join(self.scales) or 'none'}, seeds for "
                f"{', '.join(self.seeds) or 'none'}"
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
        """Return the settings, the seeds and the identifying config of a run.

        Args:
            scale: Scale of the run: ``smoke``, ``cpu`` or ``paper``.
            seeds: Number of consecutive seeds, beginning with the recipe's
                :attr:`first_seed` (100 by default), or a list of root seeds. By default
                the recipe's :attr:`root_seeds`; if these are empty, the number of seeds
                of the scale.
            overrides: Changed settings, written as on the command line, such as
                ``n=10``; by default none.

        Returns:
            Three values: the settings; the root seeds; and the config whose hash
            identifies the run. The config is a dictionary with the keys ``recipe``,
            ``version``, ``scale``, ``seeds`` and ``settings``. It also has ``sources``,
            hashes of the files and user code on which the tables depend, if there are
            any; and ``claims``, the short names of the claims, if the recipe contains
            only some of the claims of another recipe (:attr:`whole`).

        Raises:
            ConfigError: There is no such scale; an override names an unknown setting or
                has an invalid value; there are no seeds or more than 100,000, a seed is
                given twice or is not an integer from 0 to 2^63 - 1; or user code
                depends on something that cannot be hashed. Errors of ``plan`` propagate.
            DataError: A file to which the settings refer cannot be read.
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
        """Return hashes of files and users' modules, and versions of library code, by name."""
        if self.plan.__module__.startswith("inweights.recipes."):
            # The versions of all parts are included, because only the plan shows which
            # ones a recipe uses, and making the plan imports torch.
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
        """Return the given tables together with the tables that the recipe derives from them.

        The function :attr:`derive` computes them; without this function, only the given
        tables are returned. A derived table replaces a given table of the same name.
        The given dictionary is not changed. Errors of :attr:`derive` propagate.

        Args:
            tables: The measured tables, keyed by name.
        """
        return tables | (self.derive(tables) if self.derive else {})

    def changes(
        self, scale: str, overrides: Sequence[str] | Mapping[str, Any]
    ) -> tuple[str, ...]:
        """Return changed settings as strings, in the form that the command line uses.

        Unknown settings and invalid values are not detected here, but by
        :meth:`resolve`.

        Args:
            scale: Scale whose settings are changed: ``smoke``, ``cpu`` or ``paper``.
            overrides: Strings such as ``n=10``, which are returned unchanged; or a
                mapping from dotted names to new values. If the new value of a nested
                config is a mapping, only the fields in it are changed.

        Returns:
            One string such as ``n=10`` for each changed setting.

        Raises:
            ConfigError: There is no such scale, or a new value cannot be stored and
                restored exactly.
        """
        return as_overrides(self._settings(scale), overrides)

    def _settings(self, scale: str) -> Config:
        """Return the settings of a scale, or raise an error if there is no such scale."""
        check_names("scale", [scale], self.scales, hint=f"Recipe {self.name}.")
        return self.scales[scale]


def split_ours(ours: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return a recipe's own choices as two lists: names of settings, and sentences.

    Args:
        ours: Dotted names and sentences, as in :attr:`Recipe.ours`. A string that
            consists only of letters, digits, dots and underscores is a name; any other
            string is a sentence.
    """
    names = [one for one in ours if re.fullmatch(r"[\w.]+", one)]
    return names, [one for one in ours if one not in names]
