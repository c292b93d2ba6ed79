"""The papers' figures and tables, and our own, each one command and one verdict."""

from __future__ import annotations

import importlib

from inweights.errors import ConfigError, unknown_name
from inweights.lab.recipe import Recipe

__all__ = ["get_recipe", "recipe_names", "register"]

#: Every built-in recipe, in the order of the papers; each is a module of its name, imported when it
#: is asked for.
_FOLDERS = {
    "identity-bridge": "fig1 fig1b fig2 fig3 fig4 fig5 fig6 fig7 fig8 theory",
    "feature-resemblance": "fig1 table1 table2 table3 table4 theorems",
    "geometric-memory": (
        "fig1 fig3 fig4 fig5 fig6 fig7 fig8 fig9 fig12 fig13 fig14-15 fig16 fig17-20 fig23-24 "
        "fig25-31 fig32 fig33 fig34 fig35 fig36 table1 e1 e2-e3"
    ),
    "beyond": (
        "where-the-bridge-holds when-to-decay predicted-composition does-the-bridge-help "
        "partial-identity curriculum-map frozen-or-reversed geometry-first "
        "when-does-geometry-navigate what-mends-long-paths long-paths real-graphs"
    ),
}
_BUILT_IN = {
    f"{folder}/{name}": f"{__name__}.{folder}.{name}".replace("-", "_")
    for folder, names in _FOLDERS.items()
    for name in names.split()
} | {"demo/two-hop": f"{__name__}.demo"}
_registered: dict[str, Recipe] = {}


def recipe_names() -> tuple[str, ...]:
    """Return the names of all recipes: built in, and registered by plugins."""
    return (*_BUILT_IN, *(name for name in _registered if name not in _BUILT_IN))


def get_recipe(name: str) -> Recipe:
    """Return a recipe.

    Raises:
        ConfigError: No recipe has the name; says which comes closest.
    """
    if name in _registered:
        return _registered[name]
    if name not in _BUILT_IN:
        raise unknown_name("recipe", name, recipe_names(), hint="'inweights list' shows them all.")
    recipe: Recipe = importlib.import_module(_BUILT_IN[name]).RECIPE
    return recipe


def register(recipe: Recipe) -> Recipe:
    """Add a recipe of one's own, so that ``inweights run`` finds it.

    Raises:
        ConfigError: A recipe of this name exists.
    """
    if recipe.name in recipe_names():
        raise ConfigError(f"a recipe '{recipe.name}' exists already; choose another name")
    _registered[recipe.name] = recipe
    return recipe
