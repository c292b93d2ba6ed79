"""The papers whose claims are judged, and how a recipe of theirs is made from its two files.

``papers.toml`` has each paper's title and the notes that several of its recipes share.
"""

import sys
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

from inweights.config import Config, decode, load_toml
from inweights.errors import ConfigError
from inweights.lab.grammar.recipe import SCALES, Paper, Recipe, Tables
from inweights.lab.grammar.recipe_file import read_recipe
from inweights.lab.grammar.trial import Plan


class PaperEntry(Config):
    """A paper of ``papers.toml``.

    Attributes:
        title: Full name, or ``inweights`` for recipes of our own.
        claims_of: Source of its claims, where that is another name.
        notes: What is ours in several of its recipes, by name.
        configs: What settings of a scale may ``use``, as ``PAPER/NAME``.
        citation: Its fields in BibTeX, and ``key``. What is not known is left out, not guessed.
    """

    title: str
    claims_of: str = ""
    notes: dict[str, tuple[str, ...]] = {}
    configs: dict[str, dict[str, Any]] = {}
    citation: dict[str, str] = {}


class _Papers(Config):
    papers: dict[str, PaperEntry]


@lru_cache(maxsize=1)
def papers() -> Mapping[str, PaperEntry]:
    """Return every paper by its short name, the folder of its recipes.

    Example:
        >>> papers()["geometric-memory"].title
        'Geometric Memory'
    """
    path = _folder() / "papers.toml"
    return decode(_Papers, {"papers": load_toml(path)}).papers


def recipe(
    module: str,
    *,
    seeds: int | tuple[int, int, int] = (2, 8, 16),
    plan: Callable[[Any], Plan] | None = None,
    derive: Callable[[Tables], Tables] | None = None,
    version: int = 1,
) -> Recipe:
    """Return the recipe of a module: its data are in the TOML file of the same name beside it.

    ``SCORES`` of the module are the judged scores of the claims, by their ids in the file. A scale
    that the file does not have is that of the module's ``Settings``, with its defaults.

    Args:
        module: The module's ``__name__``; its folder says the paper.
        seeds: Number of replicates at the scales ``smoke``, ``cpu`` and ``paper``, or at all.
        plan: Makes the plan from the settings; the module's own if left out.
        derive: Computes further tables; the module's own, if it has one, if left out.
        version: Raised by hand when the recipe's results change; part of a run's identity.
    """
    own = vars(sys.modules[module])
    for needed in ("SCORES", "Settings", "plan"):
        if needed not in own and not (plan and needed == "plan"):
            raise ConfigError(f"{module} defines no {needed}, above the call of recipe()")
    folder, name = module.split(".")[-2:]
    source = folder.replace("_", "-")
    entry = papers()[source]
    notes, configs = (
        {
            f"{paper}/{name}": one
            for paper, about in papers().items()
            for name, one in getattr(about, part).items()
        }
        for part in ("notes", "configs")
    )
    made = read_recipe(
        _folder() / folder / f"{name}.toml",
        Paper(source, " ".join(entry.title.split()), claims_of=entry.claims_of),
        scores=own["SCORES"],
        notes=notes,
        names=own | configs,
        scales={scale: own["Settings"]() for scale in SCALES},
        seeds=dict(zip(SCALES, seeds, strict=True)) if isinstance(seeds, tuple) else seeds,
        plan=plan or own["plan"],
        derive=derive or own.get("derive"),
        version=version,
    )
    for claim in made.claims:
        if not claim.ours:
            claim.check_sources(f"{folder}/{name}.toml")
    return made


def _folder() -> Path:
    return Path(str(resources.files("inweights.recipes")))
