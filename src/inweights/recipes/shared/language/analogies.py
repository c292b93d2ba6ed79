"""Train and evaluate real-world analogies: two similar things, one with a trained category.

Feature Resemblance, §8.2, in the sentences of Tables 5 and 6.
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
#: What is trained; the shuffled ones are those that no prior knowledge can answer.
CONDITIONS = (ZERO_SHOT, ATTRIBUTION, *ORDERS, *(SHUFFLED + order for order in ORDERS))
#: Other readings of AS: the attribution, then both sentences of the similarity, or that
#: of the first subject alone.
READINGS = ("AS-pair", "AS-target")
#: Stage of the attribution, of what is told of the second subject, and of the first;
#: none for what is not trained.
_STAGES: dict[str, tuple[int | None, ...]] = {
    "joint": (0, 0, 0),
    "SA": (1, 0, 0),
    "AS": (0, 0, 1),
    "AS-pair": (0, 1, 1),
    "AS-target": (0, None, 1),
    ATTRIBUTION: (0, None, None),
}


class Analogies(iw.Config):
    """Config of analogies that are trained in one of several orders.

    Questions have the role ``analogy`` (about the first subject, whose category is
    never trained) or ``recall`` (about the second subject). A pair consists of the
    questions about both subjects of a row.

    Attributes:
        rows: Number of rows of the data, spread evenly over its relations; at least 2,
            or 0 for all.
        condition: What is trained, and in which order: ``joint`` (attribution and
            similarity together), ``SA`` (similarity before attribution), ``AS``
            (attribution before similarity, see :func:`examples`), ``attribution only``,
            ``zero-shot`` (nothing), or ``AS-pair`` or ``AS-target``, two other readings
            of AS. ``shuffled joint``, ``shuffled SA`` and ``shuffled AS`` are the same
            with shuffled categories, which no prior knowledge can answer.

    Raises:
        ConfigError: ``condition`` is unknown, or ``rows`` is 1 or negative.
    """

    rows: int
    condition: str

    def __post_init__(self) -> None:
        check_names("condition", [self.condition], (*CONDITIONS, *READINGS))
        if self.rows == 1 or self.rows < 0:
            raise ConfigError(f"rows must be at least 2, or 0 for all, got {self.rows}")

    @property
    def drawn(self) -> bool:
        """Whether the categories are shuffled, so that the questions depend on the seed."""
        return self.condition.startswith(SHUFFLED)

    def quiz(self, seed: int) -> Quiz:
        """Return questions for the category of each subject of a row, among all categories.

        Args:
            seed: Root seed of the shuffled categories; no effect in other conditions.

        Returns:
            Two questions per row, with the roles ``analogy`` and ``recall``; the pairs
            of prompts about the two subjects of each row; and no ids of chains.
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
        """Return the training sentences, each with its stage.

        Args:
            lm: Not used, as there is no budget of tokens.
            seed: Root seed of the shuffled categories; no effect in other conditions.

        Returns:
            The sentences of all rows, with stages from 0; none with ``zero-shot``.

        Raises:
            KeyError: ``condition`` is ``zero-shot``, in which nothing is trained.
        """
        return examples(self._data(seed), self.condition)

    def _data(self, seed: int) -> tuple[AnalogyRow, ...]:
        data = read_analogies(limit=self.rows)
        return shuffled(data, seed) if self.drawn else data


def examples(rows: Sequence[AnalogyRow], condition: str) -> list[Example]:
    """Return the training sentences of a condition; each is in exactly one stage.

    A row has three sentences: the attribution (the category of the second subject), and
    the similarity, as one sentence about the second subject and one about the first.
    ``joint`` trains all in stage 0; ``SA`` the similarity in stage 0 and the
    attribution in stage 1; ``AS`` the attribution and the sentence about the second
    subject in stage 0, and that about the first in stage 1. ``AS-pair`` trains both
    sentences of the similarity in stage 1, ``AS-target`` only that about the first
    subject, and ``attribution only`` no similarity.

    Args:
        rows: The analogies.
        condition: A value of :attr:`Analogies.condition` except ``zero-shot``.

    Returns:
        Up to three examples per row, in the order of the rows, each with its ``stage``.

    Raises:
        KeyError: The condition is unknown or ``zero-shot``.
    """
    stages = _STAGES[condition.removeprefix(SHUFFLED)]
    made = []
    for row in rows:
        sentences = (row.attribution, *reversed(row.similarity))
        for (prompt, completion), stage in zip(sentences, stages, strict=True):
            if stage is not None:
                made.append(Example(prompt, completion, stage))
    return made
