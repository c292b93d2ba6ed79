"""The title of a page is a question until its claims are reproduced."""

from __future__ import annotations

from dataclasses import replace

import pytest
from msgspec.structs import replace as changed
from tests.experiments.small import TRAININGS

import inweights as iw
from inweights.experiments import Stating, share
from inweights.experiments.engine.outcome import IN_QUESTION
from inweights.experiments.grammar.figure import auto

_STATE = Stating("tests/trainings", source="ours", place="tests")
CLAIM = _STATE("some", "Some.", share("accuracy", "accuracy", part="facts") >= 0.5)
ASKS = replace(TRAININGS, claims=(CLAIM,), figures=(auto("accuracy"),))


def test_a_smoke_run_asks(tmp_path) -> None:
    done = iw.run(ASKS, "smoke", runs=tmp_path)
    assert [claim.verdict for claim in done.claims] == ["not judged"] * len(done.claims)
    assert done.heading == IN_QUESTION + ASKS.title
    page = (done.folder.path / "page.html").read_text()
    assert f"<h1>{IN_QUESTION}{ASKS.title}</h1>" in page
    assert "Expected if the claims hold: accuracy" in page


@pytest.mark.fast_cases(2)
@pytest.mark.parametrize(
    ("verdict", "stated"),
    [
        ("reproduced", True),
        ("consistent", True),
        ("undecided", False),
        ("not reproduced", False),
    ],
)
def test_the_verdicts_decide(tmp_path, verdict, stated) -> None:
    done = iw.run(ASKS, "smoke", runs=tmp_path)
    claims = tuple(changed(claim, verdict=verdict) for claim in done.claims)
    judged = replace(done, claims=claims)
    assert (judged.heading == ASKS.title) is stated
    question = replace(judged, recipe=replace(ASKS, title="Does it?"))
    assert question.heading == "Does it?"
    assert replace(judged, claims=()).heading == ASKS.title


def test_a_figure_says_its_finding_once_its_own_claims_are_reproduced(tmp_path) -> None:
    """Open claims about one table do not affect the figures of another."""
    done = iw.run(ASKS, "smoke", runs=tmp_path)
    other = _STATE("other", "Other.", share("losses", "loss") >= 0.5)
    figures = tuple(
        auto(name, title=f"It is {name}") for name in ("accuracy", "losses")
    )
    recipe = replace(ASKS, claims=(CLAIM, other), figures=figures)
    verdicts = zip((CLAIM, other), ("reproduced", "undecided"), strict=True)
    results = tuple(
        changed(done.claims[0], id=claim.id, verdict=verdict)
        for claim, verdict in verdicts
    )
    shown, asked = replace(done, recipe=recipe, claims=results).figures
    assert shown.title == "It is accuracy"
    assert asked.title == "Losses"
    assert asked.caption.endswith("dots. Expected if the claims hold: it is losses.")


@pytest.mark.parametrize("title", ["It rises.", "Does it rise?"])
def test_a_caption_says_what_is_found_as_what_is_expected(title) -> None:
    figure = changed(
        auto("losses", title=title, caption="Mean. A rises."), finds="A rises."
    )
    read, expected = figure.in_question.caption.split(" Expected if the claims hold: ")
    assert read == "Mean."
    assert expected.endswith("A rises.")
