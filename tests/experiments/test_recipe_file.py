"""A recipe in two files: the valid content of its TOML file, and matching claims."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from inweights.config import Config
from inweights.errors import ConfigError
from inweights.experiments import Paper, Plan, read_recipe, share
from inweights.recipes.papers import papers, recipe

WORDS = '''
title = "Coins"
place = "Figure 1, §2"
cited = "Fig. 1"
summary = """
Throws coins,
  and counts.
"""
ours = ["n", "A coin is fair."]
notes = ["mine/luck"]

[settings]
n = """
How many coins
are thrown."""

[scales.paper]
n = 9

[scales.smoke]
coin = { use = "mint.LIGHT", side = "tails" }
more = { use = "COINS" }

[claims.even]
says = "Heads come up half of the time."
published = 0.5
quote = "about half"
protocol = "scaled"

[claims.sure]
says = "A coin lands."
source = "ours"
place = "§3"
check = true

[figures.heads]
title = "Heads"
caption = "A bar a coin."
drawing = "lines"
tables = ["throws"]

[figures.heads.options]
x = "coin"
y = "heads"
'''
HALF = share("throws", "heads")
SCORES = {"even": HALF.within(0.4, 0.6), "sure": HALF.of("landed") >= 1.0}


class Coin(Config):
    weight: float = 1.0
    side: str = "heads"


LIGHT = Coin(weight=0.5)


class Settings(Config):
    n: int = 3
    coin: Coin = Coin()
    more: tuple[Coin, ...] = ()


def read(tmp_path: Path, words: str = WORDS, **changed):
    path = tmp_path / "two_coins.toml"
    path.write_text(words, encoding="utf-8")
    parts: dict[str, Any] = {
        "scales": {"cpu": Settings()},
        "seeds": 4,
        "plan": lambda settings: Plan(),
        "scores": SCORES,
        "names": {"mint": SimpleNamespace(LIGHT=LIGHT), "COINS": (LIGHT, Coin())},
        "notes": {"mine/luck": ("Seeds were not chosen.",)},
    }
    return read_recipe(path, Paper("mine", "My lab"), **(parts | changed))


def test_words_and_scores_become_a_recipe(tmp_path: Path) -> None:
    recipe = read(tmp_path)
    assert (recipe.name, recipe.title, recipe.place) == (
        "mine/two-coins",
        "Coins",
        "Figure 1, §2",
    )
    assert recipe.summary == "Throws coins, and counts."
    assert recipe.ours == ("n", "A coin is fair.", "Seeds were not chosen.")
    smoke = Settings(coin=Coin(weight=0.5, side="tails"), more=(LIGHT, Coin()))
    assert recipe.scales == {"cpu": Settings(), "paper": Settings(n=9), "smoke": smoke}
    assert recipe.meanings == {"n": "How many coins are thrown."}
    even, sure = recipe.claims
    assert (even.id, even.place, even.source) == (
        "mine/two-coins/even",
        "Fig. 1",
        "mine",
    )
    assert (even.published, even.check) == ("0.5", False)
    assert (sure.place, sure.source, sure.check) == ("§3", "ours", True)
    assert (even.score, even.target) == (SCORES["even"].score, SCORES["even"].target)
    (figure,) = recipe.figures
    assert (figure.kind, figure.sources) == ("lines", ("throws",))
    assert figure.options == {"x": "coin", "y": "heads"}


def test_seeds_and_version_of_the_file_come_first(tmp_path: Path) -> None:
    assert (read(tmp_path).seeds["cpu"], read(tmp_path).version) == (4, 1)
    stated = read(
        tmp_path, f"seeds = {{ smoke = 1, cpu = 2, paper = 6 }}\nversion = 3\n{WORDS}"
    )
    assert stated.seeds == {"smoke": 1, "cpu": 2, "paper": 6}
    assert stated.version == 3


def test_a_module_that_is_no_recipe_says_what_it_lacks() -> None:
    with pytest.raises(ConfigError, match="optimum does not define SCORES"):
        recipe("inweights.recipes.identity_bridge.optimum")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("[claims.even]", "[claims.evn]", "claim 'evn' has no score"),
        (
            'says = "A coin lands."',
            'say = "A coin lands."',
            "claims.sure: unknown key 'say'; did you mean 'says'",
        ),
        ("published = 0.5", "publisht = 0.5", "did you mean 'published'"),
        ('protocol = "scaled"', 'protocol = "scale"', "did you mean 'scaled'"),
        ('title = "Coins"\n', "", "'title' is missing"),
        (
            "[settings]\nn =",
            "[settings]\nm =",
            "unknown setting 'm'. Known: coin, more, n",
        ),
        (
            "mint.LIGHT",
            "mint.HEAVY",
            "'use' must name a config in the recipe's code or files, got 'mint.HEAVY'",
        ),
        ("n = 9", "m = 9", "scales.paper: unknown key 'm'"),
        ('notes = ["mine/luck"]', 'notes = ["mine/luk"]', "did you mean 'mine/luck'"),
        ("title", "= title", "is not a TOML file"),
    ],
)
def test_what_does_not_fit_is_named(
    tmp_path: Path, old: str, new: str, says: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        read(tmp_path, WORDS.replace(old, new, 1))
    assert says in str(refused.value)
    assert "two_coins.toml" in str(refused.value)


def test_a_score_without_words_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"unknown claim 'oddd'.*two_coins.toml"):
        read(tmp_path, scores=SCORES | {"oddd": HALF >= 0.1})


def test_every_folder_of_recipes_is_a_paper() -> None:
    from inweights.recipes import recipe_names

    assert {name.partition("/")[0] for name in recipe_names()} == set(papers())
