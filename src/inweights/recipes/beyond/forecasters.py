"""Compute tables that compare four predictors of queries with trained models.

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
#: Beginnings of the names of worlds whose answers are about equally frequent.
_EVEN = ("permuted", "drawn", "real")

RUN = ["seed", "model", "world", "identity", "kind"]


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return the errors of four predictors in each world, and how well each one ranks the queries.

    The predictors (``forecaster``) are ``program (2)`` (Identity Bridge §4.3: least
    nuclear norm with margins of at least 1), ``soft program`` (the same problem with
    weight decay), ``bridge has an identity`` and ``short training`` (the share of
    replicas that answer the query after a short training run).

    Args:
        tables: The tables that result from :func:`~.predicted_composition.plan`, by
            name (a run is one trial with one seed): ``trained``
            (:func:`inweights.probes.margins`, with ``model``), ``accuracy``
            (:func:`inweights.probes.accuracy`, with ``model``), ``predicted``
            (:func:`inweights.theory.predicted_queries`), ``softly`` (the same function
            with weight decay; the table has the column ``model``) and ``tried``
            (:func:`~inweights.audit.prediction.by_training.trained_queries`, with
            ``model``). All have the columns ``world, identity, seed``. ``world`` names
            the family of worlds, ``identity`` is the fraction of bridges with an
            identity (0, 0.5, 1), and ``model`` is ``Emb-MLP`` or ``GPT``. Accuracies
            and recall are fractions from 0 to 1.

    Returns:
        - ``complexity_one``: a row per run on permuted two-hop worlds of complexity
          one, with ``agrees``, the share of queries for which program (2) predicts
          correctly whether they are answered; ``identities`` is ``some`` if half of the
          bridges have identities, otherwise ``all or none``. Columns: ``seed, model,
          world, identity, kind, agrees, identities``.
        - ``by_world``: a row per run and value of ``forecaster``: the mean predicted
          accuracy (``expected``), the share of correct answers (``hit``), and their
          absolute difference (``error``). ``kind`` is ``even`` if the answers of the
          world are about equally frequent, otherwise ``uneven``. Columns: ``seed,
          model, world, identity, kind, forecaster, hit, expected, error``.
        - ``auc``: a row per run and predictor, for runs with both correct and wrong
          answers: area under the ROC curve (``auc``), and the position of the predictor
          in the figure, from 1 (``place``). Columns: ``seed, model, world, identity,
          kind, forecaster, auc, place``.
        - ``above``: a row per run and ``pair`` of predictors: the area under the ROC
          curve of the first minus the area of the second (``gain``), and the error of
          the second minus the error of the first (``spared``). Columns: ``seed, model,
          world, identity, kind, pair, gain, spared``.
        - ``reliability``: a row per seed, model, kind and bin of the margin that
          program (2) predicts
          (:func:`~inweights.recipes.shared.calibration.reliability`). Columns: ``seed,
          model, kind, bin, hit, queries, predicted_margin``.
        - ``map``: ``by_world`` with the areas under the ROC curve (null for runs
          without both correct and wrong answers), ``above_chance`` (the area minus .5),
          and ``cell`` and ``by``, labels for the figure. Columns: ``seed, model, world,
          identity, kind, forecaster, hit, expected, error, auc, cell, by,
          above_chance``.
        - ``memorised``: a row per run, with the lowest ``accuracy`` over the roles
          (kinds) of facts; ``fair`` is false for families in which a prompt has several
          answers among the facts, since the largest logit can give only one of them.
          Columns: ``model, world, identity, seed, accuracy, fair``.

    Raises:
        KeyError: A required table is missing from ``tables``.
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
    """Return a row per query and predictor: the predictor's score and the expected accuracy."""
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
    """Return differences in area and in error between two predictors on the same world."""
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
