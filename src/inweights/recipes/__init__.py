"""Find recipes by name: the figures and tables of papers, and recipes of our own.

:func:`get_recipe` returns a recipe, :func:`recipe_names` lists the names of all
recipes, and :func:`register` adds the recipe of a plugin. Each built-in recipe consists
of a module and a TOML file with the same name, which are loaded when the recipe is
requested. The package ``actions`` runs recipes.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from inweights.errors import ConfigError, nearest
from inweights.support.border import guard_names

if TYPE_CHECKING:
    from inweights.experiments.grammar.recipe import Recipe

__all__ = [
    "full_name",
    "get_recipe",
    "is_built_in",
    "recipe_names",
    "recipes_like",
    "register",
]

#: Names of all built-in recipes by paper, in the order of the papers. The module of a
#: recipe has its name, and is imported when the recipe is used.
_FOLDERS = {
    "identity-bridge": "fig1 fig1b fig2 fig2-every fig2-tied fig3 fig4 fig5 fig6 fig7 fig8 theory",
    "reversal-curse": "told-reversals",
    "out-of-context": "implication factorised",
    "feature-resemblance": (
        "fig1 table1 table2 table3 table4 late-similarity table3-grid theorems lemmas "
        "lemma-18"
    ),
    "geometric-memory": (
        "fig1 fig2-10-11 fig3 fig4 fig5 fig6 fig7 fig8 fig9 fig12 fig13 fig14-15 fig16 fig17-20 "
        "fig21-22 fig23-24 fig25-31 fig32 fig33 fig34 fig35 fig36 table1 b5 c3 e1 e2-e3"
    ),
    "beyond": (
        "where-the-bridge-holds when-to-decay predicted-composition does-the-bridge-help "
        "which-diet-teaches partial-identity curriculum-map frozen-or-reversed geometry-first "
        "how-far-geometry-carries real-graphs idle-tokens clearest-before-recall rounding "
        "where-the-bridge-is what-decides geometry-disputed loops-or-identities edits "
        "calibrated-predictions league recall-by-selection "
        "one-steering-vector hops-and-layers edits-spread positions-decide targets-or-identities "
        "penalty-or-identities"
    ),
    "demo": "two-hop",
}
_BUILT_IN: dict[str, str] = {}
for _folder, _names in _FOLDERS.items():
    for _name in _names.split():
        _module = f"{__name__}.{_folder}.{_name}".replace("-", "_")
        _BUILT_IN[f"{_folder}/{_name}"] = _module
_registered: dict[str, Recipe] = {}


def recipe_names() -> tuple[str, ...]:
    """Return the names of all recipes, both built in and registered.

    Returns:
        Full names, ``<paper>/<figure>``: first the built-in recipes in the order of the
        papers, then the registered ones in the order of their registration.
    """
    return (*_BUILT_IN, *(name for name in _registered if name not in _BUILT_IN))


def is_built_in(name: str) -> bool:
    """Return whether a recipe is part of the library.

    Args:
        name: Full name of a recipe, such as ``demo/two-hop``. For any other string,
            including a part of a name, the result is ``False``.
    """
    return name in _BUILT_IN


def full_name(name: str) -> str:
    """Return the full name of a recipe, given its full name or a unique part of it.

    Args:
        name: The full name, or a part that identifies one recipe: the part after the
            slash, such as ``fig2``, or the part before it, such as ``demo``. Parts
            after the slash are compared first; the parts before it only if none of them
            matches. Case matters.

    Returns:
        The name in the form ``<paper>/<figure>``.

    Raises:
        ConfigError: No recipe has the name, or several recipes have it after the slash.
            The message lists these recipes, or suggests similar names.

    Example:
        >>> full_name("fig2"), full_name("identity-bridge/fig2"), full_name("demo")
        ('identity-bridge/fig2', 'identity-bridge/fig2', 'demo/two-hop')
        >>> full_name("fig8")
        Traceback (most recent call last):
        ...
        inweights.errors.ConfigError: 'fig8' is the last part of 2 recipes; choose one:
        identity-bridge/fig8, geometric-memory/fig8
    """
    names = recipe_names()
    if name in names:
        return name
    fitting = [known for known in names if known.rpartition("/")[2] == name]
    alone = [known for known in names if known.partition("/")[0] == name]
    if not fitting and len(alone) == 1:  # a folder with a single recipe
        return alone[0]
    if len(fitting) > 1:
        raise ConfigError(
            f"'{name}' is the last part of {len(fitting)} recipes; choose one: {', '.join(fitting)}"
        )
    if not fitting:
        parts = [known.rpartition("/")[2] for known in names]
        close = nearest(name, names) or nearest(name, parts)
        whole = [known for known in names if close and known.endswith(close)]
        question = (
            f"; did you mean {' or '.join(map(repr, whole))}?"
            if 0 < len(whole) < 4
            else "."
        )
        raise ConfigError(
            f"unknown recipe '{name}'{question} 'inweights list' shows all recipes."
        )
    return fitting[0]


def recipes_like(part: str) -> tuple[str, ...]:
    """Return the names of the recipes that match a part of a name.

    Args:
        part: If this is a full name, or the part after the slash, only recipes of that
            name match. Otherwise, all names that contain it match. An empty string
            matches all names.

    Returns:
        The full names, in the order of :func:`recipe_names`; at least one.

    Raises:
        ConfigError: No name contains ``part``. The message suggests the most similar
            name.

    Example:
        >>> recipes_like("fig2"), recipes_like("reversal-curse")
        (('identity-bridge/fig2',), ('reversal-curse/told-reversals',))
    """
    names = recipe_names()
    exact = tuple(n for n in names if part and part in (n, n.rpartition("/")[2]))
    found = exact or tuple(name for name in names if part in name)
    return found or (full_name(part),)


def get_recipe(name: str) -> Recipe:
    """Return a recipe, given its full name or a unique part of it.

    Args:
        name: The full name, such as ``demo/two-hop``, or its part before or after the
            slash, if only one recipe has this part. Other substrings are not accepted.

    Returns:
        The recipe. A built-in recipe and its TOML file are loaded at the first call;
        later calls return the same object.

    Raises:
        ConfigError: No recipe has this name or part, or several recipes have this part.
            The message lists these, or suggests similar names.
    """
    name = full_name(name)
    return _registered[name] if name in _registered else _built_in(name)


@cache
def _built_in(name: str) -> Recipe:
    from inweights.recipes.papers import recipe

    return recipe(_BUILT_IN[name])


def register(recipe: Recipe) -> Recipe:
    """Register a recipe under its name, so that ``inweights run`` finds it.

    The recipe is registered only in the current process. A plugin registers its recipes
    when it is imported.

    Args:
        recipe: The recipe. Its name must differ from those of all other recipes.

    Returns:
        The same recipe, unchanged.

    Raises:
        ConfigError: A recipe of this name already exists.
    """
    if recipe.name in recipe_names():
        raise ConfigError(
            f"a recipe '{recipe.name}' already exists; choose another name"
        )
    _registered[recipe.name] = recipe
    return recipe


guard_names(__name__, __all__)
