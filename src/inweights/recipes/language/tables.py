"""What recipes draw and judge: what a model says before and after it is told something."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from inweights.lm.compare import CORRECT, INCORRECT, PARTIAL, paired

__all__ = ["WORDS", "accuracies", "against", "both_times", "by_layer", "rises"]

#: What is asked, as figures call it.
WORDS = {
    "composition": "two hops, directly",
    "thought": "two hops, step by step",
    "first_hop": "first hop",
    "second_hop": "second hop",
    "skip": "(e1, r2) alone",
}
_TINY = float(np.finfo(np.float64).tiny)
#: What a question is, whatever is said.
_ABOUT = ("kind", "id", "chain", "role", "prompt", "answer", "chance", "layer", "told")


def both_times(before: pl.DataFrame, after: pl.DataFrame, shared: Sequence[str]) -> pl.DataFrame:
    """Put what a model says before and after side by side.

    Args:
        before: Of :func:`~inweights.recipes.language.experiment.tell_and_ask`, without training. A
            single seed stands for every seed of ``after``.
        after: The same, after training; ``condition`` says on what.
        shared: Labels of both.

    Returns:
        The rows of ``after``, with ``_after`` and ``_before`` behind the names of what was said;
        what was not asked before is null. ``distribution`` of a question is ``in`` where its
        conclusion was told outright, else ``out``; ``set`` is that of its composition (Identity
        Bridge, §4.5).
    """
    keys = [*shared, "seed", "kind", "id", "layer"]
    said = [c for c in before.columns if c not in (*shared, "seed", *_ABOUT)]
    both = after.rename({c: f"{c}_after" for c in said}).join(
        _every_seed(before, after, shared).select(*keys, pl.col(said).name.suffix("_before")),
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
    place = pl.when("told").then(pl.lit("in")).when(~pl.col("told")).then(pl.lit("out"))
    return (
        both.join(direct.select(*chain, set=kinds), on=chain, how="left", maintain_order="left")
        .with_columns(distribution=place)
        .drop("told")
    )


def _every_seed(before: pl.DataFrame, after: pl.DataFrame, shared: Sequence[str]) -> pl.DataFrame:
    """Repeat what no seed decided, and bears one only, for every seed."""
    alone = pl.col("seed").n_unique().over(shared) == 1
    seeds = after.select(*shared, "seed").unique(maintain_order=True)
    repeated = before.filter(alone).drop("seed").join(seeds, on=shared)
    return pl.concat([before.filter(~alone), repeated], how="diagonal")


def accuracies(measured: pl.DataFrame, labels: Sequence[str]) -> pl.DataFrame:
    """Return accuracy among candidates for each run, kind of question and distribution.

    Returns:
        ``labels, seed, what, distribution``; ``accuracy``, ``before``, ``chance``, ``excess``
        (accuracy minus chance), ``reciprocal`` (mean reciprocal rank), ``share``. ``what`` is the
        role of a question, or ``thought`` for compositions that were answered step by step.
    """
    what = pl.when(pl.col("kind") == "thought").then(pl.lit("thought")).otherwise(pl.col("role"))
    asked = measured.filter(pl.col("kind").is_in(["question", "thought"]))
    keys = [*labels, "seed", "what", "distribution"]
    return (
        asked.with_columns(what=what)
        .group_by(keys, maintain_order=True)
        .agg(
            accuracy=pl.col("hit_after").mean(),
            before=pl.col("hit_before").mean(),
            chance=pl.col("chance").mean(),
            reciprocal=pl.col("reciprocal_after").mean(),
            share=pl.col("share_after").mean(),
            questions=pl.len(),
        )
        .with_columns(excess=pl.col("accuracy") - pl.col("chance"))
    )


def rises(measured: pl.DataFrame, labels: Sequence[str], role: str = "composition") -> pl.DataFrame:
    """Return how much likelier answers of a role became, and wrong candidates with them.

    Returns:
        ``labels, seed, set``; means over questions: ``decades`` (decimal logarithm of the answer's
        probability after over before), ``decades_others`` (the same of the mean wrong candidate),
        ``own`` (their difference: what remains when both rise alike), ``rise`` (difference of
        probabilities), ``share_rise`` (of the share among candidates), ``number``.
    """
    asked = measured.filter(pl.col("kind") == "question", pl.col("role") == role)
    wrong = {}
    for when in ("before", "after"):
        p, share, others = (pl.col(f"{c}_{when}") for c in ("probability", "share", "others"))
        wrong[when] = (_log10(p) - _log10(share) + _log10(others)).alias(f"wrong_{when}")
    decades = _log10(pl.col("probability_after")) - _log10(pl.col("probability_before"))
    return (
        asked.with_columns(*wrong.values())
        .with_columns(
            decades=decades, decades_others=pl.col("wrong_after") - pl.col("wrong_before")
        )
        .group_by([*labels, "seed", "set"], maintain_order=True)
        .agg(
            pl.col("decades", "decades_others").mean(),
            own=(pl.col("decades") - pl.col("decades_others")).mean(),
            rise=(pl.col("probability_after") - pl.col("probability_before")).mean(),
            share_rise=(pl.col("share_after") - pl.col("share_before")).mean(),
            number=pl.len(),
        )
    )


def by_layer(measured: pl.DataFrame, labels: Sequence[str]) -> pl.DataFrame:
    """Return resemblance by layer, a row for each run, layer and time (``before``, ``after``)."""
    rows = measured.filter(pl.col("kind") == "layer")
    keys = [*labels, "seed", "layer"]
    times = [
        rows.select(
            *keys,
            pl.lit(when).alias("when"),
            *(pl.col(f"{c}_{when}").alias(c) for c in ("cosine", "other", "contrast")),
        )
        for when in ("before", "after")
    ]
    return pl.concat(times)


def against(
    measured: pl.DataFrame, label: str, base: str, role: str = "composition"
) -> pl.DataFrame:
    """Compare each value of a label with a base one, question by question over all seeds.

    Returns:
        ``label``, ``difference`` (of accuracy), ``low``, ``high``, ``gained``, ``lost``, ``p``
        (McNemar's exact test), ``questions``. Empty where the base is not there.
    """
    asked = measured.filter(pl.col("kind") == "question", pl.col("role") == role).select(
        label,
        pl.format("{}/{}", pl.col("seed"), pl.col("id")).alias("id"),
        pl.col("hit_after").alias("hit"),
    )
    control = asked.filter(pl.col(label) == base)
    rows = []
    for value in asked[label].unique(maintain_order=True).to_list():
        other = asked.filter(pl.col(label) == value)
        if value == base or set(other["id"]) != set(control["id"]):
            continue
        test = paired(control, other)
        rows.append(
            {
                label: value,
                "difference": test.mean,
                "low": test.low,
                "high": test.high,
                "gained": test.gained,
                "lost": test.lost,
                "p": test.p,
                "questions": test.questions,
            }
        )
    return pl.DataFrame(rows)


def _log10(column: pl.Expr) -> pl.Expr:
    """Decimal logarithm; what underflowed counts as the smallest number there is."""
    return column.clip(lower_bound=_TINY).log10()
