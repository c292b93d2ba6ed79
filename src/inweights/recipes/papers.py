"""Create the recipe of a module from its code and its TOML file, and describe the papers.

:func:`recipe` is called for every built-in recipe. :func:`papers` returns the entries
of ``papers.toml`` (titles, shared notes and citations), and :func:`protocol` the
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
        claims_of: Name by which claims refer to the paper. The default, an empty
            string, stands for the short name of the paper.
        notes: Notes on our own choices that apply to several recipes of the paper,
            keyed by the name of the note. Each note is a list of sentences. Empty by
            default.
        configs: Groups of settings, keyed by the name of the group. A scale of a recipe
            includes a group with ``use = "PAPER/NAME"``. Each group is a dictionary
            from setting to value. Empty by default.
        citation: The fields of the paper's BibTeX entry, by name, and its citation key
            under ``key``. Empty (the default) if the paper has no BibTeX entry.
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
    """Return the entries of all papers, keyed by short name.

    Returns:
        The entries of ``papers.toml``, in the order of the file. The short name is also
        the name of the folder of the paper's recipes, with underscores in place of
        hyphens.

    Example:
        >>> papers()["geometric-memory"].title
        'Geometric Memory'
    """
    path = _folder() / "papers.toml"
    return decode(_Papers, {"papers": load_toml(path)}).papers


def recipe(module: str) -> Recipe:
    """Create a recipe from a module and the TOML file with the same name.

    The file is in the folder of the module. The module defines ``Settings``, ``plan``
    and ``SCORES`` (the score of each claim, keyed by the id of the claim in the file).
    It may define ``derive``, which computes additional tables. A scale that the file
    does not define uses the default ``Settings``. If the file does not set ``seeds``,
    there are 2, 8 and 16 seeds at the scales ``smoke``, ``cpu`` and ``paper``.

    Args:
        module: Full name of the module, such as ``inweights.recipes.demo.two_hop``. Its
            package must be the folder of a paper listed by :func:`papers`.

    Returns:
        A new recipe, which is not registered.

    Raises:
        ConfigError: The module does not define ``Settings``, ``plan`` or ``SCORES``,
            the TOML file is missing or invalid, the file and ``SCORES`` have different
            claims, or a claim of a paper does not state its source.
        KeyError: The folder does not belong to a paper of :func:`papers`.
        ModuleNotFoundError: The module does not exist.
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
    """Return the settings stated in a paper and in its code, or ``None`` if not recorded.

    Args:
        paper: Short name of the paper, such as ``geometric-memory``.

    Returns:
        The contents of ``protocol.toml`` in the folder of the paper's recipes. ``None``
        if there is no such file, for example because the name is unknown.

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
