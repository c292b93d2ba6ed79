"""A separate repository with a ledger, in which two coins are the only recipe."""

from __future__ import annotations

import shutil
import subprocess
from typing import Any

import pytest
from tests.coins import PAPER, Settings, of_coins

from inweights import actions
from inweights.actions import finished
from inweights.actions.ledger import results, undecided
from inweights.experiments import share
from inweights.experiments.claims.claim_result import ClaimResult

COINS = {"fair": 0.5, "false": 0.95}
state = PAPER.stating("coins", "nowhere")
heads = share("tosses", "heads")
CLEAR_SCORE = heads.at(coin="false") >= 0.5
CLEAR = state("clear", "The false coin falls on its head.", CLEAR_SCORE)
NEVER = state(
    "never", "It never shows tails.", heads.at(coin="false") >= 0.6, rule="reliable"
)
EDGE = state("edge", "The fair coin does, too.", heads.at(coin="fair") >= 0.9)
RECIPE = PAPER.recipe(
    "coins",
    title="Two coins",
    place="nowhere",
    summary="Tosses coins.",
    scales={"cpu": Settings()},
    seeds={"cpu": 8},
    plan=of_coins(COINS),
    claims=(CLEAR, NEVER, EDGE),
)


def git(*words: str) -> str:
    if shutil.which("git") is None:
        pytest.skip("needs git")
    who = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    done = subprocess.run(
        ["git", *who, *words], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


class Home:
    """A repository with a ledger, in which the coins are the only known recipe."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.recipe = RECIPE
        self.commit: str | None = None
        for module in (finished, results):
            monkeypatch.setattr(module, "get_recipe", lambda _name: self.recipe)
            monkeypatch.setattr(module, "recipes_like", lambda _part: (RECIPE.name,))
        monkeypatch.setattr(undecided, "get_recipe", lambda _name: self.recipe)
        monkeypatch.setattr(finished, "recipe_names", lambda: (RECIPE.name,))
        monkeypatch.setattr(
            "inweights.experiments.engine.engine.repositories",
            lambda: {"inweights": {"commit": git("rev-parse", "HEAD"), "clean": True}},
        )

    def state(self) -> list[Any]:
        lines = actions.state()
        git("add", "results")
        git("commit", "-q", "--allow-empty", "-m", "stated")
        return lines

    def run(self, seeds: int | None = 8, **options) -> dict[str, ClaimResult]:
        outcome = actions.run(self.recipe, seeds=seeds, **options)
        return {claim.id.rpartition("/")[2]: claim for claim in outcome.claims}

    def board(self) -> dict[str, ClaimResult]:
        return {c.id.rpartition("/")[2]: c for c in actions.board().claims}
