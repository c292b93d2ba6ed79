"""Figure 2 of Identity Bridge at all complexities of the paper, from 1 to 8."""

import dataclasses
from itertools import product

import polars as pl
from msgspec.structs import replace

import inweights as iw
from inweights.experiments import Plan, Trial, cosine, share
from inweights.recipes.identity_bridge import common as ib
from inweights.recipes.shared.derived import compositions, excess, memorised

LABELS = ("model", "complexity")
#: Models that are trained at every complexity, and models that are trained at fewer.
SMALL_TIED = "gpt-tied-small"
EVERY = ("emb-mlp", "gpt-tied", SMALL_TIED)
UNTIED = ("gpt", "gpt-small")


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``fig2_every.toml``. A value of the wrong type raises
    a ``ConfigError``; :func:`plan` checks most ranges.

    Attributes:
        n: Number ``N`` of subjects and of objects, at least 2.
        complexities: Values of ``C``, the number of objects per subject (from 1 to
            ``n``), for ``emb-mlp`` and the GPTs with a tied head, ``gpt-tied`` and
            ``gpt-tied-small``.
        untied_complexities: Values of ``C`` for the GPTs with an untied head, ``gpt``
            and ``gpt-small``, whose training takes three times as long.
        gpt: Settings of the GPTs with an untied head, and of their training.
        tied: Settings of the GPTs with a tied head, and of their training. They are
            initialised as in GPT-2, or with small weights.
        emb_mlp: Settings of the Emb-MLP and of its training.
    """

    n: int = 20
    complexities: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 7, 8)
    untied_complexities: tuple[int, ...] = (4, 8)
    gpt: ib.GPTTraining = ib.GPTTraining()
    tied: ib.GPTTraining = replace(
        ib.TIED_HEAD, model=replace(ib.TIED_HEAD.model, depth_scaled=True)
    )
    emb_mlp: ib.EmbMLPTraining = ib.EmbMLPTraining(
        rate=1 / 60, per_fact=True, weight_decay=1e-4, steps=6000
    )


def plan(settings: Settings) -> Plan:
    """Plan training runs of every model on worlds with identities and different complexities.

    Args:
        settings: The recipe's settings, such as ``n``, ``complexities`` and ``tied``;
            :class:`Settings` describes each.

    Returns:
        The plan. The label values listed below are those of the default settings.

        - Labels of the trials: ``model`` (emb-mlp, gpt, gpt-small, gpt-tied; the
          conditions of :func:`~inweights.recipes.identity_bridge.common.trial`; and
          gpt-tied-small, with a tied head and small initialisation) and ``complexity``
          (integer ``C``, the number of objects per subject: 1 to 8).
        - Measure: ``accuracy`` (:func:`inweights.probes.accuracy`).

    Raises:
        ConfigError: ``n`` is below 2, a complexity is not between 1 and ``n``, or a
            value is out of range for a model or its training.
    """
    arms = (
        (EVERY, settings.complexities),
        (UNTIED, settings.untied_complexities),
    )
    trials = []
    for names, complexities in arms:
        trials += [
            _trial(settings, name, c) for c, name in product(complexities, names)
        ]
    return Plan(trials=trials, measures=[iw.probes.accuracy])


def _trial(settings: Settings, name: str, complexity: int) -> Trial:
    """Return the trial of one model at one complexity."""
    tied = settings.tied
    known = name
    if name == SMALL_TIED:
        small = replace(tied.model, init=iw.Init(gamma=tied.small_gamma))
        tied = replace(tied, model=small)
        known = "gpt-tied"
    world = iw.TwoHop(n=settings.n, complexity=complexity)
    trial = ib.trial(
        known, world, settings.gpt, settings.emb_mlp, tied, complexity=complexity
    )
    return dataclasses.replace(trial, labels={**trial.labels, "model": name})


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return accuracy on compositions, its excess over 1/C, and recall of the facts.

    Args:
        tables: The tables that result from :func:`plan`, by name (a run is one trial
            with one seed): ``accuracy`` (:func:`inweights.probes.accuracy`) with the
            columns ``model, complexity, seed, part, role, distribution, statements,
            accuracy, accuracy_among, chance, loss, right_answers``. The labels are
            ``model`` (emb-mlp, gpt, gpt-small, gpt-tied; the conditions are explained
            at :func:`~inweights.recipes.identity_bridge.common.trial`; and
            gpt-tied-small, with a tied head and small initialisation) and
            ``complexity`` (integer ``C``, the number of objects per subject: 1 to 8).
            Accuracies and recall are fractions from 0 to 1.

    Returns:
        - ``compositions``: a row per run, with the accuracy on the compositions, and
          with ``one_over_c`` (1/C, the accuracy of a guess among the ``C`` objects of a
          subject). Columns: all columns of ``accuracy``, plus ``one_over_c``.
        - ``excess``: the rows of ``compositions`` with complexity above 1, with
          ``excess``, the accuracy minus 1/C. Columns: all columns of ``accuracy``, plus
          ``one_over_c, excess``.
        - ``excess_among``: the same, but ``excess`` is ``accuracy_among`` (the accuracy
          if only objects are candidates) minus 1/C. Columns: as in ``excess``.
        - ``memorised``: a row per run, with the lowest ``accuracy`` over the roles
          (kinds) of facts. Columns: ``model, complexity, seed, accuracy``.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    queries = compositions(tables["accuracy"]).with_columns(
        one_over_c=1.0 / pl.col("complexity")
    )
    return {
        "compositions": queries,
        "excess": excess(queries),
        "excess_among": excess(queries, "accuracy_among"),
        "memorised": memorised(tables["accuracy"], LABELS),
    }


C = "complexity"
accuracy = share("compositions", "accuracy")
emb, tied, small_tied = (accuracy.at(model=name) for name in EVERY)
gpt, small = (accuracy.at(model=name) for name in UNTIED)
above = cosine("excess", "excess")
among = share("compositions", "accuracy_among", model="emb-mlp")
above_among = cosine("excess_among", "excess", model="emb-mlp")

SCORES = {
    "non-zero-emb-mlp": emb.over(C) >= 0.05,
    "non-zero-emb-mlp-among": among.over(C) >= 0.05,
    "non-zero-gpt-tied": tied.over(C) >= 0.05,
    "non-zero-gpt-tied-small": small_tied.over(C) >= 0.05,
    "non-zero-gpt": gpt.over(C) >= 0.05,
    "non-zero-gpt-small": small.over(C) >= 0.05,
    "falls-emb-mlp": emb.at(complexity=1) - emb.at(complexity=8) >= 0.5,
    "falls-gpt-tied": tied.at(complexity=1) - tied.at(complexity=8) >= 0.5,
    "together-tied": (tied - emb).over(C).within(-0.2, 0.2),
    "emb-mlp-one-over-c": above_among.over(C).within(-0.1, 0.1),
    "small-above-one-over-c-tied": above.at(model=SMALL_TIED).over(C) >= 0.0,
    "small-above-one-over-c": above.at(model="gpt-small").over(C) >= 0.0,
    "small-degrades-slower-tied": above.at(model=SMALL_TIED)
    - above.at(model="gpt-tied")
    >= 0.15,
    "small-degrades-slower": small - gpt >= 0.15,
    "facts-known": share("memorised", "accuracy").over(*LABELS) >= 0.99,
}
