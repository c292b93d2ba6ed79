"""Predictions in several parts, as in audits: counts refer to the whole file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from inweights.audit import Audit, audit, findings, headline, outlook
from inweights.theory import predict
from inweights.worlds import read_knowledge

#: Chains of two facts come first in the file, but chains of three first in the parts.
SHORT = [row for i in range(3) for row in (f"a{i},home,b{i}", f"b{i},in,c{i}")]
LONG = [
    row
    for i in range(2)
    for row in (f"d{i},led by,e{i}", f"e{i},born in,f{i}", f"f{i},near,g{i}")
]


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Audit:
    monkeypatch.setattr("inweights.theory.prediction.parts_in_time.MAX_FACTS", 6)
    path = tmp_path / "facts.csv"
    path.write_text("\n".join([*SHORT, *LONG]) + "\n", encoding="utf-8")
    return audit(read_knowledge(path))


def test_what_advice_mends_is_counted_where_it_was_asked(made: Audit) -> None:
    """Indices in the first part differ from those in the world, and both are compositions."""
    assert made.forecast is not None
    assert made.forecast.advice is not None
    advice, queries = made.forecast.advice, made.forecast.queries
    assert set(queries["part"]) == {0, 1}
    first = made.forecast.solution.program.world
    assert set(queries.filter(part=0)["query"]) != set(range(len(first.queries)))
    assert advice.parts == 2
    mended_prompts = set()
    for number, part in enumerate(made.forecast.parts):
        world, own = part.program.world, queries.filter(part=number)
        tokens = np.array([[world.vocabulary.id(name)] for name in advice.identities])
        tokens = tokens[np.isin(tokens[:, 0], world.facts.answers)]
        again = predict(
            world.with_facts("identity", tokens, tokens), advise=False
        ).queries
        follow = set(again.filter(verdict="follows")["prompt"])
        mended_prompts |= follow - set(own.filter(verdict="follows")["prompt"])
    after = queries.filter(queries["query"].is_in(advice.mended))
    assert advice.mended
    assert set(after["prompt"]) == mended_prompts

    mended = {
        (a, b): n
        for a, b, n in outlook(made).select("first", "second", "mended").rows()
    }
    compositions = after.filter(role="composition")["prompt"].to_list()
    assert mended == {
        pair: sum(prompt.endswith(" ".join(pair)) for prompt in compositions)
        for pair in (("home", "in"), ("led by", "born in"), ("born in", "near"))
    }
    assert mended["home", "in"] == 3
    follows = outlook(made)["follow"].sum()
    assert f"identities {follows + sum(mended.values())} would" in headline(made)


def test_the_certificate_is_that_of_the_worst_part(made: Audit) -> None:
    assert made.forecast is not None
    first, second = made.forecast.parts
    assert first.gap < 1e-3
    worse = replace(second, gap=0.25, status="not certified")
    unsure = replace(made, forecast=replace(made.forecast, parts=(first, worse)))
    text = " ".join(finding.text for finding in findings(unsure))
    assert "certificate (not certified, gap 2.5e-01)" in text
