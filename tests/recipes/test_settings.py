"""Settings that are names: unknown names are refused with a list of valid ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from inweights.config import replace_at
from inweights.errors import ConfigError, InweightsError
from inweights.experiments.engine.engine import execute
from inweights.experiments.grammar.recipe import Recipe
from inweights.recipes import get_recipe, recipe_names
from inweights.recipes.catalogue.minutes import timings
from inweights.recipes.catalogue.settings import extras, settings
from inweights.runs import RunStore

#: Names that users choose, for a phase or a model of the league; every name is valid.
LABELS = ("phase.name", "league.name")
#: Names of devices, models, files, parameters and tokens, checked when a run begins.
LATE = {"device", "model", "knowledge", "moves", "teacherless"}
WRONG = "gtp"


def strings(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Return every setting with strings, together with a misspelt value."""
    if isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            yield from strings(getattr(value, name), f"{path}.{name}" if path else name)
    elif isinstance(value, str):
        yield path, WRONG
    elif (
        isinstance(value, tuple)
        and value
        and all(isinstance(one, str) for one in value)
    ):
        yield path, [WRONG]


def begin(recipe: Recipe, changes: dict[str, Any]) -> None:
    """Build the settings, plan and worlds, as a run does before training."""
    settings, seeds, _ = recipe.resolve("smoke", None, recipe.changes("smoke", changes))
    plan = recipe.plan(settings)
    for trial in plan.trials:
        trial.world.build(seeds[0])
    for one in plan.computations:
        for option in one.options.values():
            if hasattr(option, "build"):
                option.build(seeds[0])


def is_late(name: str, path: str) -> bool:
    last = path.rpartition(".")[2]
    return last in LATE or (
        last == "models" and bool(extras(get_recipe(name).scales["cpu"]))
    )


CASES = [
    (name, path, value)
    for name in recipe_names()
    for path, value in strings(get_recipe(name).scales["smoke"])
    if not f"{name}.{path}".endswith(LABELS)
]
EARLY = [case for case in CASES if not is_late(*case[:2])]
#: One recipe for each setting that is checked late, by the same code in all recipes.
ONCE = {case[1].rpartition(".")[2]: case for case in CASES if is_late(*case[:2])}


@pytest.mark.parametrize(("name", "path", "value"), EARLY, ids=str)
def test_a_misspelt_name_is_refused(name: str, path: str, value: Any) -> None:
    with pytest.raises(InweightsError, match=WRONG):
        begin(get_recipe(name), {path: value})


@pytest.mark.slow
@pytest.mark.parametrize(("name", "path", "value"), ONCE.values(), ids=str)
def test_what_only_a_run_can_refuse_is_refused(
    name: str, path: str, value: Any, tmp_path
) -> None:
    recipe = get_recipe(name)
    with pytest.raises(InweightsError, match=WRONG):
        execute(
            recipe, "smoke", seeds=1, overrides={path: value}, store=RunStore(tmp_path)
        )


@pytest.mark.parametrize("name", recipe_names())
def test_every_setting_has_a_meaning(name: str) -> None:
    assert [one.path for one in settings(get_recipe(name)) if not one.meaning] == []


def test_what_no_paper_gives_is_marked() -> None:
    """Intervals of measures, limits, and random draws for comparison are always our choice."""
    ours = {
        "draws",
        "looks",
        "moments",
        "every",
        "gpt_every",
        "most",
        "gpt_most",
        "device",
    }
    unmarked = [
        (name, one.path)
        for name in recipe_names()
        for one in settings(get_recipe(name))
        if one.path.rpartition(".")[2] in ours and not one.ours
    ]
    assert unmarked == []


def test_every_recipe_is_timed_as_it_is() -> None:
    recipes = [get_recipe(name) for name in recipe_names()]
    now = {one.name: one.version for one in recipes}
    tried = {name: timing.version for name, timing in timings().items()}
    pretrained = {one.name for one in recipes if extras(one.scales["cpu"])} - set(tried)
    assert tried | {name: now[name] for name in pretrained} == now, (
        "time those that differ: python -m tests.house.catalogue NAME"
    )


@pytest.mark.parametrize(
    ("name", "setting", "value"),
    [
        ("demo/two-hop", "models", []),
        ("identity-bridge/fig7", "models", []),
        ("geometric-memory/fig3", "stars", []),
        ("beyond/hops-and-layers", "taught", []),
        ("beyond/predicted-composition", "popularity", []),
        ("feature-resemblance/late-similarity", "gpt.losses", {}),
        ("beyond/curriculum-map", "gpt.losses", {}),
        ("geometric-memory/fig1", "looks", 0),
        ("geometric-memory/fig5", "looks", 0),
        ("geometric-memory/c3", "looks", 0),
        ("beyond/real-graphs", "looks", 0),
        ("geometric-memory/e2-e3", "path", 1),
        ("beyond/what-decides", "shrink", 0),
    ],
)
def test_a_plan_refuses_what_leaves_it_nothing_to_divide_or_choose_from(
    name: str, setting: str, value: Any
) -> None:
    recipe = get_recipe(name)
    changed = replace_at(recipe.scales["smoke"], {setting: value})
    with pytest.raises(ConfigError, match=setting.rpartition(".")[2]):
        recipe.plan(changed)
