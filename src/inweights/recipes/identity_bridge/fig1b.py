"""Figure 1b of Identity Bridge, from scratch: half of the two-hop facts, and all identities."""

from itertools import product

import polars as pl

import inweights as iw
from inweights.experiments import Plan, share
from inweights.recipes.identity_bridge import common as ib
from inweights.recipes.shared.derived import memorised

LABELS = ("model", "relations", "told", "identity")


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``fig1b.toml``. A value of the wrong type raises a
    ``ConfigError``; :func:`plan` checks most ranges.

    Attributes:
        n: Number ``N`` of subjects, and also of bridges and of objects; at least 2.
        relations: Numbers of second relations ``|R2|``, each from 1 to ``n``. A subject
            leads to one object through each second relation.
        told: Fractions of the two-hop facts that are in the training set, each at least
            0 and below 1.
        models: Names of the conditions, as in Figure 2: ``emb-mlp``, ``gpt``,
            ``gpt-small``, ``gpt-tied``, ``gpt-tied-decay``.
        gpt: Settings of the GPT and of its training.
        emb_mlp: Settings of the Emb-MLP and of its training.
    """

    n: int = 20
    relations: tuple[int, ...] = (1, 2)
    told: tuple[float, ...] = (0.5,)
    models: tuple[str, ...] = ("emb-mlp", "gpt")
    gpt: ib.GPTTraining = ib.GPTTraining(model=iw.GPTConfig(tied=False))
    emb_mlp: ib.EmbMLPTraining = ib.EmbMLPTraining(
        rate=1 / 30, per_fact=True, steps=3000
    )


def plan(settings: Settings) -> Plan:
    """Plan training runs of every model for each number of second relations.

    Args:
        settings: The recipe's settings, such as ``n``, ``relations`` and ``told``;
            :class:`Settings` describes each.

    Returns:
        The plan. The label values listed below are those of the default settings.

        - Labels of the trials: ``model`` (emb-mlp, gpt; the conditions of
          :func:`~inweights.recipes.identity_bridge.common.trial`), ``relations``
          (number of second relations: 1, 2), ``told`` (fraction of the two-hop facts
          that are in the training set: 0.5), and ``identity`` (Boolean: whether the
          identity facts are in the training set).
        - Measure: ``accuracy`` (:func:`inweights.probes.accuracy`).

    Raises:
        ConfigError: ``models`` contains an unknown condition, ``n`` is below 2, a
            number of relations is not between 1 and ``n``, a fraction is outside ``[0,
            1)``, or a value is out of range for a model or its training.
    """
    training = settings.gpt, settings.emb_mlp
    trials = []
    for several, told, identity, name in product(
        settings.relations, settings.told, (True, False), settings.models
    ):
        world = iw.TwoHop(
            n=settings.n,
            complexity=several,
            first_relations=1,
            second_relations=several,
            maps="permutation",
            trained=told,
            identity=identity,
        )
        trials.append(
            ib.trial(
                name, world, *training, relations=several, told=told, identity=identity
            )
        )
    return Plan(trials=trials, measures=[iw.probes.accuracy])


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return accuracy on the two-hop queries and recall of the facts.

    Args:
        tables: The tables that result from :func:`plan`, by name (a run is one trial
            with one seed): ``accuracy`` (:func:`inweights.probes.accuracy`), with the
            columns ``model, relations, told, identity, seed, part, role, distribution,
            statements, accuracy, accuracy_among, chance, loss, right_answers``. The
            labels are ``model`` (emb-mlp, gpt; the conditions are explained at
            :func:`~inweights.recipes.identity_bridge.common.trial`), ``relations``
            (number of second relations: 1, 2), ``told`` (fraction of the two-hop facts
            that are in the training set: 0.5), and ``identity`` (Boolean: whether the
            identity facts are in the training set). Accuracies and recall are fractions
            from 0 to 1.

    Returns:
        - ``queries``: a row per run and ``distribution`` of the two-hop queries, with
          the ``accuracy``. ``distribution`` is ``in`` for queries through a bridge if
          some two-hop facts of this bridge are in the training data, and ``out`` for
          all other queries. Columns: all columns of ``accuracy``.
        - ``shown``: the same rows with labels for the figure: ``given`` (``with
          identity`` or ``without``) and ``world`` (a string that states the number of
          second relations, whether training includes two-hop facts, and the distribution).
          Columns: all columns of ``accuracy``, plus ``given, world``.
        - ``memorised``: a row per run, with the lowest ``accuracy`` over the roles
          (kinds) of facts. Columns: ``model, relations, told, identity, seed,
          accuracy``.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    queries = tables["accuracy"].filter(pl.col("part") == "queries")
    given = (
        pl.when("identity").then(pl.lit("with identity")).otherwise(pl.lit("without"))
    )
    half = (
        pl.when(pl.col("told") > 0)
        .then(pl.lit("half told"))
        .otherwise(pl.lit("none told"))
    )
    out = pl.col("distribution") == "out"
    asked = pl.when(out).then(pl.lit("out of")).otherwise(pl.lit("in"))
    return {
        "queries": queries,
        "shown": queries.with_columns(
            given=given,
            world=pl.format("|R2| = {}, {}, {} distribution", "relations", half, asked),
        ),
        "memorised": memorised(tables["accuracy"], LABELS),
    }


out = share("queries", "accuracy", distribution="out")
one, two = (out.at(relations=several) for several in (1, 2))
known = share("memorised", "accuracy").over("relations", "told", "identity")

SCORES = {
    "two-hops-do-not-help": one.at(identity=False).over("model", "told") <= 0.1,
    "identity-helps": one.at(identity=True).over("model", "told") >= 0.9,
    "several-relations-fail-without": two.at(identity=False).over("model", "told")
    <= 0.1,
    "several-relations-bridge": two.at(identity=True, model="gpt").over("told") >= 0.75,
    "several-relations-add": two.at(identity=True, model="emb-mlp")
    .over("told")
    .within(0.3, 0.6),
    "facts-known-gpt": known.at(model="gpt") >= 0.99,
    "facts-known-emb-mlp": known.at(model="emb-mlp", relations=1) >= 0.99,
}
