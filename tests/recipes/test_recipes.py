"""Every recipe is valid without running it, and complete if it runs in miniature."""

from __future__ import annotations

import html
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from matplotlib.figure import Figure
from tests.parameters import mostly_slow
from tests.recipes.stated import PLANS, RECORD, planned, stated

import inweights as iw
import inweights.report.figures.draw
from inweights.errors import ConfigError
from inweights.experiments import judge
from inweights.experiments.claims.needed_seeds import MIN_SEEDS
from inweights.experiments.engine.collect import collect
from inweights.experiments.engine.judging import judge_all
from inweights.experiments.engine.plan import expand_plan
from inweights.experiments.grammar.recipe import split_ours
from inweights.experiments.studies.narrowed import narrowed
from inweights.recipes import get_recipe, recipe_names, register
from inweights.recipes.catalogue.index import index
from inweights.recipes.catalogue.settings import is_ours
from inweights.recipes.catalogue.settings import settings as settings_of
from inweights.report.base import save
from inweights.report.base.registry import arguments, find
from inweights.runs.tables.store import Store

#: Claims about the time of learning, or about runs that know their facts, which miniatures
#: do not.
UNMEASURED = (
    "beyond/predicted-composition/short-above-soft-emb-mlp",
    "geometric-memory/fig13/teacherless-cascade",
    *(
        f"geometric-memory/fig16/{claim}"
        for claim in (
            "non-trivial",
            "first-token-split-is-harder",
            "hardest-token",
            "hardest-token-is-harder",
            "geometry-first",
            "random-embeddings-fail",
        )
    ),
    "identity-bridge/fig2/decay-recovers",
    "identity-bridge/fig6/decay-recovers",
    "identity-bridge/fig6/small-recovers",
    "identity-bridge/fig7/recall-first",
    *(
        f"beyond/when-to-decay/{claim}"
        for claim in (
            "throughout-tied",
            "throughout-untied",
            "during-alone-does-not",
            "after-untied",
            "after-tied-is-less",
            "throughout-width-32",
            "throughout-width-128",
        )
    ),
)


@pytest.mark.parametrize("name", recipe_names())
def test_recipe_is_well_stated(name: str) -> None:
    recipe = get_recipe(name)
    assert recipe.name == name
    sampled = not all(claim.score.exact for claim in recipe.claims)
    fewest = MIN_SEEDS if sampled else 1
    assert min(recipe.seeds["cpu"], recipe.seeds["paper"]) >= fewest, (
        "a verdict needs seeds"
    )
    assert recipe.first_seed >= 8, "settings were chosen on the seeds 0 to 7"
    ids = [claim.id for claim in recipe.claims]
    assert len(set(ids)) == len(ids)
    assert recipe.claims
    assert all(claim.text.endswith(".") for claim in recipe.claims)
    for figure in recipe.figures:
        arguments(figure, find(figure), dict.fromkeys(figure.sources, pl.DataFrame()))
    names, _ = split_ours(recipe.ours)
    paths = [one.path for one in settings_of(recipe)]
    assert [
        name for name in names if not any(is_ours(path, [name]) for path in paths)
    ] == []
    for scale in recipe.scales:
        settings, seeds, config = recipe.resolve(scale)
        work = expand_plan(recipe.plan(settings), seeds[:1])
        assert work.requests
        assert config["seeds"][0] == recipe.first_seed
        # Measures of one name have the same labels; otherwise labels would be null.
        labels: dict[str, set[frozenset[str]]] = {}
        for one in work.requests:
            labels.setdefault(one.name, set()).add(frozenset(one.labels))
        assert {name for name, sets in labels.items() if len(sets) > 1} <= {"losses"}


@pytest.fixture(scope="module")
def smoke(tmp_path_factory):
    """Run each recipe at smoke scale once."""
    root, done = tmp_path_factory.mktemp("runs"), {}
    # Each figure is laid out; tests/report write each kind of drawing as SVG.
    empty = save.svg(Figure((1, 1)))

    def run(name: str):
        if name not in done:
            with pytest.MonkeyPatch.context() as once:
                if name not in FAST:
                    once.setattr(save, "svg", lambda *_: empty)
                done[name] = iw.run(name, "smoke", runs=root)
        return done[name]

    with pytest.MonkeyPatch.context() as patch:
        # Figures are also drawn for phones; tests/report tests this for each kind of
        # drawing.
        patch.setattr("inweights.report.pages.sections.draw_for_phone", lambda *_: None)
        # Figures are not drawn twice for their two files; tests/report tests both kinds.
        blank = save.png(Figure((1, 1)), scale=0.1)
        patch.setattr(save, "png", lambda *_, **__: blank)
        yield run


#: The miniature of each paper that runs in the fast tier; the others are slow.
FAST = {
    "demo/two-hop",
    "feature-resemblance/fig1",
    "geometric-memory/fig34",
    "identity-bridge/fig5",
}


