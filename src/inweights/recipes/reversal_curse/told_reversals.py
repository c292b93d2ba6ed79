"""Reversal Curse: facts are stated in one direction and queried in the other, with identities."""

from functools import partial
from itertools import product

import inweights as iw
from inweights import experiments
from inweights.recipes.reversal_curse import kinds
from inweights.worlds.families.reversal import Reversal

PHRASED = "both, phrased"


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``told_reversals.toml``. A value of the wrong type
    raises a ``ConfigError``; :func:`plan` checks most ranges.

    Attributes:
        n: Number of pairs, at least 2.
        told: Numbers of pairs whose reversal is among the facts (at least 0 and below
            ``n``), in worlds with identity facts of the form ``a → a``.
        identities: The elements of a pair that have identity facts, one choice per
            world: ``none``, ``first``, ``second`` or ``both``.
        told_phrased: The same as ``told``, for worlds in which both elements of a pair
            have identity facts of the form ``(a, same) → a``.
        undecayed: Weight decay in the program that predicts the result of training
            without weight decay, in the worlds of ``told_phrased``. In the other
            worlds, this prediction uses program (2) (Identity Bridge §4.3: the smallest
            nuclear norm with margins of at least 1).
        training: Settings of the models and of their training.
    """

    n: int = 20
    told: tuple[int, ...] = (0, 5, 10)
    identities: tuple[str, ...] = ("none", "first", "both")
    told_phrased: tuple[int, ...] = (0, 2, 5, 10)
    undecayed: float = 1e-2
    training: kinds.Training = kinds.Training()


def plan(settings: Settings) -> experiments.Plan:
    """Plan training runs for each number of reversals and each set of identities to train on.

    Args:
        settings: The recipe's settings, such as ``n``, ``told`` and ``identities``;
            :class:`Settings` describes each.

    Returns:
        The plan. The label values listed below are those of the default settings.

        - Labels of the trials: ``identities`` (the elements of a pair that have
          identity facts: ``none``, ``first``, ``both``; ``both, phrased``: both have
          identity facts of the form ``(a, same) → a``), ``told`` (number of pairs whose
          reversals are in the training set: 0, 2, 5, 10), ``phrased`` (Boolean: whether
          the identity facts have the form ``(a, same) → a``), and ``model`` (Emb-MLP;
          Emb-MLP, decay; GPT, small: the conditions of
          :meth:`~.kinds.Training.learners`).
        - Measures: ``trained`` (:func:`inweights.probes.margins`) and ``accuracy``
          (:func:`inweights.probes.accuracy`).
        - Computation: ``predicted``
          (:func:`~inweights.theory.prediction.predict.predicted_queries`), the answers
          that the programs predict for every query. Predictions are made for both
          conditions of the Emb-MLP, with the same labels and for each seed.

    Raises:
        ConfigError: ``n`` is below 2, ``identities`` contains an unknown value, a
            number of reversals is outside ``[0, n)``, or a value is out of range for a
            model or its training.
    """
    n = settings.n
    training = settings.training
    ends = [
        (which, told) for which, told in product(settings.identities, settings.told)
    ]
    bare = kinds.plan([_world(n, told, which) for which, told in ends], training)
    phrased = kinds.plan(
        [_world(n, told, "both", phrased=True) for told in settings.told_phrased],
        training,
        settings.undecayed,
    )
    return experiments.Plan(
        trials=[*bare.trials, *phrased.trials],
        computations=[*bare.computations, *phrased.computations],
        measures=bare.measures,
    )


derive = partial(
    kinds.derive, labels=("identities", "told", "phrased"), by=("phrased",)
)


def _world(
    n: int, told: int, identity: str, *, phrased: bool = False
) -> tuple[dict[str, experiments.Value], experiments.WorldConfig]:
    world = Reversal(
        n=n,
        told=told,
        identity=identity,  # type: ignore[arg-type]
        phrased=phrased,
    )
    return {
        "identities": PHRASED if phrased else identity,
        "told": told,
        "phrased": phrased,
    }, world


accuracy = experiments.share("questions", "accuracy")
among = experiments.share("questions", "accuracy_among")
gpt_phrased = accuracy.at(identities=PHRASED, model=kinds.GPT)
MODEL = "model"

SCORES = {
    "curse": accuracy.at(identities="none").over(MODEL, "told") <= 0.1,
    "identities-alone": among.at(identities="both", told=0, model=kinds.GPT) >= 0.5,
    "one-layer": among.at(identities="both", told=0, model=kinds.EMB_MLP) >= 0.9,
    "one-layer-without": among.at(identities="none", told=0, model=kinds.EMB_MLP)
    <= 0.15,
    "phrased-alone": among.at(identities=PHRASED, told=0, model=kinds.GPT) >= 0.5,
    "ten-phrased": gpt_phrased.at(told=10) >= 0.7,
    "five-phrased": gpt_phrased.at(told=5) >= 0.6,
    "two-phrased": gpt_phrased.at(told=2) >= 0.5,
    "none-phrased": accuracy.at(identities=PHRASED, told=0).over(MODEL) <= 0.1,
    "soft-program-describes-phrased": experiments.share(
        "agreement", "agrees", phrased=True, model=kinds.EMB_MLP
    )
    >= 0.9,
    "not-over-all-outputs": accuracy.at(identities="both", told=0).over(MODEL) <= 0.1,
    "half-told-reverses-the-rest": accuracy.at(identities="both", told=10).over(MODEL)
    >= 0.7,
    "one-end-is-not-enough": accuracy.at(identities="first", told=10).over(MODEL)
    <= 0.1,
    **kinds.common_scores("identities", "told", phrased=False),
}
