"""Define the commands about recipes before they run: list, describe, cite, models and claims."""

from itertools import accumulate
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from inweights import actions, recipes
from inweights.cli import console
from inweights.cli.commands import base
from inweights.errors import unknown_name
from inweights.support.plugins import load_plugins

claims_app = App(
    name="claims", help="State claims before they are run, and show their history."
)
base.app.command(claims_app)
_SCALE = "Scale of the runs that judge the claims: cpu or paper."
_RESULTS = "Folder of the results; $INWEIGHTS_RESULTS, or ./results."


@base.app.command(name="list")
def list_recipes(part: str = "", /, *, common: base.Common = base.Common()) -> None:
    """List recipes, one line each.

    Args:
        part: List only recipes whose name contains this text, such as fig or
            geometric-memory.
        common: Options --json and --plugin.

    Raises:
        ConfigError: No recipe's name contains ``part``, or a plugin cannot be loaded.
    """
    from inweights.recipes.catalogue.index import entry_of

    console.catalogue.recipes(
        list(map(entry_of, recipes.recipes_like(part))), json=common.json
    )


@base.app.command
def describe(
    recipe: str,
    part: str = "",
    /,
    *,
    full: base.Flag = False,
    common: base.Common = base.Common(),
) -> None:
    """Describe a recipe: what it shows, its cost, and its settings at each scale.

    Args:
        recipe: Name of the recipe, or the last part of the name.
        part: List only this setting or group of settings, such as gpt.model.
        full: List every setting with its full description.
        common: Options --json and --plugin.

    Raises:
        ConfigError: No recipe or several recipes have this name, or the recipe has no
            such setting.
    """
    from inweights.recipes.catalogue.settings import settings

    chosen = recipes.get_recipe(recipe)
    if part and not settings(chosen, part):
        # All beginnings of paths are valid, so the message suggests the most similar of
        # them.
        parts: set[str] = set()
        for one in settings(chosen):
            parts.update(accumulate(one.path.split("."), "{}.{}".format))
        raise unknown_name("setting", part, parts)
    console.catalogue.described(chosen, part, json=common.json, full=full)


@base.app.command
def cite(recipe: str = "", /, *, common: base.Common = base.Common()) -> None:
    """Print BibTeX entries of the project and of a recipe's paper.

    Args:
        recipe: A recipe, the last part of its name, or a paper; by default all papers.
        common: Options --json and --plugin.

    Raises:
        ConfigError: No paper and no recipe has this name, or several recipes have it.
    """
    from inweights.recipes.catalogue.citations import citations
    from inweights.recipes.papers import papers

    known = not recipe or recipe in papers()
    name = recipe if known else recipes.get_recipe(recipe).name
    console.catalogue.cited(citations(name), json=common.json)


@base.app.command
def models(part: str = "", /, *, json: base.Json = False) -> None:
    """List the trained models that come with the library; iw.load(NAME) opens one.

    Args:
        part: List only models whose name contains this text, such as two-hop.
        json: Print JSON instead of text.
    """
    from inweights.actions.zoo import cards

    console.catalogue.models([card for card in cards() if part in card.name], json=json)


@base.options
class Place:
    """Options that select the ledger of claims, and the scale of the runs.

    Attributes:
        scale: Scale of the runs on which the claims are judged: ``cpu`` or ``paper``.
        results: Folder of the results. By default (``None``), it is
            ``$INWEIGHTS_RESULTS``, or ``./results`` if this variable is not set.
        json: If true, print JSON instead of text.
    """

    scale: Annotated[str, Parameter(help=_SCALE)] = "cpu"
    results: Annotated[Path | None, Parameter(help=_RESULTS)] = None
    json: base.Json = False


@claims_app.command
def history(claim: str, /, *, place: Place = Place()) -> None:
    """Show every line of the ledger about a claim: versions, verdicts, changed wording.

    Args:
        claim: Name of the claim; the last part is enough if it is unique.
        place: Options --scale, --results and --json.

    Raises:
        ConfigError: The ledger has no such claim, or several claims have this last
            part.
        DataError: The ledger is damaged.
        OSError: The ledger cannot be read.
    """
    lines = actions.history(claim, place.scale, results=place.results)
    console.ledger.history(lines, json=place.json)


@claims_app.command
def state(
    only: str = "",
    /,
    *,
    anew: str = "",
    plugin: base.Plugins = (),
    place: Place = Place(),
) -> None:
    """State the claims of recipes in the ledger, before the recipes are run.

    The command adds a line for each claim that is new or changed. If the score, target,
    rule, settings or version have changed, the claim gets a new version, with other
    seeds and a smaller error probability. Commit the ledger before running the recipes.

    Args:
        only: State only the claims of recipes whose name contains this text.
        anew: Reason for restating all claims that have not been judged yet, such as a
            change of the whole library that favours no claim. A claim keeps its version
            if its score, target and rule are unchanged.
        plugin: Python modules to load first.
        place: Options --scale, --results and --json.

    Raises:
        ConfigError: ``anew`` and ``only`` are both given, a claim of the ledger is no
            longer in its recipe, or a plugin cannot be loaded.
        DataError: The ledger is damaged, or was changed by another process; or a file
            named in the settings of a recipe cannot be read.
        OSError: The ledger cannot be read or written.
    """
    load_plugins(plugin)
    with console.progress() as progress:
        lines = actions.state(
            place.scale,
            only=only,
            anew=anew,
            results=place.results,
            progress=progress,
        )
    console.ledger.history(lines, json=place.json)


@claims_app.command
def withdraw(claim: str, /, *, why: str, place: Place = Place()) -> None:
    """Withdraw a claim: it is no longer judged, and the results keep its last verdict.

    Args:
        claim: Full name of the claim.
        why: Reason, which the results table shows.
        place: Options --scale, --results and --json.

    Raises:
        ConfigError: The ledger has no such claim, or the reason is empty.
        DataError: The ledger is damaged, or was changed by another process.
        OSError: The ledger cannot be read or written.
    """
    line = actions.withdraw(claim, why, place.scale, results=place.results)
    console.ledger.history([line], json=place.json)
