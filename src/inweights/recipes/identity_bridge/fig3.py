"""Figure 3 of Identity Bridge: the logit templates of Emb-MLP at complexity one."""

from functools import partial
from itertools import product

import polars as pl

import inweights as iw
from inweights.experiments import Measure, Plan, Trial, number, share
from inweights.recipes.identity_bridge.common import EmbMLPTraining
from inweights.recipes.shared.derived import compositions, memorised
from inweights.recipes.shared.derived_templates import own_peaks

LABELS = ("n", "identity")

#: Names of the tables of templates, and the rows that each contains.
_ROWS = {"tokens": "tokens", "one_hop": "first_hop", "two_hop": "composition"}
#: Table, identity and title of each panel.
_PANELS = (
    ("tokens", True, "(a) single tokens, with identity"),
    ("one_hop", True, "(b) one hop (a, r1), with identity"),
    ("two_hop", True, "(c) two hops (a, r1, r2), with identity"),
    ("tokens", False, "(a′) single tokens, without"),
    ("one_hop", False, "(b′) one hop, without"),
    ("two_hop", False, "(d) two hops, without"),
)


class Size(iw.Config):
    """Size of the world, and the training settings for this size.

    A value of the wrong type raises a ``ConfigError``; ranges are checked when the
    config is used.

    Attributes:
        n: Number ``N`` of subjects and of objects, at least 2.
        training: Settings of the Emb-MLP and of its training.
    """

    n: int
    training: EmbMLPTraining = EmbMLPTraining()


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``fig3.toml``. A value of the wrong type raises a
    ``ConfigError``; :func:`plan` checks most ranges.

    Attributes:
        shown: Number ``N`` of subjects and of objects in the worlds for which
            templates are measured and drawn. It must be the ``n`` of one of ``sizes``;
            otherwise an error is raised before training.
        sizes: All values of ``N``, each with its training settings.
    """

    shown: int = 10
    sizes: tuple[Size, ...] = (
        Size(n=10, training=EmbMLPTraining(rate=1.0, steps=5000)),
        Size(n=20, training=EmbMLPTraining(rate=2.0, steps=5000)),
        Size(n=50, training=EmbMLPTraining(rate=5.0, steps=4000, width=128)),
    )


def plan(settings: Settings) -> Plan:
    """Plan training runs of an Emb-MLP on worlds of several sizes, with and without identities.

    Args:
        settings: The recipe's settings, such as ``shown`` and ``sizes``;
            :class:`Settings` describes each.

    Returns:
        The plan. The label values listed below are those of the default settings.

        - Labels of the trials: ``n`` (``N``: 10, 20, 50) and ``identity`` (Boolean:
          whether the identity facts are in the training set).
        - Measures: ``accuracy`` (:func:`inweights.probes.accuracy`), ``tokens``
          (:func:`inweights.probes.templates` with ``rows="tokens"``; only for ``n``
          10), ``one_hop`` (:func:`inweights.probes.templates` with
          ``rows="first_hop"``; only for ``n`` 10) and ``two_hop``
          (:func:`inweights.probes.templates` with ``rows="composition"``; only for
          ``n`` 10).

    Raises:
        ConfigError: An ``n`` is below 2, or a value is out of range for a model or its
            training.
    """
    trials = [
        Trial(
            labels={"n": size.n, "identity": identity},
            world=iw.TwoHop(n=size.n, complexity=1, identity=identity),
            model=size.training.model,
            learner=size.training.curriculum,
        )
        for size, identity in product(settings.sizes, (True, False))
    ]
    look = partial(Measure, probe=iw.probes.templates, where={"n": settings.shown})
    templates = [
        look(name=name, options={"rows": rows}) for name, rows in _ROWS.items()
    ]
    return Plan(trials=trials, measures=[iw.probes.accuracy, *templates])


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return the templates that the figure shows, statistics of their logits, and accuracies.

    Args:
        tables: The tables that result from :func:`plan`, by name. A run is one trial
            with one seed. All tables have the columns ``n, identity, seed``. Accuracies
            are fractions from 0 to 1.

            - ``accuracy``, from :func:`inweights.probes.accuracy`, with the additional
              columns ``part, role, distribution, statements, accuracy, accuracy_among,
              chance, loss, right_answers``.
            - ``tokens``, from :func:`inweights.probes.templates`, with the additional
              columns ``row, row_group, column, column_group, value, top, answer``.
            - ``one_hop``, from :func:`inweights.probes.templates`, with the additional
              columns ``row, row_group, column, column_group, value, top, answer``.
            - ``two_hop``, from :func:`inweights.probes.templates`, with the additional
              columns ``row, row_group, column, column_group, value, top, answer``.

            The labels are ``n`` (``N``: 10, 20, 50) and ``identity`` (Boolean: whether
            the identity facts are in the training set).

    Returns:
        - ``panels``: the templates of the first seed, with ``panel``, the title of the
          panel that shows them. Columns: all columns of ``tokens``, plus ``panel``.
        - ``peaks``: a row per run, ``row_group`` (``subject`` or ``bridge``) and
          ``column_group`` (``bridge`` or ``object``), with ``own``, the share of the
          rows whose largest logit in that column group is the logit of their own bridge
          or object. Columns: ``seed, n, identity, row_group, column_group, own``.
        - ``selectors``: a row per run and relation (``row_group`` is ``first_relation``
          or ``second_relation``), with ``toward_bridges``, its mean logit of bridges
          minus its mean logit of objects. Columns: ``seed, n, identity, row_group,
          toward_bridges``.
        - ``compositions``: a row per run, with the accuracy on the compositions.
          Columns: all columns of ``accuracy``.
        - ``memorised``: a row per run, with the lowest ``accuracy`` over the roles
          (kinds) of facts. Columns: ``n, identity, seed, accuracy``.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    tokens = tables["tokens"]
    panels = [
        tables[name]
        .filter(pl.col("identity") == identity, pl.col("seed") == tokens["seed"].min())
        .with_columns(panel=pl.lit(title))
        for name, identity, title in _PANELS
    ]
    on_bridges, on_objects = (
        pl.col("value").filter(pl.col("column_group") == group).mean()
        for group in ("bridge", "object")
    )
    relations = tokens.filter(pl.col("row_group").str.ends_with("relation"))
    by_relation = relations.group_by("seed", *LABELS, "row_group", maintain_order=True)
    return {
        "panels": pl.concat(panels),
        "peaks": own_peaks(tokens, ("seed", *LABELS)),
        "selectors": by_relation.agg(toward_bridges=on_bridges - on_objects),
        "compositions": compositions(tables["accuracy"]),
        "memorised": memorised(tables["accuracy"], LABELS),
    }


toward_bridges = number("selectors", "toward_bridges").over("identity")
own_peak = share("peaks", "own")
subject_on_object = own_peak.at(row_group="subject", column_group="object")
accuracy = share("compositions", "accuracy").over("n")

SCORES = {
    "r1-selects-bridges": toward_bridges.at(row_group="first_relation") >= 0.5,
    "r2-selects-objects": toward_bridges.at(row_group="second_relation") <= -0.5,
    "bridge-rows-peak": own_peak.at(identity=True, row_group="bridge").over(
        "column_group"
    )
    >= 0.99,
    "subject-inherits-peak": subject_on_object.at(identity=True) >= 0.99,
    "no-peak-without": subject_on_object.at(identity=False) <= 0.25,
    "composes": accuracy.at(identity=True) >= 0.995,
    "fails-without": accuracy.at(identity=False) <= 0.005,
    "one-hop-known": share("memorised", "accuracy").over(*LABELS) >= 0.999,
}
