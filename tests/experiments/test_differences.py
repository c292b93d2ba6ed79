"""The origin of settings: the paper, its code, a smaller size, or our choice."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import inweights as iw
from inweights.errors import ConfigError
from inweights.experiments import Plan, Trial
from inweights.experiments.grammar.paper import Paper
from inweights.experiments.grammar.protocols.compare import compare
from inweights.experiments.grammar.protocols.differences import (
    Difference,
    protocol_of,
    table_of,
)
from inweights.experiments.grammar.protocols.protocol_file import (
    PaperProtocol,
    PaperSetting,
    PaperText,
    ProtocolPart,
    Reason,
    read_protocol,
)
from inweights.experiments.grammar.recipe import Recipe
from inweights.worlds.families.graphs.graph import Graph

TEXT = PaperText(
    version="v1", date="2026", read_on="2026-11-27", venue="-", code="a/b@1"
)
ANY = PaperSetting(every=True, place="§1")
OPEN = PaperSetting(unstated=True)


class Settings(iw.Config):
    width: int = 8


def plan(settings: Settings) -> Plan:
    learner = iw.Curriculum(phases=(iw.Phase(steps=3),))
    model = iw.GPTConfig(layers=1, width=settings.width, heads=1)
    return Plan(
        trials=[Trial(labels={"way": "a"}, world=Graph(), model=model, learner=learner)]
    )


def recipe(settings: dict[str, PaperSetting], *reasons: Reason, **more: Any) -> Recipe:
    """Return a recipe whose paper states these settings and allows any other value elsewhere."""
    rest = ProtocolPart(title="the rest", settings={"*": ANY})
    own = ProtocolPart(title="stated", settings=settings, **more)
    made = Paper("made", "Made").recipe(
        "up", title="Up", scales={"cpu": Settings()}, seeds=8, plan=plan
    )
    return replace(
        made, reasons=reasons, protocol=PaperProtocol(paper=TEXT, parts=(rest, own))
    )


def of(leaf: str, made: Recipe) -> Difference:
    (found,) = [
        one for trial in compare(made, "cpu") for one in trial if one.leaf == leaf
    ]
    return found


@pytest.mark.parametrize(
    ("stated", "whose"),
    [
        (PaperSetting(paper=8, place="§1"), "paper"),
        (PaperSetting(paper=[4, 8], place="§1"), "paper"),
        (PaperSetting(paper=64, place="§1", code=8, at="a.py:1"), "code"),
        (PaperSetting(lost="§1", code=8, at="a.py:1"), "code"),
        (PaperSetting(paper=64, place="§1", size=True), "smaller"),
        (PaperSetting(lost="§1", code=64, at="a.py:1", size=True), "smaller"),
        (PaperSetting(paper=4, place="§1", size=True), "ours"),
        (PaperSetting(paper=64, place="§1"), "ours"),
        (PaperSetting(lost="§1", size=True), "ours"),
        (OPEN, "ours"),
    ],
)
def test_whose_a_setting_is(stated: PaperSetting, whose: str) -> None:
    assert of("model.width", recipe({"model.width": stated})).whose == whose


def test_a_later_part_takes_precedence_where_it_fits() -> None:
    wrong = {"model.width": PaperSetting(paper=64, place="§1")}
    assert of("model.width", recipe(wrong, where={"way": "a"})).whose == "ours"
    assert of("model.width", recipe(wrong, where={"model.layers": 1})).whose == "ours"
    assert of("model.width", recipe(wrong, where={"way": "b"})).whose == "paper"
    assert of("model.width", recipe(wrong, recipes=("fig*",))).whose == "paper"


def test_what_no_paper_speaks_of_is_theirs_where_it_adds_nothing() -> None:
    made = recipe({})
    protocol = replace_parts(made, ())
    assert of("model.loops", protocol).whose == "paper"
    assert of("model.width", protocol).whose == "unclassified"


def replace_parts(made: Recipe, parts: tuple[ProtocolPart, ...]) -> Recipe:
    return replace(made, protocol=PaperProtocol(paper=TEXT, parts=parts))


def test_a_reason_is_that_of_the_scale_and_the_trial() -> None:
    def why(**about: Any) -> Reason | None:
        reason = Reason(leaves=("model.*",), why="So.", **about)
        return of("model.width", recipe({"model.width": OPEN}, reason)).reason

    assert why()
    assert why(scales=("cpu",), where={"way": "a"})
    assert why(scales=("paper",)) is None
    assert why(where={"way": "b"}) is None


@pytest.mark.parametrize(
    ("leaf", "stated", "protocol"),
    [
        ("model.width", OPEN, "exact"),
        ("model.width", PaperSetting(paper=64, place="§1", size=True), "scaled"),
        ("model.width", PaperSetting(lost="§1", size=True), "scaled"),
        ("model.width", PaperSetting(paper=4, place="§1", size=True), "substitute"),
        ("world.shape", PaperSetting(paper="cycle", place="§1"), "substitute"),
        (
            "learner.phases.*.optimizer.rate",
            PaperSetting(paper=9.0, place="§1"),
            "scaled",
        ),
    ],
)
def test_the_protocol_follows(leaf: str, stated: PaperSetting, protocol: str) -> None:
    assert protocol_of(compare(recipe({leaf: stated}), "cpu")) == protocol


def test_an_option_without_effect_is_no_setting() -> None:
    leaves = {one.leaf for trial in compare(recipe({}), "cpu") for one in trial}
    assert "learner.phases.0.optimizer.decayed" in leaves
    assert "learner.phases.0.name" not in leaves
    assert "world.shuffled" not in leaves


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "must have exactly one of"),
        ({"paper": 1, "place": "§1", "unstated": True}, "must have exactly one of"),
        ({"paper": 1}, "place"),
        ({"unstated": True, "code": 3}, "at"),
    ],
)
def test_a_statement_says_where_it_stands(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        PaperSetting(**values)


def test_a_file_that_does_not_fit_is_named(tmp_path) -> None:
    file = tmp_path / "protocol.toml"
    file.write_text("[paper]\nversion = 'v1'\n")
    with pytest.raises(ConfigError, match=r"protocol\.toml"):
        read_protocol(file)


def test_a_recipe_without_a_protocol_is_refused() -> None:
    with pytest.raises(ConfigError, match="has no protocol file"):
        compare(replace(recipe({}), protocol=None), "cpu")


def test_rows_of_one_setting_stay_in_the_order_of_the_trials() -> None:
    """Rows are not ordered by the hash of a string, which differs between processes."""
    names = [f"graph {i}" for i in range(20)]
    trials = [
        [Difference("model.width", 8, "ours", PaperSetting(paper=name, place="B.1"))]
        for name in names
    ]
    stated = [row.stated for row in table_of(trials)]
    assert [text.partition(" (")[0] for text in stated] == names
