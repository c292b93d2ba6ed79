"""Without an optional package, an error of one line says what to install."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from inweights.errors import ConfigError
from inweights.experiments import Measure, Plan
from inweights.probes import project
from inweights.recipes import get_recipe
from inweights.support.extras import EXTRAS, check_extra, optional


@pytest.mark.parametrize("extra", EXTRAS)
def test_what_is_missing_is_named(extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, EXTRAS[extra].module, None)
    monkeypatch.setattr("inweights.support.extras.find_spec", lambda name: None)
    line = (
        rf"^a test requires {EXTRAS[extra].module}: pip install 'inweights\[{extra}\]'$"
    )
    with pytest.raises(ConfigError, match=line):
        optional(extra, "a test")
    with pytest.raises(ConfigError, match=line):
        check_extra(extra, "a test")


def test_a_plan_says_what_it_lacks_before_it_trains(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    recipe = get_recipe("identity-bridge/fig6")
    plan = recipe.plan(recipe.scales["smoke"])
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.setattr("inweights.support.extras.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"the measure 'states' requires sklearn"):
        plan.check()
    other = Plan(
        trials=plan.trials, measures=[Measure(name="a", probe=project, needs="tnse")]
    )
    with pytest.raises(ConfigError, match="did you mean 'tsne'"):
        other.check()


@pytest.mark.parametrize("seed", range(8))
def test_principal_axes_and_trust_are_those_of_scikit_learn(seed: int) -> None:
    decomposition = pytest.importorskip("sklearn.decomposition")
    manifold = pytest.importorskip("sklearn.manifold")
    draw = np.random.default_rng(seed)
    points = draw.normal(size=(draw.integers(8, 90), draw.integers(2, 30)))
    where, trust = project(points)
    scaled = points / np.linalg.norm(points, axis=1, keepdims=True)
    expected = decomposition.PCA(n_components=2, svd_solver="full").fit_transform(
        scaled
    )
    np.testing.assert_allclose(where, expected, atol=1e-9)
    near = min(5, (len(points) - 1) // 2)
    assert trust == pytest.approx(
        manifold.trustworthiness(scaled, expected, n_neighbors=near), abs=1e-9
    )
