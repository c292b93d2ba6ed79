"""Inputs and labels: the contract, as far as it applies to a world without queries."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from tests.world_case import WorldCase

from inweights.errors import ConfigError
from inweights.worlds.labels import Labels


class TestLabels(WorldCase):
    configs = [Labels(labels=2, per_label=1), Labels(labels=5, per_label=3), Labels()]
    asked = False


@pytest.mark.parametrize("config", TestLabels.configs)
def test_every_input_has_a_label_and_each_label_as_many(config: Labels) -> None:
    world = config.build(seed=2)
    prompts, answers = world.facts.matrix(np.arange(len(world.facts)))
    assert world.facts.role_names == ("category",)
    assert prompts[:, 0].tolist() == world.vocabulary["input"].tolist()
    counts = Counter(answers[:, 0].tolist())
    assert counts == dict.fromkeys(world.vocabulary["label"].tolist(), config.per_label)
    assert world.complexity == 0


def test_names() -> None:
    groups = Labels(labels=2, per_label=2).build().vocabulary.groups
    assert groups == {"input": ("x1", "x2", "x3", "x4"), "label": ("y1", "y2")}


def test_the_seed_deals_every_label_to_every_input() -> None:
    """Over 200 seeds, all six assignments of two labels to four inputs occur."""
    ways = Counter(
        tuple(Labels(labels=2).build(seed).facts.answers.tolist())
        for seed in range(200)
    )
    assert len(ways) == 6
    assert min(ways.values()) > 15


def test_limits() -> None:
    with pytest.raises(ConfigError, match="at least 2, got 1"):
        Labels(labels=1)
    with pytest.raises(ConfigError, match="at least 1, got 0"):
        Labels(per_label=0)
