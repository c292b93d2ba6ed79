"""More seeds for some claims train what these are about, and no more."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from tests.coins import PAPER, TOSSED, Settings, of_coins

from inweights import actions
from inweights.actions import finished
from inweights.cli import entry as cli
from inweights.errors import ConfigError
from inweights.experiments import share
from inweights.experiments.studies.narrowed import narrowed, share_of
from inweights.experiments.studies.settle import settle, standing
from inweights.recipes import get_recipe
from inweights.runs import RunStore, write_json
from inweights.runs.files import hash_of

COINS = {"fair": 0.5, "false": 0.9, "lucky": 0.7}
state = PAPER.stating("coins", "nowhere")


def against_all(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Compare each coin with the mean of all, a dependence that no label declares."""
    table = tables["tosses"]
    mean = pl.col("heads").mean().over("seed")
    return {"ranks": table.with_columns(above=pl.col("heads") - mean)}


heads, above = share("tosses", "heads"), share("ranks", "above")
CLEAR = state(
    "clear", "The false coin falls on its head.", heads.at(coin="false") >= 0.5
)
EDGE = state(
    "edge", "The lucky coin does so seven times of ten.", heads.at(coin="lucky") >= 0.7
)
BETTER = heads.at(coin="lucky") - heads.at(coin="fair")
CLOSE = state("close", "The lucky coin beats the fair one.", BETTER >= 0.1)
ABOVE = state("above", "The lucky coin beats the mean.", above.at(coin="lucky") >= 0.0)
COINS_RECIPE = PAPER.recipe(
    "coins",
    title="Three coins",
    place="nowhere",
    summary="Tosses coins.",
    scales={"cpu": Settings()},
    seeds={"cpu": 8},
    plan=of_coins(COINS),
    derive=against_all,
    claims=(CLEAR, EDGE),
)


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setattr("inweights.experiments.studies.settle.MOST", 8)
    TOSSED.clear()
    return RunStore(tmp_path)


def verdicts(outcome) -> dict[str, tuple[str, int]]:
    return {c.id.rpartition("/")[2]: (c.verdict, c.replicates) for c in outcome.claims}


def test_a_look_trains_what_the_open_claims_are_about(store) -> None:
    done = settle(COINS_RECIPE, "cpu", store=store, seconds=1000)
    assert done.before == ("mine/coins/edge",)
    assert {"false": 8, "fair": 8, "lucky": done.seeds} == TOSSED
    assert verdicts(done.outcome)["clear"] == ("reproduced", 8)
    assert verdicts(done.outcome)["edge"][1] == done.seeds
    assert (
        done.outcome.tables["tosses"].height == 3 * 8
    )  # the complete run is unchanged
    # In a second call no coin is tossed, and the results are the same.
    again = settle(COINS_RECIPE, "cpu", store=store, seconds=1000)
    assert TOSSED["lucky"] == done.seeds == again.seeds
    assert again.outcome.claims == done.outcome.claims


@pytest.mark.slow
def test_a_look_says_what_the_whole_recipe_says_with_as_many_seeds(
    store, tmp_path
) -> None:
    recipe = replace(COINS_RECIPE, claims=(CLEAR, EDGE, CLOSE))
    done = settle(recipe, "cpu", store=store, seconds=1000)
    assert {"mine/coins/edge", "mine/coins/close"} == set(done.before)
    whole = actions.run(recipe, seeds=done.seeds, runs=tmp_path / "other")
    for look, other in zip(done.outcome.claims, whole.claims, strict=True):
        if look.replicates == done.seeds:
            assert look == other
    assert "false" not in {
        one.labels["coin"] for one in _asked(recipe, "edge", "close")
    }


@pytest.mark.slow
def test_two_claims_of_which_one_is_settled_first(store) -> None:
    recipe = replace(COINS_RECIPE, claims=(EDGE, CLOSE))
    done = settle(recipe, "cpu", store=store, seconds=1000)
    found = verdicts(done.outcome)
    first = min(found, key=lambda name: found[name][1])
    assert (first, found[first][0]) == ("close", "reproduced")
    assert TOSSED["fair"] == found["close"][1] < TOSSED["lucky"]


@pytest.mark.slow
def test_a_table_that_draws_on_other_trials_is_looked_at_whole(store) -> None:
    recipe = replace(COINS_RECIPE, claims=(CLEAR, ABOVE))
    assert len(_asked(recipe, "above")) == 1  # according to its labels
    done = settle(recipe, "cpu", store=store, seconds=1000)
    assert done.seeds > 8
    assert set(TOSSED.values()) == {done.seeds}
    # Decided claims stay decided.
    assert verdicts(done.outcome)["clear"] == (
        "reproduced",
        8,
    )


def _asked(recipe, *names: str):
    return narrowed(recipe, names).plan(recipe.scales["cpu"]).computations


def test_a_claim_that_is_not_the_recipes() -> None:
    with pytest.raises(ConfigError, match=r"'edgy'.*edge"):
        narrowed(COINS_RECIPE, ["edgy"])


