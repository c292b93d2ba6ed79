"""Out-of-Context Reasoning: what statements about some members of a group imply for the others."""

from functools import partial
from itertools import product

import inweights as iw
from inweights import experiments
from inweights.config.ranges import PositiveInt
from inweights.recipes.reversal_curse import kinds
from inweights.worlds.families.implication import Implication


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``implication.toml``. A value of the wrong type
    raises a ``ConfigError``; :func:`plan` checks most ranges.

    Attributes:
        groups: Number of groups, at least 2.
        members: Number of members of each group.
        told: Numbers of members of a group for whom a fact states the group's second
            value, each at least 1.
        denied: Numbers of other members of a group for whom a fact states the second
            value of a different group, each at least 0.
        training: Settings of the models and of their training.
    """

    groups: int = 5
    members: PositiveInt = 8
    told: tuple[int, ...] = (1, 3)
    denied: tuple[int, ...] = (0, 1, 3, 4)
    training: kinds.Training = kinds.Training()


def plan(settings: Settings) -> experiments.Plan:
    """Plan training runs for different numbers of examples and of counter-examples.

    Args:
        settings: The recipe's settings, such as ``groups``, ``members`` and ``told``;
            :class:`Settings` describes each.

    Returns:
        The plan. The label values listed below are those of the default settings.

        - Labels of the trials: ``told`` (number of members of a group for whom a fact
          states the group's second value: 1, 3), ``denied`` (number of other members
          for whom a fact states the second value of another group: 0, 1, 3, 4), and
          ``model`` (Emb-MLP; Emb-MLP, decay; GPT, small: the conditions of
          :meth:`~.kinds.Training.learners`).
        - Measures: ``trained`` (:func:`inweights.probes.margins`) and ``accuracy``
          (:func:`inweights.probes.accuracy`).
        - Computation: ``predicted``
          (:func:`~inweights.theory.prediction.predict.predicted_queries`), the answers
          that the programs predict for every query. Predictions are made for both
          conditions of the Emb-MLP, with the same labels and for each seed.

        Pairs of ``told`` and ``denied`` whose sum is not below ``members`` are left
        out, since no member would remain for queries.

    Raises:
        ConfigError: ``groups`` is below 2, a value of ``told`` is below 1, a value of
            ``denied`` is negative, or a value is out of range for a model or its
            training.
    """
    worlds: list[tuple[dict[str, experiments.Value], experiments.WorldConfig]] = [
        (
            {"told": told, "denied": denied},
            Implication(
                groups=settings.groups,
                members=settings.members,
                told=told,
                denied=denied,
            ),
        )
        for told, denied in product(settings.told, settings.denied)
        if told + denied < settings.members
    ]
    return kinds.plan(worlds, settings.training)


derive = partial(kinds.derive, labels=("told", "denied"))


accuracy = experiments.share("questions", "accuracy")
MODEL = "model"

SCORES = {
    "from-a-few": accuracy.at(told=3, denied=0).over(MODEL) >= 0.9,
    "from-one": accuracy.at(told=1, denied=0).over(MODEL) >= 0.9,
    "fewer-counter-examples": accuracy.at(told=3, denied=1).over(MODEL) >= 0.9,
    "more-counter-examples": accuracy.at(told=3, denied=4).over(MODEL) <= 0.1,
    **kinds.common_scores("told", "denied"),
}
