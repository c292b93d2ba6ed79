"""The table of undecided claims is written from the stored board and recipes' run times."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from msgspec.structs import replace

from inweights.experiments.claims.verdict import unjudged
from inweights.recipes import get_recipe
from inweights.recipes.catalogue.minutes import timings

if find_spec("sphinx") is None:
    pytest.skip("install .[docs] to run", allow_module_level=True)

DOCS = Path(__file__).parents[2] / "docs"
#: A recipe that is quick to plan, and that runs with another number of seeds than stated.
RECIPE = "identity-bridge/fig2"


@pytest.fixture
def undecided(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(DOCS / "_ext"), *sys.path])
    from inweights_site import undecided as module

    return module


def test_the_page_has_the_papers_undecided_claims_and_no_others(undecided) -> None:
    page = (DOCS / "verdicts.md").read_text("utf-8")
    assert "\n```{undecided-claims}\n" in page
    one, *others = (unjudged(claim, "") for claim in get_recipe(RECIPE).claims)
    known = replace(one, verdict="undecided", replicates=16)
    claims = [
        known,
        replace(known, id=f"{RECIPE}/decay-recovers", needed=10**6),
        replace(known, source="ours"),
        replace(known, check=True),
        *(replace(other, verdict="reproduced") for other in others),
    ]
    said, _, head, _, *rows = undecided.lines_of(claims)
    assert said == "2 claims of the papers are undecided."
    assert head == "| claim | seeds | next | minutes | would decide it |"
    # Claims are sorted by time, and a claim with fewer trials takes less.
    assert [row.split(" | ")[0] for row in rows] == [
        f"| `{RECIPE}/decay-recovers`",
        f"| `{one.id}`",
    ]
    assert [row.split(" | ")[1:3] for row in rows] == [["16", "32"]] * 2
    assert "more than the 512 that a claim gets" in rows[0]
    assert rows[1].endswith("no estimate |")


def test_minutes_are_those_of_the_seeds_and_trials_that_are_added(undecided) -> None:
    claims = {claim.id: claim for claim in get_recipe(RECIPE).claims}
    claim = unjudged(claims[f"{RECIPE}/facts-known"], "")
    whole = timings()[RECIPE].minutes
    # 16 more seeds of all trials take as long as the timed run.
    assert undecided.minutes_of_next(replace(claim, replicates=16)) == whole
    assert undecided.minutes_of_next(replace(claim, replicates=64)) == 4 * whole
    unknown = replace(claim, id="mine/rings/closed")
    assert undecided.minutes_of_next(unknown) is None
