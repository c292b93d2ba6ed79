"""Figure 2 of Identity Bridge: accuracy on unseen compositions by the complexity of the world."""

from itertools import product

import polars as pl

import inweights as iw
from inweights.experiments import Plan, cosine, share
from inweights.recipes.identity_bridge import common as ib
from inweights.recipes.shared.derived import (
    compositions,
    excess,
    memorised,
    where_known,
)

LABELS = ("model", "identity", "complexity")


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``fig2.toml``. A value of the wrong type raises a
    ``ConfigError``; :func:`plan` checks most ranges.

    Attributes:
        n: Number ``N`` of subjects and of objects, at least 2.
        complexities: Values of ``C``, the number of objects per subject (from 1 to
            ``n``), in worlds with identities.
        controls: Values of ``C`` in worlds without identities.
        models: Models with an untied head: ``emb-mlp``, ``gpt``, ``gpt-small``.
        tied_models: Models with a tied head: ``gpt-tied``, ``gpt-tied-decay``.
        tied_complexities: Values of ``C`` in worlds with identities, for models with a
            tied head.
        tied_controls: Values of ``C`` in worlds without identities, for models with a
            tied head.
        fixed_complexities: Values of ``C`` in worlds with identities, for
            ``gpt-fixed``, whose sequences all start at the first position.
        gpt: Settings of the GPTs with an untied head, and of their training.
        tied: Settings of the GPTs with a tied head, and of their training.
        emb_mlp: Settings of the Emb-MLP and of its training.
    """

    n: int = 20
    complexities: tuple[int, ...] = (1, 2, 3, 5)
    controls: tuple[int, ...] = (1,)
    models: tuple[str, ...] = ib.CONDITIONS[:3]
    tied_models: tuple[str, ...] = ib.CONDITIONS[3:]
    tied_complexities: tuple[int, ...] = (3,)
    tied_controls: tuple[int, ...] = (1,)
    fixed_complexities: tuple[int, ...] = (1,)
    gpt: ib.GPTTraining = ib.GPTTraining()
    tied: ib.GPTTraining = ib.TIED_HEAD
    emb_mlp: ib.EmbMLPTraining = ib.EmbMLPTraining(
        rate=1 / 30, per_fact=True, weight_decay=1e-4, steps=3000
    )


def plan(settings: Settings) -> Plan:
    """Plan training runs of every model on worlds with and without identities.

    Args:
        settings: The recipe's settings, such as ``n``, ``complexities`` and
            ``controls``; :class:`Settings` describes each.

    Returns:
        The plan. The label values listed below are those of the default settings.

        - Labels of the trials: ``model`` (emb-mlp, gpt, gpt-small, gpt-tied,
          gpt-tied-decay, gpt-fixed; the conditions of
          :func:`~inweights.recipes.identity_bridge.common.trial`), ``identity``
          (Boolean: whether the identity facts are in the training set), and
          ``complexity`` (integer ``C``, the number of objects per subject: 1, 2, 3, 5).
        - Measure: ``accuracy`` (:func:`inweights.probes.accuracy`).

    Raises:
        ConfigError: The name of a model is unknown, ``n`` is below 2, a complexity is
            not between 1 and ``n``, or a value is out of range for a model or its
            training.
    """
    training = settings.gpt, settings.emb_mlp, settings.tied
    arms = (
        (settings.models, True, settings.complexities),
        (settings.models, False, settings.controls),
        (settings.tied_models, True, settings.tied_complexities),
        (settings.tied_models, False, settings.tied_controls),
        ((ib.FIXED,), True, settings.fixed_complexities),
    )
    trials = []
    for names, identity, complexities in arms:
        for c, name in product(complexities, names):
            world = iw.TwoHop(n=settings.n, complexity=c, identity=identity)
            trials.append(
                ib.trial(name, world, *training, identity=identity, complexity=c)
            )
    return Plan(trials=trials, measures=[iw.probes.accuracy])


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return accuracy on compositions, its excess over 1/C, and recall of the facts.

    Args:
        tables: The tables that result from :func:`plan`, by name (a run is one trial
            with one seed): ``accuracy`` (:func:`inweights.probes.accuracy`) with the
            columns ``model, identity, complexity, seed, part, role, distribution,
            statements, accuracy, accuracy_among, chance, loss, right_answers``. The
            labels are ``model`` (emb-mlp, gpt, gpt-small, gpt-tied, gpt-tied-decay,
            gpt-fixed; the conditions are explained at
            :func:`~inweights.recipes.identity_bridge.common.trial`), ``identity``
            (Boolean: whether the identity facts are in the training set), and
            ``complexity`` (integer ``C``, the number of objects per subject: 1, 2, 3,
            5). Accuracies and recall are fractions from 0 to 1.

    Returns:
        - ``compositions``: a row per run, with the accuracy on the compositions outside
          the training distribution, and with ``one_over_c`` (1/C, the accuracy of a
          guess among the ``C`` objects of a subject) and ``bridge`` (``with identity``
          or ``without identity``, for figures). Columns: all columns of ``accuracy``,
          plus ``one_over_c, bridge``.
        - ``excess``: the rows of ``compositions`` with complexity above 1, with
          ``excess``, the accuracy minus 1/C. Columns: all columns of ``accuracy``, plus
          ``one_over_c, excess``.
        - ``memorised``: a row per run, with the lowest ``accuracy`` over the roles
          (kinds) of facts. Columns: ``model, identity, complexity, seed, accuracy``.
        - ``known``: the rows of ``compositions``, with ``recall``, the lowest accuracy
          of the run over the roles (kinds) of facts. ``accuracy`` is NaN if ``recall``
          is below 0.99. Columns: all columns of ``accuracy``, plus ``one_over_c,
          recall``.
        - ``controls``: the rows of ``compositions`` without identity, with ``head``
          (``tied`` or ``untied``). Columns: all columns of ``accuracy``, plus
          ``one_over_c, head``.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    queries = compositions(tables["accuracy"]).with_columns(
        one_over_c=1.0 / pl.col("complexity")
    )
    given = (
        pl.when("identity")
        .then(pl.lit("with identity"))
        .otherwise(pl.lit("without identity"))
    )
    return {
        "compositions": queries.with_columns(bridge=given),
        "excess": excess(queries),
        "memorised": memorised(tables["accuracy"], LABELS),
        "known": where_known(queries, tables["accuracy"], LABELS),
        "controls": queries.filter(~pl.col("identity")).with_columns(
            head=pl.when(pl.col("model").str.starts_with("gpt-tied"))
            .then(pl.lit("tied"))
            .otherwise(pl.lit("untied"))
        ),
    }


C = "complexity"
accuracy = share("compositions", "accuracy")
emb, gpt, small = (
    accuracy.at(model=model, identity=True) for model in ib.CONDITIONS[:3]
)
known = share("known", "accuracy", identity=True, complexity=3)
emb_excess, small_excess = (
    cosine("excess", "excess", model=model, identity=True)
    for model in ("emb-mlp", "gpt-small")
)
control = share("controls", "accuracy").over("model", C)

SCORES = {
    "non-zero-gpt": gpt.over(C) >= 0.05,
    "non-zero-gpt-small": small.over(C) >= 0.05,
    "non-zero-emb-mlp": emb.over(C) >= 0.05,
    "c1-emb-mlp": emb.at(complexity=1) >= 0.99,
    "c1-gpt": gpt.at(complexity=1) >= 0.9,
    "c1-gpt-small": small.at(complexity=1) >= 0.95,
    "falls-emb-mlp": emb.at(complexity=1) - emb.at(complexity=5) >= 0.5,
    "falls-gpt": gpt.at(complexity=1) - gpt.at(complexity=5) >= 0.5,
    "together": (gpt - emb).over(C).within(-0.2, 0.2),
    "emb-mlp-one-over-c": emb_excess.over(C).within(-0.1, 0.1),
    "small-above-one-over-c": small_excess.over(C) >= 0.0,
    "small-degrades-slower": small.at(complexity=3) - gpt.at(complexity=3) >= 0.15,
    "decay-recovers": known.at(model="gpt-tied-decay") - known.at(model="gpt-tied")
    >= 0.05,
    "without-identity-fails": control.at(head="untied") <= 0.15,
    "without-identity-fails-tied": control.at(head="tied") <= 0.15,
    "random-positions-help": gpt.at(complexity=1)
    - accuracy.at(model=ib.FIXED, complexity=1)
    >= 0.05,
    "facts-known": share("memorised", "accuracy").over(*LABELS) >= 0.99,
}
