"""A user's facts in a sweep and a study file, with identities by relation and by level."""

from __future__ import annotations

import pytest

import inweights as iw
from inweights.config import digest, identity
from inweights.errors import ConfigError
from inweights.worlds import Hops, Triples

#: Studies in tests are too small for their models to memorise the facts.
pytestmark = pytest.mark.filterwarnings("ignore::inweights.errors.CautionWarning")

ROWS = "ann,mother,beth\nbeth,born in,rome\ncarl,mother,dora\ndora,born in,oslo\nrome,in,italy\n"
LEARNER = iw.learners.two_hop_mlp(steps=20)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "facts.csv"
    path.write_text(ROWS)
    return str(path)


def words(world) -> set[str]:
    rows = world.table().filter(part="facts", role="identity")
    return set(rows["prompt"])


def test_both_names_mean_the_same(file) -> None:
    assert iw.Facts is Triples
    assert iw.Facts(file, questions="all") == Triples(path=file, questions="all")
    assert digest(identity(iw.Facts("x.csv"))) == digest(
        {"kind": "triples", "path": "x.csv", "identity": False}
    )


def test_identities_by_relation(file) -> None:
    assert words(iw.Facts(file, identity=("mother",)).build()) == {"beth", "dora"}
    assert words(iw.Facts(file, identity=("mother", "born in")).build()) == {
        "beth",
        "dora",
        "rome",
    }
    with pytest.raises(ConfigError, match="did you mean 'mother'"):
        iw.Facts(file, identity=("mothers",)).build()


def test_identities_of_own_facts_by_level(file) -> None:
    """Levels are distances from entities that are no object, as in generated chains."""
    first = iw.Facts(file, identity=("bridge",)).build()
    assert words(first) == {"beth", "dora"}
    assert words(iw.Facts(file, identity=("second bridge",)).build()) == {"rome"}
    mixed = iw.Facts(file, identity=("mother", "second bridge")).build()
    assert words(mixed) == {"beth", "dora", "rome"}
    with pytest.raises(
        ConfigError, match="Known: born in, bridge, in, mother, second bridge"
    ):
        iw.Facts(file, identity=("third bridge",)).build()


def test_identities_by_level() -> None:
    both, first = Hops(n=3, hops=3), Hops(n=3, hops=3, identity=("bridge",))
    assert words(first.build()) == {"e2_1", "e2_2", "e2_3"}
    every = Hops(n=3, hops=3, identity=("bridge", "second bridge"))
    assert words(every.build()) == words(both.build())
    with pytest.raises(ConfigError, match="Known: bridge, second bridge"):
        Hops(n=3, hops=3, identity=("third bridge",))


def test_own_facts_are_swept_with_controls(file, tmp_path) -> None:
    table = iw.sweep(
        iw.Facts(file, questions="composition,chain"),
        iw.EmbMLPConfig(width=8),
        LEARNER,
        over={"world.identity": [[], ["mother"]]},
        controls=["shuffled"],
        seeds=1,
        runs=tmp_path,
        progress=False,
    )
    assert set(table["role"]) >= {"triple", "composition", "chain"}
    assert set(table["control"]) == {"none", "shuffled"}


def test_a_study_names_the_file(file, tmp_path) -> None:
    study = tmp_path / "mine.toml"
    study.write_text(
        f'seeds = 1\nworld = {{ facts = "{file}" }}\nmodel = {{ kind = "emb-mlp" }}\n'
    )
    recipe = iw.experiments.open_study(study)
    (trial,) = recipe.plan(recipe.scales["cpu"]).trials
    assert trial.world == iw.Facts(file)
