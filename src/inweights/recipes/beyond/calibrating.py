"""Compute tables that compare predicted probabilities with trained models.

:mod:`~.calibrated_predictions` uses them. Its claims are about the fit ``pilot``, which
was fitted on worlds with other seeds before the claims were judged. The fit that comes
with the package was fitted on the judged worlds, by ``tests/house/calibration.py`` of
the repository.
"""

import polars as pl

from inweights.recipes.shared.calibration import roc_auc
from inweights.theory import predict
from inweights.theory.prediction.calibration import features as fitting
from inweights.theory.prediction.calibration.fitted import (
    MODELS,
    Calibration,
    calibration,
)
from inweights.worlds.registry import WorldConfig

CALIBRATED = "calibrated"
BASE = "base rate"
IDENTITY = "identity exists"
ALL = "all compose"
PROGRAM = "program (2)"
#: Number of intervals of predicted probabilities for which reliability is computed.
_BINS = 5
# Probabilities are clipped by this, since a wrong 0 or 1 has an infinite log loss.
_EPSILON = 1e-3

_QUERY = ["family", "seed", "prompt", "answer"]
_RUN = ["seed", "model", "family"]


def world_features(world: WorldConfig, *, seed: int = 0) -> pl.DataFrame:
    """Return the features from which probabilities are computed, for each query that chains facts.

    Args:
        world: Config of the world.
        seed: Root seed of the world; by default 0.

    Returns:
        A row per query that chains facts: ``prompt``, ``answer``, ``expected``
        (predicted accuracy) and ``verdict`` (:func:`inweights.theory.predict`), the
        features of
        :func:`~inweights.theory.prediction.calibration.features.query_features` that
        also apply to queries with a single correct answer, and the properties of the
        world, whose names have the prefix ``world_``.

    Raises:
        DataError: An answer has several tokens, or facts contradict each other.
        ConfigError: ``world`` does not define a world, or ``seed`` is negative.

    Example:
        >>> from inweights.worlds import TwoHop
        >>> world_features(TwoHop(n=3), seed=1).height
        3
    """
    made = world.build(seed)
    queries = predict(made, answers="several", advise=False).queries
    features = fitting.query_features(made, queries)
    properties = fitting.properties(made)
    own = {f"world_{name}": pl.lit(properties[name]) for name in fitting.PROPERTIES}
    kept = queries.select("query", "prompt", "answer", "expected", "verdict")
    features = features.drop(fitting.SEVERAL)
    return (
        kept.join(features, on="query", maintain_order="left")
        .with_columns(**own)
        .drop("query")
    )


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return scores of every predictor on each world, from fits that exclude the world's family.

    The predictors are ``calibrated`` (the fitted probabilities), ``base rate`` (mean
    share of correct answers in all other families), ``identity exists`` (1 if the
    query's bridge has an identity, otherwise 0), ``all compose`` (always 1) and
    ``program (2)`` (the accuracy that the program of Identity Bridge §4.3 predicts).

    Args:
        tables: The tables that result from :func:`~.calibrated_predictions.plan`, by
            name: ``answered``
            (:func:`~inweights.audit.prediction.by_training.trained_queries`: ``model,
            predicted, share, lower, upper``), ``features`` (:func:`world_features`:
            ``expected, verdict, margin, identity, identities, common, reached, rivals,
            complexity, steps, world_facts, …``). Both have the columns ``family, seed,
            prompt, answer``. A missing table raises a ``KeyError``.

    Returns:
        - ``scores``: a row per world (family and seed), ``model`` (Emb-MLP or GPT) and
          ``predictor``: number of ``queries``; Brier score (``brier``) and log loss in
          nats (``log_loss``) of its probabilities, for one replica; ``floor`` (the
          Brier score of the true shares), ``auc`` (area under the ROC curve; null if
          all or none are answered), and the means of probability (``said``) and outcome
          (``share``). Columns: ``seed, model, family, predictor, queries, brier, floor,
          log_loss, said, share, auc``.
        - ``overall``: means of these scores over the families, by seed, model and
          predictor. Columns: ``seed, model, predictor, brier, floor, log_loss, auc``.
        - ``gain``: a row per seed, model and ``other`` predictor: its Brier score minus
          the Brier score of ``calibrated``. Columns: ``seed, model, other, gain``.
        - ``reliability``: a row per seed, model and ``bin`` of the probability (of
          width 0.2), as returned by :func:`in_fifths`. Columns: ``seed, model, bin,
          probability, share, queries``.
        - ``errors``: a row per world and model: the absolute ``error`` of the mean
          probability, the error that the fit states for the family (``printed``), and
          ``within``: 1.0 if ``error`` is at most ``printed``, else 0.0. Columns:
          ``seed, model, family, error, printed, within``.
        - ``within``: the means by seed and model. Columns: ``seed, model, within``.
        - ``queries``: a row per query and model: ``share`` of correct replicas,
          calibrated ``probability``, and features. Columns: ``family, seed, prompt,
          answer, model, share, probability, expected, margin, identity, identities,
          common, reached, rivals, complexity, steps, world_facts, world_identities,
          world_evenness, world_shared, world_symmetric, world_several, world_steps``.
    """
    known = calibration("pilot")
    queries, scores = judged(known, joined_queries(tables))
    overall = scores.group_by("seed", "model", "predictor", maintain_order=True).agg(
        pl.col("brier", "floor", "log_loss", "auc").mean()
    )
    ours = overall.filter(predictor=CALIBRATED).select("seed", "model", ours="brier")
    gain = overall.filter(pl.col("predictor") != CALIBRATED).join(
        ours, on=["seed", "model"]
    )
    errors = _errors(queries, known)
    return {
        "scores": scores,
        "overall": overall,
        "gain": gain.select(
            "seed", "model", other="predictor", gain=pl.col("brier") - pl.col("ours")
        ),
        "reliability": in_fifths(queries),
        "errors": errors,
        "within": errors.group_by("seed", "model", maintain_order=True).agg(
            pl.col("within").mean()
        ),
        "queries": queries.select(
            *_QUERY,
            "model",
            "share",
            "probability",
            "expected",
            *fitting.FEATURES,
            *(f"world_{name}" for name in fitting.PROPERTIES),
        ),
    }


def judged(
    known: Calibration, queries: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return queries with their predicted probabilities, and the scores of every predictor.

    Args:
        known: Fits, each of which leaves out one family
            (:func:`~inweights.theory.prediction.calibration.fitted.calibration`). A
            query is predicted by the fit that leaves out its family. If there is none
            for the family, the fit to all families is used.
        queries: A row per query and model, from :func:`joined_queries`.

    Returns:
        The rows of ``queries`` with the probabilities predicted for each model (``by
        Emb-MLP`` and ``by GPT``) and for the model of the row (``probability``); and
        the scores, with the rows and columns of the table ``scores`` of :func:`derive`.
    """
    parts = []
    for (family,), rows in queries.group_by("family", maintain_order=True):
        # For a family that the fit includes, probabilities come from a fit to all
        # others.
        said = known.probabilities(
            rows.with_row_index("query"),
            str(family) if family in known.families else "",
        )
        chosen = pl.coalesce(
            pl.when(pl.col("model") == model).then(pl.col(f"by {model}"))
            for model in MODELS
        )
        parts.append(
            pl.concat(
                [rows, said.drop("query").rename({m: f"by {m}" for m in MODELS})],
                how="horizontal",
            ).with_columns(probability=chosen)
        )
    whole = pl.concat(parts)
    return whole, _scores(_said(whole, _base_rates(whole)))


def joined_queries(tables: dict[str, pl.DataFrame]) -> pl.DataFrame:
    """Return the features of each query, and the share of replicas that answer it correctly.

    Args:
        tables: The tables ``answered`` and ``features``, as the plan of
            :mod:`~.calibrated_predictions` computes them.

    Returns:
        A row per query and model: the columns ``family``, ``seed``, ``prompt``,
        ``answer``, ``model`` and ``share`` (share of trained replicas that answer
        correctly), and the columns of :func:`world_features`, which are null for
        queries without features.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    shares = tables["answered"].select(*_QUERY, "model", "share")
    return shares.join(tables["features"], on=_QUERY, maintain_order="left")


def _base_rates(queries: pl.DataFrame) -> pl.DataFrame:
    """Return the mean share of correct answers over the worlds of all other families."""
    by_world = queries.group_by(*_RUN, maintain_order=True).agg(pl.col("share").mean())
    families = by_world["family"].unique(maintain_order=True)
    return pl.concat(
        by_world.filter(pl.col("family") != family)
        .group_by("model")
        .agg(rate=pl.col("share").mean(), family=pl.lit(family))
        for family in families
    )


def _said(queries: pl.DataFrame, rates: pl.DataFrame) -> pl.DataFrame:
    """Return a row per query and predictor: the probability, and the share of correct answers."""
    rated = queries.join(
        rates, on=["family", "model"], how="left", maintain_order="left"
    )
    by = {
        CALIBRATED: pl.col("probability"),
        BASE: pl.col("rate").fill_null(0.5),
        IDENTITY: (pl.col("identity") == 1).cast(pl.Float64),
        ALL: pl.lit(1.0),
        PROGRAM: pl.col("expected"),
    }
    return pl.concat(
        rated.select(*_RUN, "share", predictor=pl.lit(name), said=expression)
        for name, expression in by.items()
    )


def _scores(said: pl.DataFrame) -> pl.DataFrame:
    """Return the scores of every predictor on each world: Brier score, log loss, area and means.

    The outcome is the answer of one replica. The Brier score is therefore at least 1/4
    for a query that half of the replicas answer.
    """
    share = pl.col("share")
    p = pl.col("said").clip(_EPSILON, 1 - _EPSILON)
    by = [*_RUN, "predictor"]
    scores = said.group_by(by, maintain_order=True).agg(
        queries=pl.len(),
        brier=(
            share * (1 - pl.col("said")) ** 2 + (1 - share) * pl.col("said") ** 2
        ).mean(),
        floor=(share * (1 - share)).mean(),
        log_loss=-(share * p.log() + (1 - share) * (1 - p).log()).mean(),
        said=pl.col("said").mean(),
        share=share.mean(),
    )
    hits = said.with_columns(hit=(share > 0.5).cast(pl.Float64))
    area = roc_auc(hits, "said", "hit", by).drop("place")
    return scores.join(area, on=by, how="left", maintain_order="left")


def in_fifths(queries: pl.DataFrame) -> pl.DataFrame:
    """Return the mean probability and the share of correct answers, in five bins of probability.

    Args:
        queries: A row per query, with ``seed``, ``model``, ``probability`` and
            ``share``.

    Returns:
        A row for each seed, model and non-empty ``bin``, sorted by these three columns:
        mean ``probability``, mean ``share``, and number of ``queries``. Bin ``b`` (0 to
        4) begins at the probability ``b / 5``; the last one includes 1.
    """
    bins = (pl.col("probability") * _BINS).floor().clip(0, _BINS - 1).cast(pl.Int64)
    return (
        queries.with_columns(bin=bins)
        .group_by("seed", "model", "bin", maintain_order=True)
        .agg(pl.col("probability", "share").mean(), queries=pl.len())
        .sort("seed", "model", "bin")
    )


def _errors(queries: pl.DataFrame, known: Calibration) -> pl.DataFrame:
    """Return the error of each world's mean probability, and the error that the fit states."""
    printed = []
    for name, family in known.families.items():
        printed += [(name, model, error) for model, error in family.error.items()]
    schema = {"family": pl.String, "model": pl.String, "printed": pl.Float64}
    off = (pl.col("probability").mean() - pl.col("share").mean()).abs()
    return (
        queries.group_by(*_RUN, maintain_order=True)
        .agg(error=off)
        .join(
            pl.DataFrame(printed, schema, orient="row"),
            on=["family", "model"],
            how="left",
            maintain_order="left",
        )
        .with_columns(within=(pl.col("error") <= pl.col("printed")).cast(pl.Float64))
    )
