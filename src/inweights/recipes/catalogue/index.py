"""List the claims of the built-in recipes without loading the recipes.

:func:`index` reads ``index.jsonl``, which contains one line per recipe.
``tests/house/catalogue.py`` of the repository writes this file, and a test compares it
with the recipes.
"""

from functools import lru_cache
from importlib import resources

import msgspec

from inweights.experiments.claims.claim import Statement

FILE = "index.jsonl"


class Entry(msgspec.Struct, frozen=True):
    """Summary of a recipe, for lists.

    Attributes:
        name: Full name, ``<paper>/<figure>``.
        title: Title, which states what the recipe shows.
        paper: Full name of the paper; ``inweights`` for recipes of our own.
        place: Place in the paper, such as ``Figure 2``; for our own recipes, a text
            chosen by us.
        extras: Optional extras of the package that a run needs (``hf`` or ``lm-demo``),
            by scale; an empty tuple if a scale needs none.
        claims: Claims of the recipe, without their scores.
    """

    name: str
    title: str
    paper: str
    place: str
    extras: dict[str, tuple[str, ...]]
    claims: tuple[Statement, ...]


@lru_cache(maxsize=1)
def index() -> dict[str, Entry]:
    """Return the stored summary of every built-in recipe, by its full name."""
    text = resources.files("inweights.recipes.catalogue").joinpath(FILE).read_bytes()
    decoder = msgspec.json.Decoder(Entry)
    return {entry.name: entry for entry in decoder.decode_lines(text)}


def entry_of(name: str) -> Entry:
    """Return the summary of a recipe, which may be built in or come from a plugin.

    Args:
        name: Full name of a recipe. For a recipe that is not built in, also a unique
            part of the name (:func:`~inweights.recipes.full_name`).

    Returns:
        The summary: from the stored index for a built-in recipe, otherwise computed
        from the loaded recipe.

    Raises:
        ConfigError: No recipe has the name, or several have it.
    """
    from inweights.recipes import is_built_in

    return index()[name] if is_built_in(name) and name in index() else read_entry(name)


def read_entry(name: str) -> Entry:
    """Load a recipe and return its summary.

    Args:
        name: Full name of a recipe, or a unique part of it
            (:func:`~inweights.recipes.full_name`).

    Returns:
        The summary, computed from the recipe and not read from the stored index.

    Raises:
        ConfigError: No recipe has the name, or several have it.
    """
    from inweights.recipes import get_recipe
    from inweights.recipes.catalogue.settings import extras

    recipe = get_recipe(name)
    claims = tuple(
        Statement(**claim.about(), judged=claim.judged) for claim in recipe.claims
    )
    needs = {scale: extras(config) for scale, config in recipe.scales.items()}
    return Entry(recipe.name, recipe.title, recipe.paper, recipe.place, needs, claims)
