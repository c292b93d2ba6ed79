"""Probabilities are monotone, and a fit recovers known coefficients."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from tests.house.calibration import fit, held_out
from tests.house.several_worlds import typed
from tests.house.several_worlds import world as world_from

from inweights.theory import predict
from inweights.theory.prediction.calibration.features import (
    FEATURES,
    OF_ANSWERS,
    PROPERTIES,
    SEVERAL,
    columns,
    properties,
    query_features,
)
from inweights.theory.prediction.calibration.fitted import MODELS, Nearest, calibration
from inweights.theory.prediction.trust import meaning, propose_training, trust
from inweights.worlds import RandomFacts, Statements, Triples, TwoHop, World

#: Three people live in Rome and one in Oslo, where ann was born; ``in`` has two answers
#: for Rome.
TOWNS = """ann,home,rome
bob,home,rome
dan,home,rome
cat,home,oslo
ann,born,oslo
rome,in,italy
rome,in,europe
oslo,in,norway
rome,near,oslo
oslo,near,rome
"""


@pytest.fixture
def towns(tmp_path) -> World:
    """Return the facts about towns together with the identity of Oslo, the object of ``born``."""
    path = tmp_path / "towns.csv"
    path.write_text(TOWNS)
    return Triples(
        path=str(path), identity=("born",), questions="composition,chain"
    ).build()


def test_features_are_what_one_counts(towns: World) -> None:
    texts = [
        towns.vocabulary.text(towns.queries.prompt(q))
        for q in range(len(towns.queries))
    ]
    roles = [towns.queries.role_names[role] for role in towns.queries.roles]
    rows = pl.DataFrame({"query": range(len(texts)), "role": roles, "margin": 0.25})
    table = query_features(towns, rows)
    found = {texts[row["query"]]: row for row in table.iter_rows(named=True)}
    identity, reached, rivals, complexity, steps = (
        {text: row[name] for text, row in found.items()}
        for name in ("identity", "reached", "rivals", "complexity", "steps")
    )
    assert set(table["margin"]) == {0.25}
    assert set(table["identities"]) == {0.5}  # Oslo has an identity, Rome does not
    chains = ("bob home in", "cat home in", "bob home near in")
    assert [identity[text] for text in chains] == [0.0, 1.0, 0.5]
    assert [steps[text] for text in chains] == [2, 2, 3]
    # 'in' has three answers, and two steps from bob have two; four facts end in Rome and
    # three in Oslo.
    for feature, counts in ((rivals, [3, 3, 3]), (complexity, [2, 1, 3])):
        np.testing.assert_allclose([feature[text] for text in chains], np.log(counts))
    np.testing.assert_allclose(
        [reached[text] for text in chains], np.log([1 + 4, 1 + 3, 1 + 7])
    )
    common = [
        found[text]["common"]
        for text in ("bob home in", "cat home in", "bob home near")
    ]
    # The answers are Italy and Europe, Norway, and Oslo.
    np.testing.assert_allclose(common, [2 / 3, 1 / 3, 1 / 2])
    right = [np.exp(found[text]["right"]) for text in ("bob home in", "cat home in")]
    np.testing.assert_allclose(right, [2, 1])


def ends_of(prompt: str) -> set[str]:
    """Return the entities at which chains of the facts end."""
    start, *steps = prompt.split()
    facts = [line.split(",") for line in TOWNS.split()]
    here = {start}
    for step in steps:
        here = {
            thing
            for subject, relation, thing in facts
            if subject in here and relation == step
        }
    return here


def test_right_and_density_are_what_a_guess_gains(towns: World) -> None:
    queries, words = towns.queries, towns.vocabulary
    texts = [words.text(queries.prompt(q)) for q in range(len(queries))]
    roles = [queries.role_names[role] for role in queries.roles]
    # Each prompt is one query.
    assert len(set(zip(texts, roles, strict=True))) == len(texts)
    ends = [ends_of(text) for text in texts]
    rows = pl.DataFrame({"query": range(len(texts)), "role": roles, "margin": 0.25})
    table = query_features(towns, rows)
    facts = [line.split(",") for line in TOWNS.split()]
    # The answer of Oslo's identity is Oslo.
    among = len({thing for _, _, thing in facts})
    for row, text, own in zip(table.iter_rows(named=True), texts, ends, strict=True):
        query = row["query"]
        names = [words.names[token] for token in queries.right_answers(query)]
        assert sorted(names) == sorted(own), text
        assert towns.chances[query] == pytest.approx(len(own) / among)
        assert np.exp(row["right"]) == pytest.approx(len(own))
        odds = len(own) / (among - len(own)) * (among - 1)
        assert np.exp(row["right"] + row["density"]) == pytest.approx(odds)


def test_features_of_a_query_that_no_fact_supports(towns: World) -> None:
    """A share of no items is 0, and the logarithm of a count of 0 is replaced by 0."""
    bare = replace(towns, facts=Statements.build({}))
    table = query_features(
        bare, pl.DataFrame({"query": [0], "role": "chain", "margin": 0.0})
    )
    assert table.drop("query", *SEVERAL).row(0) == (*[0.0] * 7, 2.0)
    empty = {"evenness": 1.0, "steps": properties(towns)["steps"]}
    answers = {name: properties(towns)[name] for name in OF_ANSWERS}
    assert properties(bare) == dict.fromkeys(PROPERTIES, 0.0) | empty | answers
    assert properties(replace(towns, queries=bare.facts))["steps"] == 2


def test_properties_are_what_one_counts(towns: World) -> None:
    three_to_one = -(0.75 * np.log(0.75) + 0.25 * np.log(0.25)) / np.log(2)
    roles = [towns.queries.role_names[role] for role in towns.queries.roles]
    rows = pl.DataFrame({"query": range(len(roles)), "role": roles, "margin": 0.0})
    assert properties(towns) == pytest.approx(
        {
            "facts": np.log(10),
            "identities": 1 / 2,  # of Rome and Oslo
            "evenness": (three_to_one + 1 + 1 + 1) / 4,  # home; born, in, near
            "shared": 2 / 5,  # of Rome, Oslo, Italy, Europe, Norway
            "symmetric": 2 / 10,  # Rome and Oslo are near each other
            "several": 1 / 9,  # Rome is in Italy and in Europe
            "steps": 2 + roles.count("chain") / len(roles),
            "right": np.log(towns.queries.right_counts).mean(),
            "density": query_features(towns, rows)["density"].mean(),
        }
    )


def test_the_effect_of_a_margin_is_cut_at_its_knots() -> None:
    margins = [-2.0, -0.75, 0.05, 0.4, 2.0]
    rows = pl.DataFrame({"margin": margins}).with_columns(
        **{name: pl.lit(3.0) for name in FEATURES if name != "margin"}
    )
    matrix, names = columns(rows)
    cut = np.array([name.startswith("margin") for name in names])
    np.testing.assert_allclose(
        matrix[:, cut].tolist(),
        [
            [0.0, 0.0, 0.0, 0.0, 0.0],
            [0.5, 0.0, 0.0, 0.0, 0.0],
            [1.0, 1.0, 1.0, 0.5, 0.0],
            [1.0, 1.0, 1.0, 1.0, 1 / 3],
            [1.0, 1.0, 1.0, 1.0, 1.0],
        ],
    )
    assert (matrix[:, ~cut] == 3).all()


@pytest.mark.parametrize("model", MODELS)
def test_effects_have_the_signs_that_were_asked_for(model: str) -> None:
    known = calibration()
    for effects in (
        known.effects,
        *(family.effects for family in known.families.values()),
    ):
        for name, effect in effects[model].items():
            signs = FEATURES | SEVERAL | {"constant": 0}
            sign = signs.get(name, 1)  # steps of the margin
            assert sign * effect >= 0, name


def test_a_greater_margin_or_an_identity_is_never_less_likely() -> None:
    rows = pl.DataFrame({"query": range(9), **dict.fromkeys(FEATURES, 1.0)})
    rows = rows.with_columns(margin=pl.Series(np.linspace(-1.5, 1.5, 9)))
    found = calibration().probabilities(rows)
    without = calibration().probabilities(rows.with_columns(identity=pl.lit(0.0)))
    for model in MODELS:
        assert (np.diff(found[model].to_numpy()) >= 0).all()
        assert (found[model] >= without[model]).all()


def test_only_queries_that_chain_facts_have_a_probability() -> None:
    made = predict(
        RandomFacts(told=0.75, identity=0.5, popularity=0.7).build(3), advise=False
    )
    assert not made.nearest.far
    table = made.probabilities
    assert table["query"].to_list() == made.queries["query"].to_list()
    assert table["GPT probability"].null_count() == 0
    assert table["outlook"].is_in(["likely", "open", "unlikely"]).all()


def test_a_fit_finds_what_decides() -> None:
    """The replicas answer exactly the queries whose bridge has an identity."""
    rng = np.random.default_rng(0)
    rows = []
    for family in ("a", "b", "c"):
        for seed in range(4):
            world = RandomFacts(identity=0.5, popularity=0.7).build(seed)
            features = query_features(world, predict(world, advise=False).queries)
            drawn = (
                rng.uniform(0.9, 1.0, features.height) * features["identity"].to_numpy()
            )
            rows += [
                features.with_columns(
                    family=pl.lit(family),
                    seed=pl.lit(seed),
                    model=pl.lit(model),
                    share=pl.Series(drawn),
                )
                for model in MODELS
            ]
    worlds = pl.DataFrame(
        {"family": list("aabbcc"), "seed": [0, 1] * 3, **dict.fromkeys(PROPERTIES, 0.5)}
    )
    made = fit(pl.concat(rows), worlds, replicas=4)
    both = rows[0].with_columns(query=pl.int_range(pl.len()))
    said = made.probabilities(both, without="a")["GPT"].to_numpy()
    known = both["identity"].to_numpy() == 1
    assert said[known].min() > 0.6
    assert said[~known].max() < 0.4
    assert made.families["a"].error["GPT"] < 0.1
    asked = pl.concat(rows).drop("query").with_columns(expected=pl.lit(0.5))
    scores, bins = (
        pl.read_csv(part.encode()) for part in held_out(made, asked).split("\n\n")
    )
    assert set(scores["family"]) == {"a", "b", "c", "mean"}
    brier = {
        row["predictor"]: row["brier"]
        for row in scores.filter(family="mean").to_dicts()
    }
    assert brier["calibrated"] < min(
        brier["base rate"], brier["all compose"], brier["program (2)"]
    )
    assert bins.filter(model="GPT", bin=4)["share"].item() > 0.9


def test_claims_are_about_a_fit_that_no_refit_moves() -> None:
    pilot = calibration("pilot")
    assert (pilot.worlds, pilot.replicas) == (64, 8)
    known = calibration()
    # Families that were added later have several right answers.
    others = known.families.keys() - pilot.families.keys()
    assert others == {
        n for n, family in known.families.items() if family.properties.get("right")
    }
    assert len(known.families) == len(pilot.families) + 11


def test_columns_name_every_feature() -> None:
    rows = pl.DataFrame({"query": [0], **dict.fromkeys(FEATURES, 1.0)})
    matrix, names = columns(rows)
    assert matrix.shape == (1, len(names))
    assert set(FEATURES) - {"margin"} <= set(names)


def test_of_a_file_like_no_family_nothing_is_called_likely_and_training_is_proposed() -> (
    None
):
    near = predict(RandomFacts(told=0.75, popularity=0.7).build(9), advise=False)
    far = predict(TwoHop(n=200, identity=0.5).build(), advise=False, seconds=5)
    assert "unlike all families" in trust(far)
    assert "nine of ten files" not in trust(far)
    assert "unlike all families" not in trust(near)
    assert "--by training" in propose_training(far)
    assert set(far.probabilities["outlook"]) == {"uncalibrated"}
    assert "uncalibrated" not in set(near.probabilities["outlook"])
    assert "kely" not in f"{meaning(far)}{trust(far)}{propose_training(far)}"
    assert "kely" in meaning(near)
    families = calibration().families.values()
    errors = [f.error["GPT"] for f in families if not f.properties.get("right")]
    assert far.nearest.error["GPT"] == max(errors)


def test_where_the_nearest_family_was_far_off_nothing_is_called_likely() -> None:
    """For typed worlds 0.67 was measured and 0.46 predicted, so no answer is called likely."""
    vague = {
        name for name, one in calibration().families.items() if one.error["GPT"] > 1 / 3
    }
    assert "typed" in vague
    for name, family in calibration().families.items():
        assert Nearest(name, 0.0, family.error).vague == (name in vague)
    rows = typed(np.random.default_rng(7), levels=(14, 8, 10), values=3)
    made = predict(
        world_from(rows, 0.5, np.random.default_rng(7)), advise=False, seconds=20
    )
    assert made.nearest.name in vague or made.nearest.far
    assert set(made.probabilities["outlook"]) == {"uncalibrated"}
    assert "kely" not in meaning(made)
    assert "--by training" in propose_training(made)


def test_chains_of_three_with_several_answers_are_not_called_likely(tmp_path) -> None:
    """No family of trained worlds has such chains, even if it is similar otherwise."""
    path = tmp_path / "towns.csv"
    path.write_text(TOWNS + "oslo,near,bergen\n")
    world = Triples(path=str(path), questions="composition,chain").build()
    made = predict(world, advise=False)
    vars(made)["nearest"] = Nearest("dense", 0.0, calibration().families["dense"].error)
    table = made.queries.join(made.probabilities, on="query")
    unfitted = (pl.col("role") == "chain") & (pl.col("right_answers") > 1)
    assert table.filter(unfitted).height
    assert set(table.filter(unfitted)["outlook"]) == {"uncalibrated"}
    assert "uncalibrated" not in set(table.filter(~unfitted)["outlook"])
