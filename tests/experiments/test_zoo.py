"""Models that are included in the library agree with their cards and need no training."""

from __future__ import annotations

import json
from typing import Any

import pytest
from benchmarks.zoo import made, measured, planned
from msgspec.structs import replace

import inweights as iw
from inweights.actions.zoo import WEIGHTS, Card, cards, weights
from inweights.cli import main
from inweights.models import model_names

CARDS: dict[str, Any] = {card.name: card for card in cards()}


@pytest.mark.parametrize("name", CARDS)
def test_a_model_is_what_its_card_says(name: str) -> None:
    stored = iw.load(name)
    card = stored.card
    assert stored.model.replicas == len(card.seeds)
    assert iw.from_dict(card.model) == stored.model.config or "optimum" in name
    again = measured(card, stored.model)
    assert again.accuracy == pytest.approx(card.accuracy, abs=1e-3)
    assert again.hop_correlation == pytest.approx(card.hop_correlation, abs=1e-3)
    assert weights(name).stat().st_size == card.bytes


def test_cards_are_of_what_is_planned() -> None:
    # Later options without effect are not in the cards.
    parts = ("world", "model", "learner")
    again = [
        replace(
            card,
            **{part: iw.to_dict(iw.from_dict(getattr(card, part))) for part in parts},
        )
        for card in CARDS.values()
    ]
    bare = [replace(card, accuracy={}, hop_correlation=None, bytes=0) for card in again]
    assert bare == planned()
    assert {file.name for file in WEIGHTS.iterdir()} == {
        weights(name).name for name in CARDS
    }


def test_every_architecture_is_there_and_all_of_it_is_small() -> None:
    assert {card.model["kind"] for card in CARDS.values()} == set(model_names())
    assert len(CARDS) >= 12
    assert sum(card.bytes for card in CARDS.values()) < 4e6


@pytest.mark.parametrize(
    ("with_it", "without", "role"),
    [
        ("two-hop/gpt", "two-hop/gpt-no-identity", "queries/composition"),
        ("two-hop/emb-mlp", "two-hop/emb-mlp-no-identity", "queries/composition"),
        ("analogy/gpt", "analogy/gpt-attribution-first", "queries/conclusion"),
        (
            "analogy/one-layer",
            "analogy/one-layer-attribution-first",
            "queries/conclusion",
        ),
        ("implication/emb-mlp", "implication/deep-linear", "queries/implication"),
    ],
)
def test_pairs_show_what_decides(with_it: str, without: str, role: str) -> None:
    assert CARDS[with_it].accuracy[role] >= 0.9
    assert CARDS[without].accuracy[role] <= 0.3


@pytest.mark.parametrize(
    "name", ["two-hop/optimum", "cycle/node2vec", "grid/tiny-nn-frozen"]
)
def test_a_model_is_made_again_from_its_seeds(name: str) -> None:
    card: Card = CARDS[name]
    again = measured(card, made(card))
    assert again.accuracy == card.accuracy
    assert again.hop_correlation == pytest.approx(card.hop_correlation, abs=0.02)


def test_a_name_that_is_not_there_has_a_nearest_one() -> None:
    with pytest.raises(iw.ConfigError, match="did you mean 'two-hop/gpt'"):
        iw.load("two-hop/gtp")


def test_the_command_lists_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "two-hop"]) == 0
    said = capsys.readouterr().out
    assert "two-hop/gpt-no-identity" in said
    assert "composition 1.00" in said
    assert "analogy" not in said
    assert main(["models", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == len(CARDS)
