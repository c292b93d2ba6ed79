"""The papers whose claims are judged, and how a recipe of theirs is made from its two files.

``papers.toml`` has each paper's title and the notes that several of its recipes share.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Unpack

from inweights.config import Config, decode, load_toml
from inweights.lab.grammar.claim import Judged
from inweights.lab.grammar.published import check_sources
from inweights.lab.grammar.recipe import Code, Paper, Recipe
from inweights.lab.grammar.recipe_file import read_recipe

__all__ = ["PaperEntry", "papers", "recipe"]


class PaperEntry(Config):
    """A paper of ``papers.toml``.

    Attributes:
        title: Full name, or ``inweights`` for recipes of our own.
        claims_of: Source of its claims, where that is another name.
        notes: What is ours in several of its recipes, by name.
    """

    title: str
    claims_of: str = ""
    notes: dict[str, tuple[str, ...]] = {}


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
    scores: Mapping[str, Judged],
    **code: Unpack[Code],
) -> Recipe:
    """Return the recipe of a module: its words are in the TOML file of the same name beside it.

    Args:
        module: The module's ``__name__``; its folder says the paper.
        scores: The judged score of each claim of the file, by the claim's id.
        code: ``scales``, ``seeds``, ``plan``; ``derive`` and ``version`` where there are such.
    """
    folder, name = module.split(".")[-2:]
    source = folder.replace("_", "-")
    entry = papers()[source]
    notes = {
        f"{paper}/{note}": texts
        for paper, about in papers().items()
        for note, texts in about.notes.items()
    }
    made = read_recipe(
        _folder() / folder / f"{name}.toml",
        Paper(source, " ".join(entry.title.split()), claims_of=entry.claims_of),
        scores=scores,
        notes=notes,
        **code,
    )
    for claim in made.claims:
        if not claim.ours:
            check_sources(claim, f"{folder}/{name}.toml")
    return made


def _folder() -> Path:
    return Path(str(resources.files("inweights.recipes")))
