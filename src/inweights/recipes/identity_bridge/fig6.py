"""Figure 6 of Identity Bridge: geometry of hidden states, layer by layer, at high complexity."""

import polars as pl

import inweights as iw
from inweights.experiments import Judged, Measure, Plan, Score, cosine, number, share
from inweights.recipes.identity_bridge import common as ib
from inweights.recipes.shared.derived import (
    compositions,
    memorised,
    over_blocks,
    where_known,
)


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``fig6.toml``. A value of the wrong type raises a
    ``ConfigError``; :func:`plan` checks most ranges.

    Attributes:
        n: Number ``N`` of subjects and of objects, at least 2.
        complexity: ``C``, the number of objects that a subject leads to, from 1 to
            ``n``.
        models: Names of the conditions, as in Figure 2: ``emb-mlp``, ``gpt``,
            ``gpt-small``, ``gpt-tied``, ``gpt-tied-decay``.
        gpt: Settings of the GPTs with an untied head, and of their training.
        tied: Settings of the GPTs with a tied head, and of their training.
    """

    n: int = 20
    complexity: int = 3
    models: tuple[str, ...] = ib.CONDITIONS[1:]
    gpt: ib.GPTTraining = ib.GPTTraining()
    tied: ib.GPTTraining = ib.TIED_HEAD


def plan(settings: Settings) -> Plan:
    """Plan training runs of several GPTs on one world with identities.

    Args:
        settings: The recipe's settings, such as ``n``, ``complexity`` and ``models``;
            :class:`Settings` describes each.

    Returns:
        The plan. The label values listed below are those of the default settings.

        - Label of the trials: ``model`` (gpt, gpt-small, gpt-tied, gpt-tied-decay; the
          conditions of :func:`~inweights.recipes.identity_bridge.common.trial`).
        - Measures: ``accuracy`` (:func:`inweights.probes.accuracy`), ``alignment``
          (:func:`inweights.probes.alignment`) and ``states``
          (:func:`inweights.probes.bridge_projection`; only for the first seed).

    Raises:
        ConfigError: ``models`` contains an unknown condition, ``n`` is below 2,
            ``complexity`` is not between 1 and ``n``, or a value is out of range for a
            model or its training.
    """
    world = iw.TwoHop(n=settings.n, complexity=settings.complexity)
    training = settings.gpt, ib.EmbMLPTraining(), settings.tied
    trials = [ib.trial(name, world, *training) for name in settings.models]
    measures = [
        Measure(name="accuracy", probe=iw.probes.accuracy),
        Measure(name="alignment", probe=iw.probes.alignment),
        Measure(
            name="states",
            probe=iw.probes.bridge_projection,
            first_seed=True,
            needs="tsne",
        ),
    ]
    return Plan(trials=trials, measures=measures)


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return the mean alignment over the blocks, and the trustworthiness of each projection.

    Args:
        tables: The tables that result from :func:`plan`, by name. A run is one trial
            with one seed. All tables have the columns ``model, seed``. Accuracies and
            recall are fractions from 0 to 1.

            - ``accuracy``, from :func:`inweights.probes.accuracy`, with the additional
              columns ``part, role, distribution, statements, accuracy, accuracy_among,
              chance, loss, right_answers``.
            - ``alignment``, from :func:`inweights.probes.alignment`, with the
              additional columns ``place, layer, depth, cosine, other, contrast,
              nearest``.
            - ``states``, from :func:`inweights.probes.bridge_projection`, with the
              additional columns ``pair, kind, layer, depth, x, y, trustworthiness``.

            The label is ``model`` (gpt, gpt-small, gpt-tied, gpt-tied-decay; the
            conditions are explained at
            :func:`~inweights.recipes.identity_bridge.common.trial`).

    Returns:
        - ``states``: two-dimensional projections of hidden states, with ``note``, which
          states their trustworthiness for the figure. Columns: all columns of the
          measured ``states``, plus ``note``.
        - ``alignment``: a row per run, place in the prompt and layer, with
          ``compared``, the two prompts whose states are compared, in symbols for the
          figure. Columns: all columns of the measured ``alignment``, plus ``compared``.
        - ``by_model``: a row per run and value of ``place`` (``first_hop`` or
          ``query``), with the means over the blocks of ``cosine``, ``contrast`` and
          ``nearest``.
          Columns: ``model, seed, place, cosine, contrast, nearest``.
        - ``known``: a row per run, with the accuracy on the compositions, and with
          ``recall``, the lowest accuracy of the run over the roles (kinds) of facts.
          ``accuracy`` is NaN if ``recall`` is below 0.99. Columns: all columns of
          ``accuracy``, plus ``recall``.
        - ``memorised``: a row per run, with the lowest ``accuracy`` over the roles
          (kinds) of facts. Columns: ``model, seed, accuracy``.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    # Neighbours in the plane need not be neighbours in the hidden states. The note in
    # the picture states how far the projection can be trusted.
    trust = pl.format("trustworthiness {}", pl.col("trustworthiness").round(2))
    r1 = pl.when(pl.col("place") == "first_hop").then(pl.lit("(e1, r1) and (e2)"))
    compared = r1.otherwise(pl.lit("(e1, r1, r2) and (e2, r2)"))
    return {
        "states": tables["states"].with_columns(note=trust),
        "alignment": tables["alignment"].with_columns(compared=compared),
        "by_model": over_blocks(
            tables["alignment"],
            ("cosine", "contrast", "nearest"),
            ("model", "seed", "place"),
        ),
        "known": where_known(
            compositions(tables["accuracy"]), tables["accuracy"], ("model",)
        ),
        "memorised": memorised(tables["accuracy"], ("model",)),
    }


accuracy = share("known", "accuracy")
cosines = cosine("by_model", "cosine")
contrast = number("by_model", "contrast")


def tighter(more: str, less: str, place: str) -> list[Score]:
    """Return scores that compare the alignment and the contrast of two models.

    Args:
        more: Value of the label ``model`` for the model whose values are expected to be
            larger.
        less: Value of the label ``model`` for the model whose values are subtracted.
        place: Place in the prompt: ``first_hop`` (``(e1, r1)``) or ``query`` (``(e1,
            r1, r2)``).

    Returns:
        Two scores: the mean cosine over the blocks of ``more`` minus the mean over the
        blocks of ``less``, and the same difference for the contrast.
    """
    both = [score.at(place=place) for score in (cosines, contrast)]
    return [score.at(model=more) - score.at(model=less) for score in both]


SCORES: dict[str, Judged] = {}
#: Pairs of a model with a kind of regularisation and the model without it.
for name, (more, less) in {
    "small": ("gpt-small", "gpt"),
    "decay": ("gpt-tied-decay", "gpt-tied"),
}.items():
    closer, sharper = tighter(more, less, place="first_hop")
    SCORES[f"{name}-tighter"] = closer >= 0.01
    SCORES[f"{name}-tighter-contrast"] = sharper >= 0.01
    SCORES[f"{name}-recovers"] = (
        accuracy.at(model=more) - accuracy.at(model=less) >= 0.1
    )
closer, sharper = tighter("gpt-small", "gpt", place="query")
SCORES |= {
    "small-tighter-at-answer-cosine": closer >= 0.01,
    "small-tighter-at-answer-contrast": sharper >= 0.01,
    "facts-known": share("memorised", "accuracy").over("model") >= 0.99,
}
