"""Probabilities: monotone, refitted to the truth, and never far from what they print."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from inweights.theory import predict
from inweights.theory.prediction.calibration.features import (
    FEATURES,
    PROPERTIES,
    columns,
    query_features,
)
from inweights.theory.prediction.calibration.fitted import MODELS, calibration, fit
from inweights.theory.prediction.trust import propose_training, trust
from inweights.worlds import RandomFacts, TwoHop


@pytest.mark.parametrize("model", MODELS)
def test_effects_have_the_signs_that_were_asked_for(model: str) -> None:
    known = calibration()
    for effects in (known.effects, *(family.effects for family in known.families.values())):
        for name, effect in effects[model].items():
            sign = FEATURES.get(name, 0 if name == "constant" else 1)
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
    made = predict(TwoHop(n=4, identity=0.5).build(), advise=False)
    table = made.probabilities
    assert table["query"].to_list() == made.queries["query"].to_list()
    assert table["GPT probability"].null_count() == 0
    assert table["outlook"].is_in(["likely", "open", "unlikely"]).all()


def test_a_fit_finds_what_decides() -> None:
    """Replicas that answer where the bridge has an identity, whatever else there is."""
    rng = np.random.default_rng(0)
    rows = []
    for family in ("a", "b", "c"):
        for seed in range(4):
            world = RandomFacts(identity=0.5, popularity=0.7).build(seed)
            features = query_features(world, predict(world, advise=False).queries)
            drawn = rng.uniform(0.9, 1.0, features.height) * features["identity"].to_numpy()
            rows += [
                features.with_columns(
                    family=pl.lit(family), seed=pl.lit(seed), model=pl.lit(model),
                    share=pl.Series(drawn),
                ) for model in MODELS
            ]  # fmt: skip
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


def test_columns_name_every_feature() -> None:
    rows = pl.DataFrame({"query": [0], **dict.fromkeys(FEATURES, 1.0)})
    matrix, names = columns(rows)
    assert matrix.shape == (1, len(names))
    assert set(FEATURES) - {"margin"} <= set(names)


def test_a_file_like_no_family_gets_the_largest_error_and_the_advice_to_train() -> None:
    near = predict(RandomFacts(told=0.75, popularity=0.7).build(9), advise=False)
    far = predict(TwoHop(n=200, identity=0.5).build(), advise=False, seconds=5)
    assert "as none is near" in trust(far)
    assert "as none is near" not in trust(near)
    assert "--by training" in propose_training(far)
    errors = [family.error["GPT"] for family in calibration().families.values()]
    assert far.nearest.error["GPT"] == max(errors)
