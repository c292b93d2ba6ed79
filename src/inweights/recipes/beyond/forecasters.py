"""Derive tables that compare four predictors of queries with trained models.

:mod:`~.predicted_composition` uses them.
"""

import polars as pl

from inweights.recipes.shared.calibration import agreement, reliability, roc_auc
from inweights.recipes.shared.derived import memorised

PROGRAM = "program (2)"
SOFT = "soft program"
TRIVIAL = "bridge has an identity"
TRAINING = "short training"
EVEN = "even"
UNEVEN = "uneven"
#: Families of worlds whose answers are as frequent as each other, or nearly.
_EVEN = ("permuted", "drawn", "real")

RUN = ["seed", "model", "world", "identity", "kind"]


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return the errors of four predictors by world, and how well each ranks the queries.

    Args:
        tables: The tables that :func:`~.predicted_composition.plan` makes, by name:
            ``trained`` (``model, part, role, distribution, prompt, answer, predicted,
            margin, margin_among, right_answers``), ``accuracy`` (``model, part, role,
            distribution, statements, accuracy, accuracy_among, chance, loss,
            right_answers``), ``predicted`` (``query, prompt, answer, right_answers,
            chance, predicted, margin, verdict, tied, expected, role, …``), ``softly``
            (``model, query, prompt, answer, right_answers, chance, predicted, margin,
            verdict, tied, expected, …``), ``tried`` (``model, predicted, share, lower,
            upper, prompt, answer``). All have the columns ``world, identity, seed``.

    Returns:
        - ``complexity_one``: share of the predictions that came true at complexity one
          (``agrees``). Columns: ``seed, model, world, identity, kind, agrees,
          identities``.
        - ``by_world``: a row per run and ``forecaster``: the means of ``expected`` and
          ``hit``, and their absolute difference, ``error``. Columns: ``seed, model,
          world, identity, kind, forecaster, hit, expected, error``.
        - ``auc``: area under the ROC curve of each predictor. Columns: ``seed, model,
          world, identity, kind, forecaster, auc, place``.
        - ``above``: the difference of two predictors on the same world: of their areas
          (``gain``) and of their errors (``spared``). Columns: ``seed, model, world,
          identity, kind, pair, gain, spared``.
        - ``reliability``: share of correct answers by bins of the predicted margin.
          Columns: ``seed, model, kind, bin, hit, queries, predicted_margin``.
        - ``map``: ``by_world`` with the areas under the ROC curve, for the figure.
          Columns: ``seed, model, world, identity, kind, forecaster, hit, expected,
          error, auc, cell, by, above_chance``.
        - ``memorised``: accuracy on the facts; ``fair`` says whether a model can
          memorise all of them. Columns: ``model, world, identity, seed, accuracy,
          fair``.
    """
    keys = ["world", "identity", "seed", "prompt", "answer"]
    predicted = tables["predicted"].select(
        *keys, "verdict", "expected", "trivial", predicted_margin=pl.col("margin")
    )
    even = pl.any_horizontal(pl.col("world").str.starts_with(name) for name in _EVEN)
    queries = (
        tables["trained"]
        .join(predicted, on=keys)
        .with_columns(
            hit=(pl.col("margin") > 0).cast(pl.Float64),
            kind=pl.when(even).then(pl.lit(EVEN)).otherwise(pl.lit(UNEVEN)),
        )
    )
    said = _said(queries, tables["softly"], tables["tried"], keys)
    by_world = (
        said.group_by(*RUN, "forecaster", maintain_order=True)
        .agg(pl.col("hit", "expected").mean())
        .with_columns(error=(pl.col("hit") - pl.col("expected")).abs())
    )
    auc = roc_auc(said, "score", "hit", (*RUN, "forecaster"))
    whole = pl.col("identity").is_in([0.0, 1.0])
    agree = agreement(queries, RUN).filter(pl.col("world") == "permuted, C = 1")
    cell = pl.format("{}, {}", "world", pl.col("identity").cast(pl.String))
    judged = by_world.join(auc.drop("place"), on=[*RUN, "forecaster"], how="left")
    return {
        "complexity_one": agree.with_columns(
            identities=pl.when(whole)
            .then(pl.lit("all or none"))
            .otherwise(pl.lit("some"))
        ),
        "by_world": by_world,
        "auc": auc,
        "above": _above(judged),
        "reliability": reliability(queries, ("seed", "model", "kind")),
        "map": judged.with_columns(
            cell=cell,
            by=pl.format("{} by {}", "model", "forecaster"),
            above_chance=pl.col("auc") - 0.5,
        ),
        "memorised": memorised(
            tables["accuracy"], ("model", "world", "identity")
        ).with_columns(
            fair=~pl.col("world").is_in(["shared answers", "pairs", "several values"])
        ),
    }


def _said(
    queries: pl.DataFrame, softly: pl.DataFrame, tried: pl.DataFrame, keys: list[str]
) -> pl.DataFrame:
    """Return a row per query and predictor: its score and expected accuracy."""
    kept = [*RUN, "hit"]
    soft = softly.select(*keys, "model", softly="expected", score="margin")
    shares = tried.select(*keys, "model", "share")
    others = [
        (PROGRAM, queries, "expected", "predicted_margin"),
        (TRIVIAL, queries, "trivial", "trivial"),
        (SOFT, queries.join(soft, on=[*keys, "model"]), "softly", "score"),
        (TRAINING, queries.join(shares, on=[*keys, "model"]), "share", "share"),
    ]
    return pl.concat(
        table.select(*kept, forecaster=pl.lit(name), expected=expected, score=score)
        for name, table, expected, score in others
    )


def _above(judged: pl.DataFrame) -> pl.DataFrame:
    """Return the difference of two predictors on the same world, in area and in error."""
    of = {
        name: judged.filter(pl.col("forecaster") == name).select(*RUN, "auc", "error")
        for name in (PROGRAM, TRIVIAL, SOFT, TRAINING)
    }
    pairs = ((PROGRAM, TRIVIAL), (SOFT, TRIVIAL), (SOFT, PROGRAM), (TRAINING, SOFT))
    return pl.concat(
        of[one]
        .join(of[other], on=RUN)
        .select(
            *RUN,
            pair=pl.lit(f"{one} above {other}"),
            gain=pl.col("auc") - pl.col("auc_right"),
            spared=pl.col("error_right") - pl.col("error"),
        )
        for one, other in pairs
    )
