"""Every recipe: valid without running it, and whole when it runs in miniature."""

from __future__ import annotations

import html

import polars as pl
import pytest

import inweights as iw
from inweights.errors import ConfigError
from inweights.recipes import SCALES, get_recipe, recipe_names, register
from inweights.report import draw

NAMES = recipe_names()


@pytest.mark.parametrize("name", NAMES)
def test_recipe_is_well_stated(name: str) -> None:
    recipe = get_recipe(name)
    assert recipe.name == name
    sampled = not all(claim.exact for claim in recipe.claims)
    assert recipe.seeds["cpu"] >= (3 if sampled else 1), "a verdict needs replicates"
    assert recipe.first_seed >= 8, "settings were chosen on the seeds 0 to 7"
    ids = [claim.id for claim in recipe.claims]
    assert len(set(ids)) == len(ids)
    assert recipe.claims
    for claim in recipe.claims:
        assert claim.text.endswith("."), claim.id
        assert "cpu" in claim.targets
    for scale in SCALES:
        settings, seeds, config = recipe.resolve(scale)
        plan = recipe.plan(settings, seeds)
        assert plan.trials or plan.deductions
        assert len({len(t.labels) for t in plan.trials}) <= 1
        assert config["seeds"][0] == recipe.first_seed


@pytest.fixture(scope="module")
def smoke(tmp_path_factory):
    """Run each recipe at smoke scale once."""
    root, done = tmp_path_factory.mktemp("runs"), {}

    def run(name: str):
        if name not in done:
            done[name] = iw.run(name, "smoke", runs=root)
        return done[name]

    return run


@pytest.mark.parametrize("name", NAMES)
def test_recipe_runs_in_miniature(name: str, smoke) -> None:
    outcome = smoke(name)
    recipe = outcome.recipe
    assert outcome.folder.complete
    outcome.folder.verify()
    # Every claim finds its table and its columns, and claims nothing at this scale.
    assert [claim.verdict for claim in outcome.claims] == ["not run"] * len(recipe.claims)
    for claim in recipe.claims:
        table = outcome.tables[claim.table]
        needed = {*claim.where, *claim.minus, *claim.each, claim.column, "seed"}
        assert needed <= set(table.columns), claim.id
    for figure in recipe.figures:
        if all(outcome.tables[source].height for source in figure.sources):
            draw(figure, outcome.tables)
    page = (outcome.folder.path / "page.html").read_text(encoding="utf-8")
    assert recipe.title in html.unescape(page)
    again = iw.run(name, "smoke", runs=outcome.folder.path.parents[2])
    assert again.cached
    for table in outcome.tables:
        assert again.tables[table].equals(outcome.tables[table], null_equal=True)


def test_same_seed_same_numbers(tmp_path) -> None:
    one = iw.run("demo/two-hop", "smoke", runs=tmp_path / "a")
    other = iw.run("demo/two-hop", "smoke", runs=tmp_path / "b")
    assert one.tables["accuracy"].equals(other.tables["accuracy"])
    assert one.tables["losses"].equals(other.tables["losses"])


def test_trials_that_differ_in_labels_only_are_trained_once(smoke) -> None:
    table = smoke("beyond/where-the-bridge-holds").tables["final"]
    base = {"head": "untied", "positions": "learned, random start"}
    rows = [
        table.filter(pl.col("axis") == axis, pl.col("value") == value).drop("axis", "value")
        for axis, value in base.items()
    ]
    assert rows[0].equals(rows[1])


def test_own_recipes_can_be_registered() -> None:
    with pytest.raises(ConfigError, match="exists already"):
        register(get_recipe("demo/two-hop"))
    with pytest.raises(ConfigError, match="did you mean 'identity-bridge/fig2'"):
        get_recipe("identity-bridge/fig22")
