"""Print information on recipes before they run: a list, settings, cost and citations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from inweights.cli.console.base import WIDTH, cut, out, parts_of, print_json, say, table
from inweights.cli.console.catalogue.settings import print_settings
from inweights.config import to_plain
from inweights.experiments.engine.judging import seeds_to_judge
from inweights.recipes.catalogue.minutes import cost_of, minutes_of
from inweights.support.progress import plural, roughly

__all__ = ["ahead", "cited", "costs", "described", "models", "recipes"]

if TYPE_CHECKING:
    from inweights.actions.making import Cost
    from inweights.actions.zoo import Card
    from inweights.experiments.grammar.recipe import Recipe
    from inweights.experiments.studies.cost_estimate import Forecast
    from inweights.recipes.catalogue.index import Entry
    from inweights.recipes.catalogue.settings import Setting

#: Largest number of settings of a part for which their whole meaning is shown.
_WHOLE = 14
#: Largest number of lines about our own choices without ``full``.
_OURS = 14


def recipes(known: Sequence[Entry], *, json: bool) -> None:
    """Print a list of recipes, one line each.

    Args:
        known: Summaries of the recipes.
        json: If true, print JSON instead of text.
    """
    if json:
        print_json(
            [
                to_plain(r)
                | {
                    "claims": len(r.claims),
                    "scales": list(r.extras),
                    "minutes": minutes_of(r.name),
                }
                for r in known
            ]
        )
        return
    longest = max((len(recipe.name) for recipe in known), default=0)
    name_width = min(longest, 36)
    listed = table("recipe", "what it shows")
    for recipe in known:
        listed.add_row(cut(recipe.name, 36), cut(recipe.title, WIDTH - name_width - 2))
    out.print(listed)
    say(("inweights describe RECIPE; inweights run RECIPE; list PART filters", "dim"))


def described(
    recipe: Recipe, part: str = "", *, json: bool, full: bool = False
) -> None:
    """Print what a recipe shows, its cost, and its settings at each scale.

    Args:
        recipe: The recipe.
        part: Path of the settings to list, such as ``gpt.model``; it must exist. If it
            is empty (the default), all settings are listed.
        json: If true, print JSON instead of text.
        full: If true, list every setting with its full description.
    """
    from inweights.experiments.grammar.recipe import split_ours
    from inweights.recipes.catalogue.settings import OWN, settings

    found = settings(recipe, part)
    if json:
        print_json(_plain(recipe, found))
        return
    if not part:
        say((recipe.title, "bold"))
        home = ", ".join(filter(None, (recipe.paper, recipe.place)))
        say((f"{recipe.name}: {home}\n", "dim"))
        out.print(recipe.summary)
        out.print()
        _scales(recipe)
        out.print()
    if recipe.paper == OWN:  # marks carry no information if all settings are ours
        found = [replace(one, ours=False) for one in found]
    if part:
        say((f"{recipe.name}, settings of {part}", "bold"))
        # If the part is a list, the paths of its items begin with its name.
        if not found[0].path[len(part) + 1 : len(part) + 2].isdigit():
            found = [
                replace(one, path=one.path.removeprefix(f"{part}.")) for one in found
            ]
    print_settings(
        found, list(recipe.scales), full=full or 0 < len(found) * bool(part) <= _WHOLE
    )
    if part:
        return
    _, sentences = split_ours(recipe.ours)
    if sentences:
        say((f"\n{_choices(recipe)}", "bold"))
        whole = full or sum(1 + len(text) // WIDTH for text in sentences) <= _OURS
        for text in sentences:
            out.print(f"- {text if whole else cut(text, WIDTH - 2)}")
    told = f"inweights describe {recipe.name} PART, or --full"
    say((f"\n{told}\ninweights run {recipe.name} --set KEY=VALUE", "dim"))


def _choices(recipe: Recipe) -> str:
    """Return the heading of our own choices, with their number if they were counted."""
    from inweights.recipes.catalogue.protocols import stored

    found = stored().get(recipe.name)
    if found is None:
        return "Our choices, not the paper's"
    counted = {
        whose: found.settings.get(whose, 0)
        for whose in ("ours", "smaller", "code", "paper")
    }
    ours, smaller, code, paper = counted.values()
    return (
        f"Our choices: of {sum(counted.values())} settings {ours} ours, {smaller} smaller, "
        f"{code} the code's, {paper} the paper's"
    )


def models(known: Sequence[Card], *, json: bool) -> None:
    """Print a list of stored models, each with its scores and the claim that it illustrates.

    Args:
        known: Cards of the models.
        json: If true, print JSON instead of text.
    """
    if json:
        print_json(list(map(to_plain, known)))
        return
    for card in known:
        numbers = [
            f"{role.partition('/')[2]} {share:.2f}"
            for role, share in card.accuracy.items()
        ]
        if card.hop_correlation is not None:
            numbers = [f"correlation of cosine and hops {card.hop_correlation:.2f}"]
        say((card.name, "bold"), f"  {', '.join(numbers)}", soft_wrap=True)
        say((f"  {card.claim}", "dim"), soft_wrap=True)


def _scales(recipe: Recipe) -> None:
    from inweights.recipes.catalogue.settings import extras

    listed = table("scale", "seeds", "time", "needs")
    for scale, config in recipe.scales.items():
        time = cost_of(recipe.name) if scale == "cpu" else ""
        time = time or ("seconds" if scale == "smoke" else "see run --dry-run")
        needs = ", ".join(f"pip install 'inweights[{one}]'" for one in extras(config))
        listed.add_row(scale, str(seeds_to_judge(recipe, scale)), time, needs)
    out.print(listed)
    claims = f"{plural(len(recipe.claims), 'claim')}, {plural(len(recipe.figures), 'figure')}"
    say((claims, "dim"))


def _plain(recipe: Recipe, found: Sequence[Setting]) -> dict[str, Any]:
    from inweights.recipes.catalogue.settings import extras

    return {
        **parts_of(recipe, "name title paper place summary ours"),
        "minutes": minutes_of(recipe.name),
        "scales": {
            scale: {
                "seeds": seeds_to_judge(recipe, scale),
                "extras": list(extras(config)),
            }
            for scale, config in recipe.scales.items()
        },
        "settings": list(map(asdict, found)),
        "claims": [parts_of(claim, "id text place") for claim in recipe.claims],
        "figures": [parts_of(figure, "id title") for figure in recipe.figures],
    }


def ahead(forecast: Forecast, *, json: bool) -> None:
    """Print the cost estimate of a run, one line per part.

    Args:
        forecast: The estimate.
        json: If true, print JSON instead of text.
    """
    if json:
        print_json({**asdict(forecast), "text": str(forecast)})
        return
    for part in str(forecast).split("; "):
        out.print(part)


def costs(found: Sequence[Cost], *, json: bool) -> None:
    """Print the estimated time of each recipe, and the total time.

    Args:
        found: Estimated time of each recipe.
        json: If true, print JSON instead of text: an object with ``recipes`` and three
            total times in minutes: ``minutes`` (all recipes), ``left`` (recipes without
            a finished run), and ``shared`` (the part of ``left`` for training runs that
            also belong to an earlier recipe).
    """
    timed = [one for one in found if one.minutes is not None]
    whole = sum(one.minutes or 0.0 for one in timed)
    left = sum(one.minutes or 0.0 for one in timed if not one.done)
    shared = sum(one.shared for one in found if not one.done)
    if json:
        recipes = list(map(asdict, found))
        totals = {"minutes": whole, "left": left, "shared": shared}
        print_json({"recipes": recipes, **totals})
        return
    rows = table("recipe", "one core of this machine", "")
    for one in found:
        about = "not timed" if one.minutes is None else roughly(60 * one.minutes)
        rows.add_row(
            one.recipe, f"at most {about}" if one.most else about, "✓" * one.done
        )
    out.print(rows)
    untimed = f"; {plural(len(found) - len(timed), 'recipe')} not timed" * (
        len(timed) < len(found)
    )
    out.print(
        f"{plural(len(timed), 'recipe')}: {roughly(60 * whole)} of one core, of which "
        f"{roughly(60 * left)} are left (✓: there is a finished run){untimed}"
    )
    if shared:
        out.print(
            f"{roughly(60 * shared)} of it are for training runs that an earlier recipe also has: "
            "'run --keep-models' stores their weights, and the later recipe only measures them"
        )


def cited(entries: Sequence[str], *, json: bool = False) -> None:
    """Print BibTeX entries.

    Args:
        entries: The entries.
        json: If true, print JSON instead of text.
    """
    if json:
        print_json(list(entries))
        return
    for entry in entries:
        out.print(entry, soft_wrap=True)
