"""Every measure of a recipe declares its controls, or why none makes sense."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from inweights.experiments import Measure
from inweights.experiments.grammar.shown import shown_by
from inweights.recipes import get_recipe, recipe_names

#: This measure compares a gradient with a formula that holds for every model.
CHECKS = {"off_descent"}
#: This measure counts parameters and operations, which do not depend on chance.
COUNTS = {"cost"}
#: The recipes of these measures also show a prediction from data or settings alone.
PREDICTED = {"label_cosines", "token_share"}


def probe_of(measure: Measure) -> Callable[..., Any]:
    """Return the inner probe of a probe that changes the world or the model."""
    probe = measure.options.get("inner", measure.probe)
    while isinstance(probe, partial):
        probe = probe.func
    return probe


@pytest.mark.parametrize("name", recipe_names())
def test_each_measure_says_what_chance_would_give(name: str) -> None:
    recipe = get_recipe(name)
    measures = recipe.plan(recipe.scales["smoke"]).measures
    looks = {probe_of(one).__name__ for one in measures} - CHECKS - COUNTS - PREDICTED
    for probe in looks:
        declared = shown_by(probe)
        assert declared, f"{probe} declares neither controls nor why there are none"
        assert declared.controls or len(declared.null) > 20
