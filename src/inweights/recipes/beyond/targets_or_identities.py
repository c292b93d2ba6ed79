"""Our experiment: do identities help reversals because they make the subjects answers?"""

import polars as pl
from msgspec import structs

import inweights as iw
from inweights.experiments import Plan, Trial, Value, share
from inweights.recipes.reversal_curse import kinds
from inweights.recipes.shared.derived import memorised
from inweights.worlds.families.reversal import Reversal

#: What is trained on besides the forward facts and some reversals.
NOTHING = "nothing"
TARGETS = "targets"
IDENTITIES = "identities"
BOTH = "both"
BESIDE: dict[str, Reversal] = {
    NOTHING: Reversal(identity="none"),
    TARGETS: Reversal(identity="none", targeted="both"),
    IDENTITIES: Reversal(identity="both"),
    BOTH: Reversal(identity="both", targeted="both"),
}
LABELS = ("beside", "told")


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``targets_or_identities.toml``. A value of the wrong
    type raises a ``ConfigError``; :func:`plan` checks most ranges.

    Attributes:
        n: Number of pairs, at least 2.
        told: Numbers of pairs on whose reversals the models are also trained, at least
            0 and below ``n``.
        training: Settings of the models and of their training.
    """

    n: int = 20
    told: tuple[int, ...] = (0, 10)
    training: kinds.Training = kinds.Training()


def plan(settings: Settings) -> Plan:
    """Plan the training of an Emb-MLP and a GPT for every choice of additional facts.

    Args:
        settings: The recipe's settings, such as ``n``, ``told`` and ``training``;
            :class:`Settings` describes each.

    Returns:
        The plan. The label values listed below are those of the default settings.

        - Labels of the trials: ``beside`` (the training facts in addition to the
          forward facts: ``nothing``; ``targets``: facts whose answers are the entities;
          ``identities``; ``both``), ``told`` (number of pairs whose reversals are in
          the training set: 0, 10), and ``model`` (Emb-MLP; GPT, small).
        - Measure: ``accuracy`` (:func:`inweights.probes.accuracy`).

    Raises:
        ConfigError: ``n`` is below 2, a number of reversals is outside ``[0, n)``, or a
            value is out of range for a model or its training.
    """
    trials = []
    for beside, world in BESIDE.items():
        for told in settings.told:
            labels: dict[str, Value] = {"beside": beside, "told": told}
            here = structs.replace(world, n=settings.n, told=told)
            trials += [
                Trial(
                    labels={**labels, "model": name},
                    world=here,
                    model=model,
                    learner=learner,
                )
                for name, (model, learner) in settings.training.learners().items()
                if name != kinds.DECAYED
            ]
    return Plan(trials=trials, measures=[iw.probes.accuracy])


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return the accuracy on reversals that are not in the training set, and recall of the facts.

    Args:
        tables: The tables that result from :func:`plan`, by name (a run is one trial
            with one seed): ``accuracy`` (:func:`inweights.probes.accuracy`) with the
            columns ``beside, told, model, seed, part, role, distribution, statements,
            accuracy, accuracy_among, chance, loss, right_answers``. The labels are
            ``beside`` (the training facts in addition to the forward facts:
            ``nothing``; ``targets``: facts whose answers are the entities;
            ``identities``; ``both``), ``told`` (number of pairs whose reversals are in
            the training set: 0, 10), and ``model`` (Emb-MLP; GPT, small). Accuracies
            and recall are fractions from 0 to 1.

    Returns:
        - ``reversals``: a row per run: the accuracy on the reversals that are not in
          the training set, over all outputs (``accuracy``) and among the subjects
          (``accuracy_among``). Columns: all columns of ``accuracy``.
        - ``memorised``: a row per run, with the lowest ``accuracy`` over the roles
          (kinds) of facts. Columns: ``model, beside, told, seed, accuracy``.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    return {
        "reversals": tables["accuracy"].filter(pl.col("part") == "queries"),
        "memorised": memorised(tables["accuracy"], ["model", *LABELS]),
    }


among = share("reversals", "accuracy_among")
over_all = share("reversals", "accuracy")
MODEL = "model"

SCORES = {
    "facts-are-known": share("memorised", "accuracy").over(MODEL, *LABELS) >= 0.99,
    "no-target-no-reversal": among.at(beside=NOTHING, told=0).over(MODEL) <= 0.15,
    "targets-do-not-suffice": among.at(beside=TARGETS, told=0).over(MODEL) <= 0.2,
    "identities-do-more": among.at(beside=IDENTITIES, told=0, model=kinds.EMB_MLP)
    - among.at(beside=TARGETS, told=0, model=kinds.EMB_MLP)
    >= 0.5,
    "identities-do-more-gpt": among.at(beside=IDENTITIES, told=0, model=kinds.GPT)
    - among.at(beside=TARGETS, told=0, model=kinds.GPT)
    >= 0.2,
    "targets-and-half-do-not": over_all.at(beside=TARGETS, told=10).over(MODEL) <= 0.2,
    "targets-cost": over_all.at(beside=IDENTITIES, told=10, model=kinds.EMB_MLP)
    - over_all.at(beside=BOTH, told=10, model=kinds.EMB_MLP)
    >= 0.5,
}
