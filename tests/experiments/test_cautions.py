"""Warnings about studies whose results do not support a conclusion, also on the page."""

from __future__ import annotations

import warnings
from dataclasses import replace

import polars as pl
import pytest

import inweights as iw
from inweights.errors import CautionWarning
from inweights.experiments import Trial
from inweights.experiments.grammar.cautions import cautions
from inweights.training import learners
from inweights.worlds import Graph

MODEL = iw.GPTConfig(layers=1, width=32)
PLAIN = iw.Curriculum(phases=(iw.Phase(steps=300),))


def table(facts: float, composed: list[float]) -> pl.DataFrame:
    seeds = range(len(composed))
    rows = [("facts", "first_hop", seed, facts) for seed in seeds]
    rows += [("queries", "composition", seed, composed[seed]) for seed in seeds]
    return pl.DataFrame(rows, schema=["part", "role", "seed", "accuracy"], orient="row")


def test_nothing_is_said_of_a_clear_study() -> None:
    trial = Trial(
        labels={}, world=iw.TwoHop(n=3), model=MODEL, learner=learners.two_hop(32)
    )
    assert cautions([trial], {"accuracy": table(1.0, [0.9, 0.95, 1.0])}) == []


def test_facts_that_are_not_known() -> None:
    (text,) = cautions([], {"accuracy": table(0.6, [0.1, 0.1])})
    assert "not known in every condition (accuracy 0.60 on first_hop)" in text


def test_seeds_that_disagree_and_how_many_would_do() -> None:
    composed = [0.0, 1.0, 0.0, 1.0]
    (text,) = cautions([], {"accuracy": table(1.0, composed)})
    assert "standard deviation up to 0.58" in text
    assert "4 seeds are too few to compare conditions; about 65 would" in text
    assert cautions([], {"accuracy": table(1.0, composed * 17)}) == []


@pytest.mark.parametrize(
    ("world", "learner", "said"),
    [
        (iw.TwoHop(n=3), PLAIN, "random_offset (False, not True)"),
        (
            iw.TwoHop(n=3),
            learners.two_hop(width=4),
            "optimizer.rate (0.016, not 0.002)",
        ),
        (iw.TwoHop(n=3), learners.two_hop(width=32), ""),
        (Graph(), PLAIN, ""),
    ],
)
def test_learners_that_differ_where_it_decides(world, learner, said) -> None:
    found = cautions([Trial(labels={}, world=world, model=MODEL, learner=learner)], {})
    assert (said in found[0]) if said else not found


def test_what_a_study_varies_is_no_reason_to_warn() -> None:
    over = {"learner.phases.0.random_offset": [True, False]}
    study = iw.Study(iw.TwoHop(n=3), MODEL, over=over)
    assert cautions(study.trials, {}) == []


def test_a_sweep_warns_of_the_first_thing_that_one_types(tmp_path) -> None:
    brief = iw.Curriculum(phases=(iw.Phase(steps=5),))
    with pytest.warns(CautionWarning) as told:
        iw.sweep(iw.TwoHop(n=3), MODEL, brief, runs=tmp_path, seeds=2, progress=False)
    texts = [str(one.message) for one in told]
    assert any("random_offset" in text for text in texts)
    assert any("Facts are not known" in text for text in texts)


def test_controls_are_not_held_to_know_anything(tmp_path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", CautionWarning)
        iw.sweep(
            iw.TwoHop(n=3),
            iw.EmbMLPConfig(),
            learners.two_hop_mlp(steps=1000),
            controls=["untrained"],
            seeds=2,
            runs=tmp_path,
            progress=False,
        )


def test_the_page_of_a_study_says_it(tmp_path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        'seeds = 2\nworld = { kind = "two-hop", n = 3 }\n'
        'model = { kind = "gpt", layers = 1, width = 8 }\n[[learner.phases]]\nsteps = 3\n'
    )
    outcome = iw.run(iw.experiments.open_study(file), runs=tmp_path)
    page = (outcome.folder.path / "page.html").read_text()
    assert "Before you conclude" in page
    assert "random_offset (False, not True)" in page


@pytest.mark.slow
def test_so_does_the_page_of_a_recipe(tmp_path) -> None:
    outcome = iw.run("demo/two-hop", scale="smoke", runs=tmp_path)
    page = (outcome.folder.path / "page.html").read_text()
    assert any("Facts are not known" in text for text in outcome.cautions)
    assert "Facts are not known" in page.partition("Before you conclude")[2]


def test_no_statements_are_no_reason_to_warn() -> None:
    nothing = float("nan")
    assert cautions([], {"accuracy": table(nothing, [nothing, nothing])}) == []


def test_chains_of_own_facts_that_nothing_asks(tmp_path) -> None:
    """A warning states that three-hop questions are left out."""
    path = tmp_path / "facts.csv"
    path.write_text("ann,mother,beth\nbeth,born in,rome\nrome,lies in,italy\n")
    world = iw.Facts(str(path))
    assert "composition; questions='all' adds chain" in str(world.build())
    trial = Trial(labels={}, world=world, model=MODEL, learner=learners.two_hop(32))
    (text,) = cautions([trial, trial], {})
    assert "other kinds of questions are left out; questions='all'" in text
    every = replace(trial, world=iw.Facts(str(path), questions="all"))
    assert cautions([every], {}) == []
    path.write_text("ann,mother,beth\nbeth,born in,rome\n")
    assert cautions([trial], {}) == []
