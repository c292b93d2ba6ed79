"""A world of inputs and labels: the data of deep linear networks (Feature Resemblance §7).

:class:`Labels` has facts and no queries; :func:`inweights.probes.depth.label_cosines`
measures what a model learnt from them.
"""

import numpy as np

from inweights.config import Config
from inweights.seeds import WORLD, Streams
from inweights.worlds.size import check_counts, check_world
from inweights.worlds.vocabulary import numbered
from inweights.worlds.world import Vocabulary, World


class Labels(Config, tag_field="kind", tag="labels"):
    """Inputs that share labels: each fact ``x → y`` has the role ``category``.

    There are no queries, as only the similarity of inputs with the same label is
    measured.

    Attributes:
        labels: Number of labels, at least 2.
        per_label: Number of inputs that share a label, at least 1.

    Raises:
        ConfigError: A number is below its minimum, or above 10**12.

    Example:
        >>> world = Labels(labels=3, per_label=2).build()
        >>> world
        World('labels', 9 tokens, 6 facts, 0 queries, seed=0)
    """

    labels: int = 50
    per_label: int = 2

    def __post_init__(self) -> None:
        check_counts("labels", self, labels=2, per_label=1)

    def build(self, seed: int = 0) -> World:
        """Build the world; the seed determines which label each input has.

        Args:
            seed: Root seed, from 0 to 2**63 - 1.

        Raises:
            ConfigError: The world does not fit in memory (the message gives the
                required and the available memory), or the seed is out of range.
        """
        inputs = self.labels * self.per_label
        check_world("labels", tokens=inputs + self.labels, statements=inputs, length=2)
        words = Vocabulary(
            {"input": numbered("x", inputs), "label": numbered("y", self.labels)}
        )
        places = np.arange(inputs) % self.labels
        shuffled = Streams(seed).numpy(WORLD, "labels").permutation(places)
        facts = {
            "category": (words["input"][:, None], words["label"][shuffled][:, None])
        }
        return World.of(self, seed, words, facts, {})
