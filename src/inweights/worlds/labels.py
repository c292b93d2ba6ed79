"""Inputs and labels, nothing else: the data of deep linear networks (Feature Resemblance §7)."""

import numpy as np

from inweights.config import Config
from inweights.seeds import WORLD, Streams
from inweights.worlds.size import check_counts, check_world
from inweights.worlds.vocabulary import numbered
from inweights.worlds.world import Vocabulary, World


class Labels(Config, tag_field="kind", tag="labels"):
    """Labels, each of several inputs; every fact is ``x → y``, of role ``category``.

    There are no queries: the question is whether inputs of one label become alike.

    Attributes:
        labels: Number of labels, at least 2.
        per_label: Inputs that share a label.
    """

    labels: int = 50
    per_label: int = 2

    def __post_init__(self) -> None:
        check_counts("labels", self, labels=2, per_label=1)

    def build(self, seed: int = 0) -> World:
        """Make the world; the seed deals the labels to the inputs."""
        inputs = self.labels * self.per_label
        check_world("labels", tokens=inputs + self.labels, statements=inputs, length=2)
        words = Vocabulary({"input": numbered("x", inputs), "label": numbered("y", self.labels)})
        dealt = Streams(seed).numpy(WORLD, "labels").permutation(np.arange(inputs) % self.labels)
        facts = {"category": (words["input"][:, None], words["label"][dealt][:, None])}
        return World.of(self, seed, words, facts, {})
