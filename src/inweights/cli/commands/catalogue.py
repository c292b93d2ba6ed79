"""Commands about recipes before they run, and stored models: list, describe, cite, models."""

from inweights.cli import console
from inweights.cli.commands.base import Common, Flag, app
from inweights.errors import unknown_name


@app.command(name="list")
def list_recipes(part: str = "", /, *, common: Common = Common()) -> None:
    """List recipes, one line each.

    Args:
        part: Only recipes whose name contains this, such as fig or geometric-memory.
    """
    from inweights.recipes import recipes_like
    from inweights.recipes.catalogue.index import entry_of

    common.load()
    console.recipes([entry_of(name) for name in recipes_like(part)], json=common.json)


@app.command
def describe(
    recipe: str,
    part: str = "",
    /,
    *,
    full: Flag = False,
    common: Common = Common(),
) -> None:
    """Describe a recipe: what it shows, its cost, and every setting by scale.

    Args:
        recipe: Its name, or the last part of its name.
        part: Only settings within this one, such as gpt.model.
        full: List every setting with its full description.
    """
    from inweights.recipes import get_recipe
    from inweights.recipes.catalogue.settings import settings

    common.load()
    chosen = get_recipe(recipe)
    if part and not settings(chosen, part):
        steps = [one.path.split(".") for one in settings(chosen)]
        parts = {".".join(path[: depth + 1]) for path in steps for depth in range(len(path))}
        raise unknown_name("setting", part, parts)
    console.described(chosen, part, json=common.json, full=full)


@app.command
def cite(recipe: str = "", /, *, common: Common = Common()) -> None:
    """Print BibTeX entries of the project and of a recipe's paper.

    Args:
        recipe: A recipe, or the last part of its name; all papers if left out.
    """
    from inweights.recipes import get_recipe
    from inweights.recipes.catalogue.citations import citations

    common.load()
    console.cited(citations(get_recipe(recipe) if recipe else None), json=common.json)


@app.command
def models(part: str = "", /, *, common: Common = Common()) -> None:
    """List the trained models that come with the library; iw.load(NAME) opens one.

    Args:
        part: Only models whose name contains this, such as two-hop.
    """
    from inweights.laboratory.zoo import cards

    common.load()
    console.models([card for card in cards() if part in card.name], json=common.json)
