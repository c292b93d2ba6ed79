"""Compute the tables for claims from a model's answers before and after fine-tuning."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from inweights.lm.exams.compare import CORRECT, INCORRECT, PARTIAL

#: Labels in the figures for the kinds of questions.
WORDS = {
    "composition": "two hops, directly",
    "thought": "two hops, step by step",
    "first_hop": "first hop",
    "second_hop": "second hop",
    "skip": "(e1, r2) alone",
}
_TINY = float(np.finfo(np.float64).tiny)
#: Columns that describe a question; all others contain results.
_ABOUT = ("kind", "id", "chain", "role", "prompt", "answer", "chance", "layer", "told")


def both_times(
    before: pl.DataFrame, after: pl.DataFrame, shared: Sequence[str]
) -> pl.DataFrame:
    """Join the answers of a model before fine-tuning with its answers afterwards.

    Both arguments are tables of
    :func:`~inweights.recipes.shared.language.experiment.tell_and_ask`. If ``before``
    contains only one seed (for the same values of ``shared``), its rows are joined with
    every seed of ``after``.

    Args:
        before: Table of the model before training. A model that does not depend on the
            seed has only one seed.
        after: Table of the model after training, with the label ``condition``.
        shared: Names of the label columns that both tables have, without ``condition``.

    Returns:
        The rows of ``after``. The names of measured columns end in ``_after`` (after
        training) or ``_before`` (before training); values of questions that were not
        evaluated before training are null. Two columns are added. ``distribution`` is
        ``in`` if the answer to the question was stated in the training texts, and
        otherwise ``out`` (null in rows about layers and about training). ``set`` is the
        set of the composition to which the question belongs (Identity Bridge, §4.5):
        ``D_correct`` (answered correctly before and after training), ``D_partial``
        (correctly only after training) or ``D_incorrect`` (incorrectly after training);
        it is null for questions that belong to no composition.
    """
    keys = [*shared, "seed", "kind", "id", "layer"]
    said = [c for c in before.columns if c not in (*shared, "seed", *_ABOUT)]
    both = after.rename({c: f"{c}_after" for c in said}).join(
        _every_seed(before, after, shared).select(
            *keys, pl.col(said).name.suffix("_before")
        ),
        on=keys,
        how="left",
        nulls_equal=True,
        maintain_order="left",
    )
    kinds = (
        pl.when(~pl.col("hit_after"))
        .then(pl.lit(INCORRECT))
        .when(pl.col("hit_before"))
        .then(pl.lit(CORRECT))
        .otherwise(pl.lit(PARTIAL))
    )
    chain = [*shared, "condition", "seed", "chain"]
    direct = both.filter(pl.col("kind") == "question", pl.col("role") == "composition")
    # Null if the question has no chain on which the model could be trained.
    told = pl.when("told").then(pl.lit("in"))
    place = told.when(~pl.col("told")).then(pl.lit("out"))
    return (
        both.join(
            direct.select(*chain, set=kinds),
            on=chain,
            how="left",
            maintain_order="left",
        )
        .with_columns(distribution=place)
        .drop("told")
    )


def _every_seed(
    before: pl.DataFrame, after: pl.DataFrame, shared: Sequence[str]
) -> pl.DataFrame:
    """Repeat rows whose results do not depend on the seed for every seed."""
    alone = pl.col("seed").n_unique().over(shared) == 1
    seeds = after.select(*shared, "seed").unique(maintain_order=True)
    repeated = before.filter(alone).drop("seed").join(seeds, on=shared)
    return pl.concat([before.filter(~alone), repeated], how="diagonal")


def accuracies(measured: pl.DataFrame, labels: Sequence[str]) -> pl.DataFrame:
    """Return the accuracy among candidates for each run, kind of question and distribution.

    Args:
        measured: Table of :func:`both_times`.
        labels: Names of the columns that identify the trials, including ``condition``.

    Returns:
        A row per run, ``what`` and ``distribution``, with the columns that ``labels``
        names, ``seed``, and these columns (accuracies are shares from 0 to 1):

        - ``what``: role of the questions (``composition``, ``first_hop``,
          ``second_hop``, ``skip``, ``analogy`` or ``recall``), or ``thought`` for
          compositions that were answered step by step.
        - ``distribution``: ``in`` if the answers were stated in the training texts,
          otherwise ``out``.
        - ``accuracy``: accuracy after training.
        - ``before``: accuracy before training.
        - ``chance``: accuracy of guessing.
        - ``excess``: ``accuracy`` minus ``chance``.
    """
    what = (
        pl.when(pl.col("kind") == "thought")
        .then(pl.lit("thought"))
        .otherwise(pl.col("role"))
    )
    asked = measured.filter(pl.col("kind").is_in(["question", "thought"]))
    keys = [*labels, "seed", "what", "distribution"]
    return (
        asked.with_columns(what=what)
        .group_by(keys, maintain_order=True)
        .agg(
            accuracy=pl.col("hit_after").mean(),
            before=pl.col("hit_before").mean(),
            chance=pl.col("chance").mean(),
        )
        .with_columns(excess=pl.col("accuracy") - pl.col("chance"))
    )


def rises(
    measured: pl.DataFrame, labels: Sequence[str], role: str = "composition"
) -> pl.DataFrame:
    """Return how much training increases the probabilities of answers and of wrong candidates.

    Args:
        measured: Table of :func:`both_times`.
        labels: Names of the columns that identify the trials.
        role: Role of the questions, such as ``skip`` (prompts that combine the second
            relation with the subject); by default ``composition``.

    Returns:
        A row per run and value of ``set`` (``D_correct``, ``D_partial`` or
        ``D_incorrect``, see :func:`both_times`), with the columns ``labels``, ``seed``,
        ``set`` and four means over the questions:

        - ``decades``: decimal logarithm of the factor by which training increases the
          answer's probability.
        - ``own``: ``decades`` minus the decimal logarithm of the factor by which
          training increases the mean probability of the wrong candidates; 0 if both
          factors are equal.
        - ``rise``: the answer's probability after training minus its probability
          before.
        - ``share_rise``: the answer's share of the probability of all candidates after
          training, minus this share before.

        In the logarithms, a probability of 0 is replaced by the smallest positive
        number.
    """
    asked = measured.filter(pl.col("kind") == "question", pl.col("role") == role)
    said = ("probability", "share", "others")
    p, share, _ = (pl.col(f"{c}_after") - pl.col(f"{c}_before") for c in said)
    log_p, log_share, log_others = (
        _log10(pl.col(f"{c}_after")) - _log10(pl.col(f"{c}_before")) for c in said
    )
    # The mean probability of the wrong candidates is p / share * others, so that p
    # cancels.
    return asked.group_by([*labels, "seed", "set"], maintain_order=True).agg(
        decades=log_p.mean(),
        own=(log_share - log_others).mean(),
        rise=p.mean(),
        share_rise=share.mean(),
    )


def _log10(column: pl.Expr) -> pl.Expr:
    """Return the decimal logarithm, where 0 is replaced by the smallest positive number."""
    return column.clip(lower_bound=_TINY).log10()
