"""Make the recipe of a module from its code and the TOML file beside it, and describe the papers.

:func:`recipe` is called for every built-in recipe. :func:`papers` and :func:`protocol`
return the entries of ``papers.toml`` (titles, shared notes and citations) and the
settings that a paper states.
"""

import importlib
from collections.abc import Mapping
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

from inweights.config import Config, decode, load_toml
from inweights.errors import ConfigError
from inweights.experiments.grammar.paper import Paper
from inweights.experiments.grammar.protocols.protocol_file import (
    PaperProtocol,
    read_protocol,
)
from inweights.experiments.grammar.recipe import SCALES, Recipe
from inweights.experiments.grammar.recipe_file import read_recipe


class PaperEntry(Config):
    """An entry of ``papers.toml``: a paper, or a collection of our own recipes.

    A value of the wrong type raises a ``ConfigError``; ranges are checked when the
    config is used.

    Attributes:
        title: Full name of the paper, or ``inweights`` for recipes of our own.
        claims_of: Name by which claims refer to the paper. The default, an empty text,
            means the short name.
        notes: Notes on our own choices that several recipes of the paper share, by
            name; each note is a list of sentences.
        configs: Groups of settings that a scale of a recipe can include with ``use =
            "PAPER/NAME"``, by name; each group contains values by the name of the
            setting.
        citation: Fields of its BibTeX entry by name, and the entry's ``key``. Empty by
            default, for no BibTeX entry.
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
    """Return the entry of every paper, by its short name, which also names its recipes' folder.

    Returns:
        The entries of ``papers.toml``, in the order of the file. In the name of the
        folder, hyphens are replaced by underscores.

    Example:
        >>> papers()["geometric-memory"].title
        'Geometric Memory'
    """
    path = _folder() / "papers.toml"
    return decode(_Papers, {"papers": load_toml(path)}).papers


def recipe(module: str) -> Recipe:
    """Return the recipe of a module, described by the TOML file of the same name beside it.

    The module defines ``Settings``, ``plan``, ``SCORES`` (the score of each claim, by
    the id of the claim in the file), and ``derive`` if further tables are computed. A
    scale that the file does not define uses the default ``Settings``. If the file does
    not set ``seeds``, there are 2, 8 and 16 seeds at the scales ``smoke``, ``cpu`` and
    ``paper``.

    Args:
        module: Full name of the module, such as ``inweights.recipes.demo.two_hop``. Its
            package must be the folder of a paper listed by :func:`papers`.

    Returns:
        The recipe. The recipe is not registered.

    Raises:
        ConfigError: The module does not define ``Settings``, ``plan`` or ``SCORES``,
            the TOML file is missing or invalid, file and code do not define the same
            claims, or a claim about a paper does not state its source.
        KeyError: The folder does not belong to a paper of :func:`papers`.
        ModuleNotFoundError: There is no such module.
    """
    own = vars(importlib.import_module(module))
    for needed in ("SCORES", "Settings", "plan"):
        if needed not in own:
            raise ConfigError(f"{module} does not define {needed}")
    folder, name = module.split(".")[-2:]
    source = folder.replace("_", "-")
    entry = papers()[source]
    notes: dict[str, tuple[str, ...]] = {}
    configs: dict[str, dict[str, Any]] = {}
    for paper, about in papers().items():
        notes |= {f"{paper}/{note}": texts for note, texts in about.notes.items()}
        configs |= {
            f"{paper}/{config}": values for config, values in about.configs.items()
        }
    made = read_recipe(
        _folder() / folder / f"{name}.toml",
        Paper(source, " ".join(entry.title.split()), claims_of=entry.claims_of),
        scores=own["SCORES"],
        notes=notes,
        names=own | configs,
        protocol=protocol(source),
        scales={scale: own["Settings"]() for scale in SCALES},
        seeds=dict(zip(SCALES, (2, 8, 16), strict=True)),
        plan=own["plan"],
        derive=own.get("derive"),
    )
    for claim in made.claims:
        if not claim.ours:
            claim.check_sources(f"{folder}/{name}.toml")
    return made


@lru_cache
def protocol(paper: str) -> PaperProtocol | None:
    """Return the settings that a paper and its code state, or ``None`` if they are not recorded.

    Args:
        paper: Short name of the paper, such as ``geometric-memory``. An unknown name is
            not an error.

    Returns:
        The contents of ``protocol.toml`` in the folder of the paper's recipes: what the
        paper and its code state. ``None`` if there is no such file.

    Raises:
        ConfigError: The file is invalid.

    Example:
        >>> stated = protocol("geometric-memory")
        >>> stated.paper.code.partition("@")[0] if stated else None
        'Shahriarnz14/Geometric_Memory'
    """
    path = _folder() / paper.replace("-", "_") / "protocol.toml"
    return read_protocol(path) if path.is_file() else None


def _folder() -> Path:
    return Path(str(resources.files("inweights.recipes")))
