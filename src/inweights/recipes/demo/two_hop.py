"""The demonstration: show within a minute what identity facts do to two-hop reasoning."""

from itertools import product

import polars as pl

import inweights as iw
from inweights.config import check_size
from inweights.config.ranges import PositiveInt
from inweights.experiments import Measure, Plan, share
from inweights.recipes.identity_bridge import common as ib
from inweights.recipes.shared.derived import compositions

#: Label in the figure for each role whose recall is drawn over training.
_ASKED = {
    "first_hop": "(a, r1) → b",
    "second_hop": "(b, r2) → c",
    "composition": "(a, r1, r2) → c, never trained",
}


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``two_hop.toml``. A value of the wrong type raises a
    ``ConfigError``; :func:`plan` checks most ranges.

    Attributes:
        n: Number ``N`` of subjects and of objects, at least 2.
        models: Names of the conditions, at least one: ``emb-mlp``, ``gpt``,
            ``gpt-small``, ``gpt-tied``, ``gpt-tied-decay`` or ``gpt-fixed``, as in
            Figure 2 of Identity Bridge. Learning curves are measured for the last name
            only.
        every: Number of steps between measurements, at least 1.
        gpt: Settings of the GPT and of its training.
        emb_mlp: Settings of the Emb-MLP and of its training.
    """

    n: int = 20
    models: tuple[str, ...] = ("emb-mlp", "gpt-small")
    every: PositiveInt = 10
    gpt: ib.GPTTraining = ib.NARROW
    emb_mlp: ib.EmbMLPTraining = ib.EmbMLPTraining(steps=2000)


def plan(settings: Settings) -> Plan:
    """Plan training runs of an Emb-MLP and a GPT, with and without identity facts.

    Args:
        settings: The recipe's settings, such as ``n``, ``models`` and ``every``;
            :class:`Settings` describes each.

    Returns:
        The plan. The label values listed below are those of the default settings.

        - Labels of the trials: ``model`` (emb-mlp, gpt-small; the conditions of
          :func:`~inweights.recipes.identity_bridge.common.trial`) and ``identity``
          (Boolean: whether the identity facts are in the training set).
        - Measures: ``accuracy`` (:func:`inweights.probes.accuracy`), ``curves``
          (:func:`inweights.probes.accuracy`; during training, only if ``model`` is
          ``gpt-small``) and ``two_hop`` (:func:`inweights.probes.templates` with
          ``rows="composition"``; only if ``model`` is ``emb-mlp``, and only for the
          first seed).

        ``curves`` is measured every ``every`` steps, for the last of ``models``.

    Raises:
        ConfigError: ``models`` contains an unknown condition, ``n`` is below 2,
            ``every`` is negative, or a value is out of range for a model or its
            training.
    """
    check_size("the number of models", len(settings.models))
    training = settings.gpt, settings.emb_mlp
    trials = [
        ib.trial(
            name,
            iw.TwoHop(n=settings.n, identity=identity),
            *training,
            identity=identity,
        )
        for name, identity in product(settings.models, (True, False))
    ]
    return Plan(
        trials=trials,
        measures=[
            iw.probes.accuracy,
            Measure(
                name="curves",
                probe=iw.probes.accuracy,
                every=settings.every,
                where={"model": settings.models[-1]},
            ),
            Measure(
                name="two_hop",
                probe=iw.probes.templates,
                options={"rows": "composition"},
                where={"model": "emb-mlp"},
                first_seed=True,
            ),
        ],
    )


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return accuracies on compositions, learning curves, and the templates of the Emb-MLP.

    Args:
        tables: The tables that result from :func:`plan`, by name. A run is one trial
            with one seed. All tables have the columns ``model, identity, seed``.
            Accuracies and recall are fractions from 0 to 1.

            - ``accuracy``, from :func:`inweights.probes.accuracy`, with the additional
              columns ``part, role, distribution, statements, accuracy, accuracy_among,
              chance, loss, right_answers``.
            - ``curves``, from :func:`inweights.probes.accuracy`, with the additional
              columns ``part, role, distribution, statements, accuracy, accuracy_among,
              chance, loss, right_answers, step``.
            - ``two_hop``, from :func:`inweights.probes.templates`, with the additional
              columns ``row, row_group, column, column_group, value, top, answer``.

            The labels are ``model`` (emb-mlp, gpt-small; the conditions are explained
            at :func:`~inweights.recipes.identity_bridge.common.trial`) and ``identity``
            (Boolean: whether the identity facts are in the training set).

    Returns:
        - ``compositions``: a row per run, with the accuracy on the compositions.
          Columns: all columns of ``accuracy``.
        - ``learning``: a row per run, step and role (first hop, second hop,
          composition), with the accuracy and with labels for the figure: ``bridge``
          (``with b → b`` or ``without``) and ``asked`` (the role in symbols, such as
          ``(a, r1) → b``). Columns: all columns of ``curves``, plus ``bridge, asked``.
        - ``panels``: a row per prompt and output of an Emb-MLP, with its template (the
          logit of this output) and ``panel`` (``with b → b`` or ``without``). Columns:
          all columns of ``two_hop``, plus ``panel``.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    given = pl.when("identity").then(pl.lit("with b → b")).otherwise(pl.lit("without"))
    asked = pl.col("role").replace_strict(_ASKED, default=None)
    curves = tables["curves"].filter(pl.col("role").is_in(list(_ASKED)))
    return {
        "compositions": compositions(tables["accuracy"]),
        "learning": curves.with_columns(bridge=given, asked=asked),
        "panels": tables["two_hop"].with_columns(panel=given),
    }


accuracy = share("compositions", "accuracy").over("model")

SCORES = {
    "with-identity": accuracy.at(identity=True) >= 0.9,
    "without-identity": accuracy.at(identity=False) <= 0.15,
}