def test_a_part_stands_on_what_the_whole_stands_on() -> None:
    """Otherwise its seeds would not be valid, as for a plan with functions of its own."""
    whole = get_recipe("beyond/league")
    part = narrowed(whole, ["memory-crosses"])
    sources = [one.resolve("cpu")[2].get("sources") for one in (part, whole)]
    assert sources[0] == sources[1]


def test_a_part_is_less_work() -> None:
    whole = get_recipe("beyond/where-the-bridge-holds")
    part = narrowed(whole, ["tied-head-leaks"])
    assert share_of(part, whole, "cpu") < 0.05
    assert share_of(whole, whole, "cpu") == 1.0


def test_a_part_measures_what_its_trials_have() -> None:
    whole = get_recipe("beyond/real-graphs")
    part = narrowed(whole, ["tinynn-beyond-chance"]).plan(whole.scales["cpu"])
    assert {trial.labels["architecture"] for trial in part.trials} == {"TinyNN"}
    assert all(any(m.fits(trial) for trial in part.trials) for m in part.measures)
    assert len(part.measures) < len(whole.plan(whole.scales["cpu"]).measures)


@pytest.fixture
def known(monkeypatch):
    """Make the recipe of the coins the only one that the library knows."""
    monkeypatch.setattr(finished, "recipe_names", lambda: (COINS_RECIPE.name,))
    monkeypatch.setattr(finished, "full_name", lambda name: name)
    monkeypatch.setattr(finished, "get_recipe", lambda _name: COINS_RECIPE)


def test_a_look_is_a_run_like_any_other(store, known, capsys) -> None:
    settle(COINS_RECIPE, "cpu", store=store, seconds=1000, publish=finished.add_page)
    looks = [
        folder for folder in store.of(COINS_RECIPE.name) if "claims" in folder.config
    ]
    assert all(folder.config["claims"] == ["edge"] for folder in looks)
    one = min(looks, key=lambda folder: len(folder.seeds))
    opened = actions.open_run(one.path.name, runs=store.root)
    assert verdicts(opened) == {"edge": ("undecided", 16)}
    page = (one.path / "page.html").read_text()
    assert "seven times of ten" in page
    assert "falls on its head" not in page
    assert "verify mine/coins --scale cpu --settle" in page
    assert "This is a part of the recipe" in page
    assert 'href="#figures"' not in page
    assert cli.main(["runs", "--json", "--runs", str(store.root)]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert sum(row["claims"] == ["edge"] for row in listed) == len(looks)
    again = actions.open_run(one.path.name, runs=store.root, again=True)
    assert verdicts(again) == verdicts(opened)
    whole = actions.open_run(COINS_RECIPE.name, runs=store.root, again=True)
    assert verdicts(whole)["edge"][1] == max(len(folder.seeds) for folder in looks)


@pytest.fixture(scope="module")
def looked_at(tmp_path_factory) -> Path:
    """Return a folder with a run and its further analyses, which tests copy before use."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("inweights.experiments.studies.settle.MOST", 8)
        store = RunStore(tmp_path_factory.mktemp("looks"))
        settle(COINS_RECIPE, "cpu", store=store, seconds=1000)
    return store.root


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize("claims", [["edgy"], "edge", [7], {}, []])
def test_a_look_from_elsewhere_that_is_none(store, known, looked_at, claims) -> None:
    shutil.copytree(looked_at, store.root, dirs_exist_ok=True)
    before = standing(COINS_RECIPE, "cpu", store)
    assert before is not None
    best = max(store.of(COINS_RECIPE.name), key=lambda folder: len(folder.seeds))
    config = {**best.config, "claims": claims}
    forged = store.folder(COINS_RECIPE.name, config)
    best.path.rename(forged.path)
    write_json(forged.path / "config.json", config)
    manifest = json.loads((forged.path / "manifest.json").read_bytes())
    manifest["files"]["config.json"] = hash_of(forged.path / "config.json")
    write_json(forged.path / "manifest.json", manifest)
    after = standing(COINS_RECIPE, "cpu", store)
    assert after is not None
    assert verdicts(after)["clear"] == verdicts(before)["clear"]
    assert verdicts(after)["edge"][1] == len(best.seeds) // 2
    with pytest.raises(ConfigError, match="claim"):
        actions.open_run(forged.path.name, runs=store.root)


def test_a_table_that_others_are_derived_from_keeps_rows() -> None:
    """Rows of the soft program remain, since a derived table of GPTs needs them."""
    whole = get_recipe("reversal-curse/told-reversals")
    part = narrowed(whole, ["two-phrased"]).plan(whole.scales["cpu"])
    assert len(part.trials) == 1
    every = {one.name for one in whole.plan(whole.scales["cpu"]).computations}
    assert [one.name for one in part.computations] == sorted(every)
    assert share_of(narrowed(whole, ["two-phrased"]), whole, "cpu") < 0.1
