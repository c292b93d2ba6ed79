"""Train and evaluate analogies between two real subjects, one of which has a trained category.

The sentences are taken from Tables 5 and 6 of Feature Resemblance, §8.2.
"""

from collections.abc import Sequence

import inweights as iw
from inweights.errors import ConfigError, check_names
from inweights.lm.exams.questions import Question
from inweights.lm.model.data import Example
from inweights.lm.model.load import LanguageModel
from inweights.recipes.shared.language.experiment import Quiz
from inweights.worlds.knowledge.analogy_rows import AnalogyRow, read_analogies, shuffled

ORDERS = ("joint", "SA", "AS")
SHUFFLED = "shuffled "
ZERO_SHOT = "zero-shot"
ATTRIBUTION = "attribution only"
#: Conditions of training. In the shuffled ones, prior knowledge cannot answer the
#: questions.
CONDITIONS = (ZERO_SHOT, ATTRIBUTION, *ORDERS, *(SHUFFLED + order for order in ORDERS))
#: Two other interpretations of AS: the attribution, then both sentences of the
#: similarity, or only the one about the first subject.
READINGS = ("AS-pair", "AS-target")
#: Stages that train on the attribution, on the similarity sentence about the second
#: subject, and on that about the first; ``None`` if none does.
_STAGES: dict[str, tuple[int | None, ...]] = {
    "joint": (0, 0, 0),
    "SA": (1, 0, 0),
    "AS": (0, 0, 1),
    "AS-pair": (0, 1, 1),
    "AS-target": (0, None, 1),
    ATTRIBUTION: (0, None, None),
}


class Analogies(iw.Config):
    """Config of real-world analogies on which a model is trained in one of several orders.

    Each row of the data is about two similar subjects that belong to one category.
    Questions have the role ``analogy`` (about the first subject, whose category is
    never stated in training) or ``recall`` (about the second subject, whose category is
    stated in training). A pair consists of the questions about both subjects of a row.

    Attributes:
        rows: Number of rows of the data to use, spread evenly over its relations; at
            least 2, or 0 for all rows.
        condition: Training sentences and their order: ``joint`` (attribution and
            similarity together), ``SA`` (similarity before attribution), ``AS``
            (attribution before similarity, see :func:`examples`), ``attribution only``,
            ``zero-shot`` (no training), ``AS-pair`` or ``AS-target`` (two other
            interpretations of the paper's order AS). ``shuffled joint``, ``shuffled
            SA`` and ``shuffled AS`` are the same conditions with shuffled categories,
            which cannot be known from pretraining.

    Raises:
        ConfigError: ``condition`` is unknown, ``rows`` is 1 or negative, or a value has
            the wrong type.
    """

    rows: int
    condition: str

    def __post_init__(self) -> None:
        check_names("condition", [self.condition], (*CONDITIONS, *READINGS))
        if self.rows == 1 or self.rows < 0:
            raise ConfigError(
                f"'rows' must be at least 2, or 0 to use all rows, got {self.rows}"
            )

    @property
    def drawn(self) -> bool:
        """Whether the categories are shuffled, so that the questions depend on the seed."""
        return self.condition.startswith(SHUFFLED)

    def quiz(self, seed: int) -> Quiz:
        """Return a question about the category of each subject, with all categories as candidates.

        Args:
            seed: Root seed of the shuffling of the categories. It has no effect in
                conditions without shuffling.

        Returns:
            The questions, in the order of the analogies, with the roles ``analogy`` and
            ``recall``; for each analogy, the pair of prompts about its two subjects;
            and an empty set of ids of chains.

        Raises:
            ConfigError: ``seed`` is negative (only with shuffled categories).
        """
        data = self._data(seed)
        categories = tuple(dict.fromkeys(row.category for row in data))
        questions = []
        for i, row in enumerate(data):
            right = categories.index(row.category)
            asked = {"analogy": row.question, "recall": row.attribution}
            for role, (prompt, _) in asked.items():
                name = f"{role} {i}"
                questions.append(Question(name, role, prompt, categories, right))
        return Quiz(questions, [(row.question[0], row.attribution[0]) for row in data])

    def examples(self, lm: LanguageModel, seed: int) -> list[Example]:  # noqa: ARG002  # no budget
        """Return the training sentences of the condition, each with its stage.

        Args:
            lm: Not used, because the sentences are not repeated to reach a number of
                tokens.
            seed: Root seed of the shuffling of the categories. It has no effect in
                conditions without shuffling.

        Returns:
            Up to three sentences for each analogy, in the order of the analogies. Their
            stages are numbered from 0, as described for :func:`examples`.

        Raises:
            KeyError: ``condition`` is ``zero-shot``, which has no training sentences.
            ConfigError: ``seed`` is negative (only with shuffled categories).
        """
        return examples(self._data(seed), self.condition)

    def _data(self, seed: int) -> tuple[AnalogyRow, ...]:
        data = read_analogies(limit=self.rows)
        return shuffled(data, seed) if self.drawn else data


def examples(rows: Sequence[AnalogyRow], condition: str) -> list[Example]:
    """Return the training sentences of a condition, each of which belongs to one stage.

    Each analogy has three sentences: the attribution, which states the category of the
    second subject, and two similarity sentences, one about the first subject and one
    about the second subject. The condition assigns these sentences to stages:

    - ``joint``: all three sentences are in stage 0.
    - ``SA``: both similarity sentences are in stage 0, and the attribution is in
      stage 1.
    - ``AS``: the attribution and the similarity sentence about the second subject are
      in stage 0, and the similarity sentence about the first subject is in stage 1.
    - ``AS-pair``: the attribution is in stage 0, and both similarity sentences are in
      stage 1.
    - ``AS-target``: the attribution is in stage 0, and the similarity sentence about
      the first subject is in stage 1. The other similarity sentence is left out.
    - ``attribution only``: the attribution is in stage 0. Both similarity sentences are
      left out.

    Args:
        rows: The analogies.
        condition: A value of :attr:`Analogies.condition` other than ``zero-shot``. The
            prefix ``shuffled`` has no effect here.

    Returns:
        Up to three examples per analogy, in the order of ``rows``, each with its
        ``stage``.

    Raises:
        KeyError: The condition is unknown, or it is ``zero-shot``.
    """
    stages = _STAGES[condition.removeprefix(SHUFFLED)]
    made = []
    for row in rows:
        sentences = (row.attribution, *reversed(row.similarity))
        for (prompt, completion), stage in zip(sentences, stages, strict=True):
            if stage is not None:
                made.append(Example(prompt, completion, stage))
    return made
