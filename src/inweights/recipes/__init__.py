"""The papers' figures and tables, and our own, each one command and one verdict."""

from __future__ import annotations

import importlib
from importlib.metadata import entry_points

from inweights.errors import ConfigError, unknown_name
from inweights.recipes.claim import Claim, ClaimResult, Target, interval, judge
from inweights.recipes.recipe import SCALES, Deduction, Figure, Measure, Plan, Recipe, Trial

__all__ = [
    "SCALES",
    "Claim",
    "ClaimResult",
    "Deduction",
    "Figure",
    "Measure",
    "Plan",
    "Recipe",
    "Target",
    "Trial",
    "get_recipe",
    "interval",
    "judge",
    "load_plugins",
    "recipe_names",
    "register",
]

#: Where each built-in recipe lives; imported when it is asked for.
_BUILT_IN = {
    "feature-resemblance/theorems": "inweights.recipes.feature_resemblance.theorems",
    "feature-resemblance/fig1": "inweights.recipes.feature_resemblance.fig1",
    "beyond/what-mends-long-paths": "inweights.recipes.beyond.what_mends_long_paths",
    "beyond/when-does-geometry-navigate": "inweights.recipes.beyond.when_does_geometry_navigate",
    "beyond/geometry-first": "inweights.recipes.beyond.geometry_first",
    "beyond/curriculum-map": "inweights.recipes.beyond.curriculum_map",
    "beyond/partial-identity": "inweights.recipes.beyond.partial_identity",
    "beyond/frozen-or-reversed": "inweights.recipes.beyond.frozen_or_reversed",
    "feature-resemblance/table2": "inweights.recipes.feature_resemblance.table2",
    "feature-resemblance/table3": "inweights.recipes.feature_resemblance.table3",
    "feature-resemblance/table4": "inweights.recipes.feature_resemblance.table4",
    "feature-resemblance/table1": "inweights.recipes.feature_resemblance.table1",
    "geometric-memory/fig1": "inweights.recipes.geometric_memory.fig1",
    "geometric-memory/fig3": "inweights.recipes.geometric_memory.fig3",
    "geometric-memory/fig12": "inweights.recipes.geometric_memory.fig12",
    "geometric-memory/fig4": "inweights.recipes.geometric_memory.fig4",
    "geometric-memory/fig13": "inweights.recipes.geometric_memory.fig13",
    "geometric-memory/fig14-15": "inweights.recipes.geometric_memory.fig14_15",
    "geometric-memory/fig16": "inweights.recipes.geometric_memory.fig16",
    "geometric-memory/fig33": "inweights.recipes.geometric_memory.fig33",
    "geometric-memory/fig34": "inweights.recipes.geometric_memory.fig34",
    "geometric-memory/fig35": "inweights.recipes.geometric_memory.fig35",
    "geometric-memory/fig36": "inweights.recipes.geometric_memory.fig36",
    "geometric-memory/e1": "inweights.recipes.geometric_memory.e1",
    "geometric-memory/fig17-20": "inweights.recipes.geometric_memory.fig17_20",
    "geometric-memory/fig8": "inweights.recipes.geometric_memory.fig8",
    "geometric-memory/fig9": "inweights.recipes.geometric_memory.fig9",
    "geometric-memory/e2-e3": "inweights.recipes.geometric_memory.e2_e3",
    "geometric-memory/table1": "inweights.recipes.geometric_memory.table1",
    "geometric-memory/fig7": "inweights.recipes.geometric_memory.fig7",
    "geometric-memory/fig6": "inweights.recipes.geometric_memory.fig6",
    "geometric-memory/fig23-24": "inweights.recipes.geometric_memory.fig23_24",
    "geometric-memory/fig5": "inweights.recipes.geometric_memory.fig5",
    "geometric-memory/fig25-31": "inweights.recipes.geometric_memory.fig25_31",
    "geometric-memory/fig32": "inweights.recipes.geometric_memory.fig32",
    "identity-bridge/fig1": "inweights.recipes.identity_bridge.fig1",
    "identity-bridge/fig8": "inweights.recipes.identity_bridge.fig8",
    "identity-bridge/fig2": "inweights.recipes.identity_bridge.fig2",
    "identity-bridge/fig3": "inweights.recipes.identity_bridge.fig3",
    "identity-bridge/fig4": "inweights.recipes.identity_bridge.fig4",
    "identity-bridge/fig5": "inweights.recipes.identity_bridge.fig5",
    "identity-bridge/fig6": "inweights.recipes.identity_bridge.fig6",
    "identity-bridge/fig7": "inweights.recipes.identity_bridge.fig7",
    "identity-bridge/theory": "inweights.recipes.identity_bridge.theory",
    "beyond/does-the-bridge-help": "inweights.recipes.beyond.does_the_bridge_help",
    "beyond/predicted-composition": "inweights.recipes.beyond.predicted_composition",
    "beyond/where-the-bridge-holds": "inweights.recipes.beyond.where_the_bridge_holds",
    "demo/two-hop": "inweights.recipes.demo",
}
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


def load_plugins(modules: tuple[str, ...] = ()) -> None:
    """Import the named modules, and those of installed packages' ``inweights.plugins``.

    Raises:
        ConfigError: A module cannot be imported.
    """
    for entry in entry_points(group="inweights.plugins"):
        entry.load()
    for module in modules:
        try:
            importlib.import_module(module)
        except ImportError as error:
            raise ConfigError(f"cannot import the plugin '{module}': {error}") from None