@pytest.mark.parametrize("name", mostly_slow(recipe_names(), FAST.__contains__))
def test_recipe_runs_in_miniature(name: str, smoke) -> None:
    outcome = smoke(name)
    recipe = outcome.recipe
    assert outcome.folder.complete
    outcome.folder.verify()
    drawn = {path.name for path in (outcome.folder.path / "figures").iterdir()}
    assert drawn == {
        f"{f.id}.{kind}" for f in recipe.figures for kind in ("png", "svg")
    }
    page = (outcome.folder.path / "page.html").read_text(encoding="utf-8")
    assert recipe.title in html.unescape(page)
    again = iw.run(name, "smoke", runs=outcome.folder.path.parents[2])
    assert again.cached
    for table in outcome.tables:
        assert again.tables[table].equals(outcome.tables[table], null_equal=True)
    every_claim_is_judged_and_finds_its_rows(outcome)
    for check in FURTHER.get(name, ()):
        check(outcome)


def every_claim_is_judged_and_finds_its_rows(outcome) -> None:
    """Check that each claim has a verdict if it is judged with a minimum of one seed."""
    for claim, measured in zip(outcome.recipe.claims, outcome.claims, strict=True):
        assert measured.verdict == "not judged", "smoke is too small for verdicts"
        result = judge(claim, outcome.tables, minimum=1)
        if claim.id in UNMEASURED:
            assert result.why.startswith("not a number")
            continue
        assert result.measured is not None, f"{claim.id}: {result.why}"
        assert result.verdict != "not judged", claim.id
        if claim.score.bounds:
            low, high = claim.score.bounds
            assert low - 1e-9 <= result.measured <= high + 1e-9, (
                f"{claim.id} leaves its bounds"
            )


def trials_that_differ_in_labels_only_were_trained_once(outcome) -> None:
    table = outcome.tables["final"]
    base = {"head": "untied", "positions": "learned, random start"}
    rows = [
        table.filter(pl.col("axis") == axis, pl.col("value") == value).drop(
            "axis", "value"
        )
        for axis, value in base.items()
    ]
    assert rows[0].equals(rows[1])


def its_parts_say_of_their_claims_what_the_whole_says(whole) -> None:
    """Check that the part for a claim gives its verdict from stored tables alone."""
    store = Store(whole.folder.path.parents[2] / "store")
    seeds, before = whole.seeds, [*store.root.rglob("*.parquet")]
    for claim, said in zip(whole.recipe.claims, whole.claims, strict=True):
        part = narrowed(whole.recipe, [claim.id.rpartition("/")[2]])
        tables = collect(
            part.plan(part.scales["smoke"]), seeds, store, version=part.version
        )
        tables |= part.derive(tables) if part.derive else {}
        assert judge_all(part, tables, "smoke", seeds=seeds) == (said,), claim.id
    assert [*store.root.rglob("*.parquet")] == before  # nothing was trained


#: Further checks of the miniatures of single recipes, in the process that ran them.
FURTHER: dict[str, tuple[Callable[[Any], None], ...]] = {
    "beyond/where-the-bridge-holds": (
        trials_that_differ_in_labels_only_were_trained_once,
        its_parts_say_of_their_claims_what_the_whole_says,
    ),
    "beyond/real-graphs": (its_parts_say_of_their_claims_what_the_whole_says,),
    "geometric-memory/fig32": (its_parts_say_of_their_claims_what_the_whole_says,),
    "feature-resemblance/theorems": (
        its_parts_say_of_their_claims_what_the_whole_says,
    ),
}


def test_own_recipes_can_be_registered() -> None:
    with pytest.raises(ConfigError, match="already exists"):
        register(get_recipe("demo/two-hop"))
    with pytest.raises(ConfigError, match="did you mean 'identity-bridge/fig2'"):
        get_recipe("identity-bridge/fig22")


def test_claims_of_geometric_memory_say_under_which_condition() -> None:
    """Except claims without training or only about Node2Vec, for which conditions are equal."""
    without = [
        claim.id.removeprefix("geometric-memory/")
        for name, entry in index().items()
        if name.startswith("geometric-memory/")
        for claim in entry.claims
        if not claim.condition
    ]
    homes = {home for home, _, _ in (name.rpartition("/") for name in without)}
    assert homes == {"fig2-10-11", "fig6", "fig7", "fig8", "b5", "e2-e3"}
    assert [name for name in without if name.startswith("fig6/")] == [
        "fig6/one-step-of-correlation"
    ]
    assert "fig7/deeper-models-less" not in without


def test_claims_are_those_that_were_stated() -> None:
    """All claims equal their records, which change only on purpose and in the same commit."""
    now = dict(line.split("\t", 1) for line in stated().splitlines())
    then = dict(
        line.split("\t", 1) for line in RECORD.read_text(encoding="utf-8").splitlines()
    )
    changed = [claim for claim in now | then if now.get(claim) != then.get(claim)]
    assert not changed, "on purpose? then 'python -m tests.recipes.stated', and say why"


def test_a_plan_that_changes_has_a_new_version() -> None:
    """All plans equal their records: an old plan's result is never shown as a new one's."""
    now = dict(line.rsplit("\t", 1) for line in planned().splitlines())
    then = dict(
        line.rsplit("\t", 1) for line in PLANS.read_text(encoding="utf-8").splitlines()
    )
    changed = [recipe for recipe, plan in then.items() if now.get(recipe, plan) != plan]
    assert not changed, "raise 'version' of these recipes"
    assert set(now) == set(then), (
        "'python -m tests.recipes.stated' records the new ones"
    )
