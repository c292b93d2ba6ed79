"""Figure 8 of Identity Bridge: the effect of one-hop fine-tuning on the prompt ``(e1, r2)``."""

from functools import partial

import polars as pl

import inweights as iw
from inweights.config.ranges import PositiveInt
from inweights.experiments import Plan, cosine, share
from inweights.lm.exams.compare import CORRECT, INCORRECT, PARTIAL
from inweights.lm.tuning.fine_tune import FineTune
from inweights.recipes.shared.language.experiment import computations
from inweights.recipes.shared.language.facts import Facts, TrainingMix
from inweights.recipes.shared.language.tables import (
    WORDS,
    accuracies,
    both_times,
    rises,
)
from inweights.support.keys.content import contents_of

LABELS = ("model", "condition")
ONE = "one-hop"
IDENTITY = "with identity"
SECOND = "second hop only"
#: Training statements of each condition. The number of tokens is the same in all of
#: them. The last one is a control without statements about ``e1``.
MIXES = {
    ONE: TrainingMix(),
    IDENTITY: TrainingMix(identity=True),
    SECOND: TrainingMix(hops="second"),
}


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``fig8.toml``. A value of the wrong type raises a
    ``ConfigError``; ranges are checked when the recipe is run.

    Attributes:
        models: Models to fine-tune. Each is a folder, the name of a Hugging Face model
            in the local cache, or ``@smollm2``.
        device: Torch device of the models, such as ``cpu`` or ``cuda``.
        tokens: Number of tokens in one epoch, the same in every condition.
        tuning: Settings of the fine-tuning.
    """

    models: tuple[str, ...] = ("@smollm2",)
    device: str = "cpu"
    tokens: PositiveInt = 1500
    tuning: FineTune = FineTune(
        rate=1e-3,
        epochs=5,
        batch_tokens=128,
        end=False,
    )

    @property
    def contents(self) -> dict[str, str]:
        """Dictionary that maps each model's name to a hash of its files, except for bundled models.

        Raises:
            DataError: A file of a model cannot be read.
        """
        return contents_of(*self.models)


def plan(settings: Settings) -> Plan:
    """Plan one fine-tuning run on real facts for each model and condition.

    Args:
        settings: The recipe's settings, such as ``models``, ``device`` and ``tokens``;
            :class:`Settings` describes each.

    Returns:
        The plan. Both computations call
        :func:`~inweights.recipes.shared.language.experiment.tell_and_ask`. The label
        values listed below are those of the default settings.

        - ``before``: the model before training, with the label ``model`` (@smollm2).
        - ``after``: the model after fine-tuning, with the labels ``model`` and
          ``condition``, the training statements: ``one-hop`` (individual facts), ``with
          identity`` (individual facts and the identity of each bridge) or ``second hop
          only`` (a control: only the facts about the bridges).
    """
    lessons = {
        name: Facts(mix=mix, tokens=settings.tokens) for name, mix in MIXES.items()
    }
    tell = partial(
        computations, asked=Facts(), tuning=settings.tuning, device=settings.device
    )
    told = []
    for model in settings.models:
        told += tell({"model": model}, lessons, model=model)
    return Plan(computations=told)


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return accuracies, and how much training increases the probability of answers.

    Args:
        tables: The tables that result from :func:`plan`, by name. A run is one trial
            with one seed. Both tables have the columns ``model, seed, id, chain, role,
            prompt, answer, best, rank, hit, reciprocal, chance, probability, share,
            others, kind, thought, told, layer, cosine, other, contrast``. Accuracies
            are fractions from 0 to 1.

            - ``before``, from
              :func:`~inweights.recipes.shared.language.experiment.tell_and_ask`.
            - ``after``, from
              :func:`~inweights.recipes.shared.language.experiment.tell_and_ask`, with
              the additional columns ``condition, steps, trained, loss``.

            The label ``condition`` is ``one-hop`` (training on individual facts),
            ``with identity`` (also identities) or ``second hop only``.

    Returns:
        - ``accuracy``: a row per run, kind of question (``what``) and ``distribution``,
          as returned by :func:`~inweights.recipes.shared.language.tables.accuracies`:
          ``accuracy`` (after training), ``before`` (accuracy before training),
          ``chance`` (accuracy of guessing), ``excess`` (accuracy minus chance) and
          ``gain`` (accuracy minus ``before``). ``distribution`` is ``in`` if the answer
          was stated in training, otherwise ``out``. Columns: ``model, condition, seed,
          what, distribution, accuracy, before, chance, excess, gain``.
        - ``sets``: a row per run and ``set`` of questions (``D_correct``,
          ``D_partial``, ``D_incorrect``), with the mean increases in the answer's
          probability for the prompt ``(e1, r2)``, as returned by
          :func:`~inweights.recipes.shared.language.tables.rises`: the increase in
          powers of ten (``decades``), this increase minus the increase for the wrong
          candidates (``own``), the increase as a difference (``rise``), and the
          increase in the answer's share among the candidates (``share_rise``).
          Columns: ``model, condition, seed, set, decades, own, rise, share_rise``.
        - ``all``: a row per run, with the same means over all questions; ``set`` is
          ``all``. Columns: as in ``sets``.
        - ``shown``: two rows for each row of ``sets``, for the figure: ``value`` is the
          increase in the quantity ``what`` (``probability`` or ``share among
          candidates``). Columns: ``model, condition, seed, set, what, value``.
        - ``kept``: the rows of ``accuracy``, in which ``what`` contains the names that
          the figure shows. Columns: ``model, condition, seed, what, distribution,
          accuracy, before, chance, excess``.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    measured = both_times(tables["before"], tables["after"], ["model"])
    accuracy = accuracies(measured, LABELS)
    sets = rises(measured, LABELS, "skip")
    rows = sets.unpivot(
        list(_RISES), index=[*LABELS, "seed", "set"], variable_name="what"
    )
    return {
        "accuracy": accuracy.with_columns(gain=pl.col("accuracy") - pl.col("before")),
        "sets": sets,
        "all": rises(measured.with_columns(set=pl.lit("all")), LABELS, "skip"),
        "shown": rows.sort(pl.col("set").replace_strict(_ORDER)).with_columns(
            pl.col("what").replace(_RISES)
        ),
        "kept": accuracy.with_columns(pl.col("what").replace(WORDS)),
    }


_RISES = {"rise": "probability", "share_rise": "share among candidates"}
_ORDER = {CORRECT: 0, PARTIAL: 1, INCORRECT: 2}

rise = cosine("sets", "rise", condition=ONE).over("model")
share_rise = rise.of("share_rise")
wrong = rise.at(set=INCORRECT)
wrong_share = share_rise.at(set=INCORRECT)
every_rise = cosine("all", "share_rise").over("model")
accuracy = share("accuracy", "accuracy").over("model")
composed = accuracy.at(what="composition")
gain = cosine("accuracy", "gain").over("model")

SCORES = {
    "rise-correct": rise.at(set=CORRECT) - wrong >= 0.05,
    "rise-partial": rise.at(set=PARTIAL) - wrong >= 0.05,
    "rise-incorrect": wrong.within(0.0, 0.1),
    "identity-adds-little": (
        composed.at(condition=IDENTITY) - composed.at(condition=ONE)
    ).within(-0.05, 0.05),
    "tuning-helps": gain.at(condition=ONE, what="composition") >= 0.02,
    "share-correct": share_rise.at(set=CORRECT) - wrong_share >= 0.05,
    "share-partial": share_rise.at(set=PARTIAL) - wrong_share >= 0.05,
    "needs-the-first-hop": every_rise.at(condition=ONE)
    - every_rise.at(condition=SECOND)
    >= 0.05,
    "first-hop-known": accuracy.at(condition=ONE, what="first_hop") >= 0.9,
    "second-hop-known": accuracy.at(condition=ONE, what="second_hop") >= 0.9,
}
