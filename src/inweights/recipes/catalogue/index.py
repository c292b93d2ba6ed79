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
    """Summary of a recipe, as used in lists of recipes.

    Attributes:
        name: Full name, ``<paper>/<figure>``.
        title: Title, which states what the recipe shows.
        paper: Full name of the paper; ``inweights`` for recipes of our own.
        place: Place in the paper, such as ``Figure 2``. For recipes of our own, free
            text.
        extras: Extras of the package that a run requires (``hf`` or ``lm-demo``), by
            scale. The tuple is empty for a scale that requires none.
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
    """Return the stored summaries of the built-in recipes, keyed by full name."""
    text = resources.files("inweights.recipes.catalogue").joinpath(FILE).read_bytes()
    decoder = msgspec.json.Decoder(Entry)
    return {entry.name: entry for entry in decoder.decode_lines(text)}


def entry_of(name: str) -> Entry:
    """Return the summary of a recipe, built in or registered by a plugin.

    Args:
        name: Full name of a recipe, or a unique part of it
            (:func:`~inweights.recipes.full_name`). With the full name of a built-in
            recipe, the recipe is not loaded.

    Returns:
        The summary. For the full name of a built-in recipe, it is taken from the stored
        index; otherwise it is computed from the loaded recipe.

    Raises:
        ConfigError: No recipe has the name, or several recipes have it after the slash.
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
        ConfigError: No recipe has the name, or several recipes have it after the slash.
    """
    from inweights.recipes import get_recipe
    from inweights.recipes.catalogue.settings import extras

    recipe = get_recipe(name)
    claims = tuple(
        Statement(**claim.about(), judged=claim.judged) for claim in recipe.claims
    )
    needs = {scale: extras(config) for scale, config in recipe.scales.items()}
    return Entry(recipe.name, recipe.title, recipe.paper, recipe.place, needs, claims)
