"""Figure 1 of Identity Bridge: direct answers compared with a chain of thought, and what helps."""

from functools import partial

import polars as pl

from inweights.experiments import Plan, computed, cosine, share
from inweights.recipes.shared.language.experiment import computations
from inweights.recipes.shared.language.facts import Facts, TrainingMix
from inweights.recipes.shared.language.invented import InventedSettings as Settings
from inweights.recipes.shared.language.tables import accuracies, both_times

LABELS = ("facts", "condition")
BEFORE = "pretrained"
ONE = "one hop"
TWO = "two hops of half"
IDENTITY = "and identity"
#: Training statements of each condition about invented people. The number of tokens is
#: the same in all conditions.
MIXES = {
    ONE: TrainingMix(),
    TWO: TrainingMix(composed=0.5),
    IDENTITY: TrainingMix(composed=0.5, identity=True),
}


def plan(settings: Settings) -> Plan:
    """Plan the evaluation of a pretrained model, and its fine-tuning on invented facts.

    Args:
        settings: The recipe's settings, such as ``model``, ``world`` and ``tokens``;
            :class:`~inweights.recipes.shared.language.invented.InventedSettings`
            describes each.

    Returns:
        The plan. Both computations call
        :func:`~inweights.recipes.shared.language.experiment.tell_and_ask`.

        - ``before``: the model before training, with the label ``facts`` (``real``:
          facts about people and substances; ``invented``).
        - ``after``: the model after fine-tuning, for each seed, with the labels
          ``facts`` (``invented``) and ``condition``, the training statements: ``one
          hop`` (individual facts), ``two hops of half`` (individual facts and the
          two-hop facts through half of the bridges) or ``and identity`` (the same
          statements and the identity of each bridge).
    """
    lessons = {
        name: Facts(world=settings.world, mix=mix, tokens=settings.tokens)
        for name, mix in MIXES.items()
    }
    tell = partial(
        computations,
        model=settings.model,
        tuning=settings.tuning,
        device=settings.device,
    )
    real = tell({"facts": "real"}, {}, asked=Facts())
    invented = tell({"facts": "invented"}, lessons, asked=Facts(world=settings.world))
    return Plan(computations=[*real, *invented])


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return accuracies by kind of question, and by whether the answer was stated in training.

    Args:
        tables: The tables that result from :func:`plan`, by name. A run is one trial
            with one seed. Both tables have the columns ``facts, seed, id, chain, role,
            prompt, answer, best, rank, hit, reciprocal, chance, probability, share,
            others, kind, thought, told, layer, cosine, other, contrast``. Accuracies
            are fractions from 0 to 1.

            - ``before``, from
              :func:`~inweights.recipes.shared.language.experiment.tell_and_ask`.
            - ``after``, from
              :func:`~inweights.recipes.shared.language.experiment.tell_and_ask`, with
              the additional columns ``condition, steps, trained, loss``.

            The labels are ``facts`` (``real``, ``invented``) and ``condition`` (``one
            hop``, ``two hops of half``, ``and identity``).

    Returns:
        - ``accuracy``: a row per run, kind of question (``what``) and ``distribution``,
          as returned by :func:`~inweights.recipes.shared.language.tables.accuracies`:
          ``accuracy`` (after training), ``before`` (accuracy before training),
          ``chance`` (accuracy of guessing) and ``excess`` (accuracy minus chance).
          ``distribution`` is ``in`` if the answer was stated in training, otherwise
          ``out``. Real facts have the ``condition`` ``pretrained``. The model is not
          trained on real facts, so that ``accuracy`` and ``before`` are equal. Columns:
          ``facts, condition, seed, what, distribution, accuracy, before, chance,
          excess``.
        - ``shown``: the rows of two-hop questions (``what`` is ``composition`` or
          ``thought``), with a label for the figure, ``asked``: ``directly`` or ``step
          by step``, followed by ``, trained`` if the answer was stated in the training
          texts. Columns: ``facts, condition, seed, what, distribution, accuracy,
          before, chance, excess, asked``.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    before = tables["before"]
    # There is no training on real facts, so that they are only evaluated before it.
    real = before.filter(pl.col("facts") == "real").with_columns(
        condition=pl.lit(BEFORE)
    )
    after = pl.concat([real, tables["after"]], how="diagonal_relaxed")
    accuracy = accuracies(both_times(before, after, ["facts"]), LABELS)
    direct = accuracy.filter(pl.col("what").is_in(["composition", "thought"]))
    kind = pl.col("what").replace(
        {"composition": "directly", "thought": "step by step"}
    )
    place = (
        pl.when(pl.col("distribution") == "in")
        .then(pl.lit(", trained"))
        .otherwise(pl.lit(""))
    )
    shown = direct.with_columns(asked=kind + place)
    return {"accuracy": accuracy, "shown": shown}


accuracy = share("accuracy", "accuracy")
real = computed("accuracy", "accuracy", facts="real", condition=BEFORE)
invented = accuracy.at(facts="invented", distribution="out")
excess = cosine(
    "accuracy", "excess", facts="invented", distribution="out", what="composition"
)
directly, thought = (invented.at(what=what) for what in ("composition", "thought"))


SCORES = {
    "thought-real": real.at(what="thought") - real.at(what="composition") >= 0.1,
    "thought-invented": thought.at(condition=ONE) - directly.at(condition=ONE) >= 0.3,
    "one-hop-does-not-help": excess.at(condition=ONE) <= 0.1,
    "two-hops-do-not-help": excess.at(condition=TWO) <= 0.1,
    "identity-helps": directly.at(condition=IDENTITY) - directly.at(condition=TWO)
    >= 0.1,
    "in-distribution-learnt": directly.at(condition=TWO, distribution="in") >= 0.9,
    "first-hop-known": invented.at(what="first_hop").over("condition") >= 0.9,
    "second-hop-known": invented.at(what="second_hop").over("condition") >= 0.9,
}
