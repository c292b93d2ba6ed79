"""Make the recipe of a module from its code and the TOML file beside it, and describe the papers.

:func:`recipe` is called for every built-in recipe; :func:`papers` and :func:`protocol`
return what is known of the papers. ``papers.toml`` has each paper's title and the notes
that several of its recipes share.
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
    """A paper of ``papers.toml``.

    Attributes:
        title: Full name, or ``inweights`` for recipes of our own.
        claims_of: Name by which claims refer to the paper; by default the short name.
        notes: Notes on our own choices that several of its recipes share, by name.
        configs: Groups of settings that a scale of a recipe can include with ``use =
            "PAPER/NAME"``, by name.
        citation: Fields of its BibTeX entry, by name, and its ``key``; by default no
            entry.
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
    """Return every paper, by its short name, which is also the folder of its recipes.

    Returns:
        The entries of ``papers.toml``, in its order.

    Example:
        >>> papers()["geometric-memory"].title
        'Geometric Memory'
    """
    path = _folder() / "papers.toml"
    return decode(_Papers, {"papers": load_toml(path)}).papers


def recipe(module: str) -> Recipe:
    """Return the recipe of a module, described by the TOML file of the same name beside it.

    The module defines ``Settings``, ``plan``, ``SCORES`` (the score of each claim, by
    the claim's id in the file), and ``derive`` if further tables are computed. A scale
    that is missing in the file has the default ``Settings``; without ``seeds`` there
    are 2, 8 and 16 seeds at the scales ``smoke``, ``cpu`` and ``paper``.

    Args:
        module: Full name of the module, such as ``inweights.recipes.demo.two_hop``; its
            folder is that of a paper of :func:`papers`.

    Returns:
        The recipe, which is not registered.

    Raises:
        ConfigError: The module lacks one of these definitions, the file is invalid,
            file and code do not name the same claims, or a claim of a paper lacks its
            source.
        KeyError: The folder is none of a paper.
        ModuleNotFoundError: There is no such module.
    """
    own = vars(importlib.import_module(module))
    for needed in ("SCORES", "Settings", "plan"):
        if needed not in own:
            raise ConfigError(f"{module} defines no {needed}")
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
    """Return the settings that a paper and its code state; ``None`` if there is no such file.

    Args:
        paper: Short name of the paper, such as ``geometric-memory``.

    Returns:
        The statements of the paper and its code (``protocol.toml`` in the folder of its
        recipes).

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
