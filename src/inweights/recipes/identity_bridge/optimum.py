"""Compute the optimum of program (2), for Figures 4 and 5 of Identity Bridge.

Program (2) of Identity Bridge (§4.3) minimises the nuclear norm of the matrix of
logits, subject to a margin of at least 1 for every training fact.
"""

from functools import partial

import polars as pl

import inweights as iw
from inweights.experiments import Computation, Measure, Optimum, Plan, Trial, computed
from inweights.recipes.shared.derived import compositions, extremes
from inweights.recipes.shared.derived_templates import blocks, own_peaks
from inweights.theory.identity_bridge.proof import known_norm

#: Roles whose templates are drawn, each with the title of its panel.
_PANELS = {
    "tokens": "(a) single tokens: the rows of W",
    "first_hop": "(b) one hop (a, r1)",
    "composition": "(c) two hops (a, r1, r2)",
}


class Settings(iw.Config):
    """Settings of the recipes for Figures 4 and 5.

    A value of the wrong type raises a ``ConfigError``; :func:`plan` checks most ranges.

    Attributes:
        n: ``N``, the number of subjects and of objects in the world whose templates are
            drawn; at least 2.
        sizes: All values of ``N`` for which the optimum is computed, each at least 2.
        gap: Largest accepted relative duality gap of a solution, at least 1e-7 and
            below 1.
    """

    n: int = 10
    sizes: tuple[int, ...] = (5, 10, 20, 50)
    gap: float = 1e-5


def plan(settings: Settings, identity: bool) -> Plan:
    """Plan the computation of the optimum of program (2) for every size; no model is trained.

    Program (2) of Identity Bridge (§4.3) minimises the nuclear norm of the matrix of
    logits, subject to a margin of at least 1 for every training fact.

    Args:
        settings: Settings of the recipe. ``n`` and ``sizes`` are numbers of subjects;
            ``gap`` is the largest accepted relative duality gap of the solutions.
        identity: Whether the identity facts are in the training set.

    Returns:
        The plan.

        - Label of the trials: ``n`` (``settings.n`` and all ``sizes``). In each trial,
          program (2) is solved and no model is trained. Trials are run only for the
          first seed.
        - Measures: ``tokens``, ``first_hop`` and ``composition``
          (:func:`inweights.probes.templates`, each with its name as the argument
          ``rows``; the last two only for ``settings.n``), ``margins``
          (:func:`inweights.probes.margins`) and ``norms``
          (:func:`inweights.probes.nuclear_norm`).
        - Computation: ``bounds``
          (:func:`~inweights.theory.identity_bridge.proof.known_norm`), also with the
          label ``n``.

    Raises:
        ConfigError: ``n`` or one of ``sizes`` is below 2, or ``gap`` is outside
            ``[1e-7, 1)``.
    """
    sizes = dict.fromkeys([settings.n, *settings.sizes])
    trials = [
        Trial(
            labels={"n": n},
            world=iw.TwoHop(n=n, complexity=1, identity=identity),
            learner=Optimum(gap=settings.gap),
        )
        for n in sizes
    ]
    # The optimum does not depend on the seed, so that it is measured for one seed only.
    look = partial(Measure, first_seed=True)
    drawn = partial(look, probe=iw.probes.templates, where={"n": settings.n})
    measures = [
        look(name="tokens", probe=iw.probes.templates, options={"rows": "tokens"}),
        look(name="margins", probe=iw.probes.margins),
        look(name="norms", probe=iw.probes.nuclear_norm),
        *(
            drawn(name=rows, options={"rows": rows})
            for rows in ("first_hop", "composition")
        ),
    ]
    bound = partial(Computation, name="bounds", compute=known_norm)
    bounds = [
        bound(labels={"n": n}, options={"n": n, "identity": identity}) for n in sizes
    ]
    return Plan(trials=trials, measures=measures, computations=bounds)


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return the templates of the optimum, statistics of their logits, margins and norms.

    Args:
        tables: The tables that result from :func:`plan`, by name. All tables have the
            columns ``n, seed``.

            - ``tokens``, with the additional columns ``row, row_group, column,
              column_group, value, top, answer``.
            - ``margins``, with the additional columns ``part, role, distribution,
              prompt, answer, predicted, margin, margin_among, right_answers``.
            - ``norms``, with the additional columns ``least_margin, norm``.
            - ``first_hop``, with the additional columns ``row, row_group, column,
              column_group, value, top, answer``.
            - ``composition``, with the additional columns ``row, row_group, column,
              column_group, value, top, answer``.
            - ``bounds``, with the additional columns ``check, value``.

            The label ``n`` is the number of subjects of the world.

    Returns:
        - ``panels``: the templates of the world in the figure, with ``panel``, the
          title of the panel that shows them. Columns: ``n, seed, row, row_group,
          column, column_group, value, top, answer, panel``.
        - ``peaks``: a row per ``n``, ``row_group`` (``subject`` or ``bridge``) and
          ``column_group`` (``bridge`` or ``object``), with ``own``, the share of the
          rows whose largest logit in that column group is the logit of their own bridge
          or object. Columns: ``seed, n, row_group, column_group, own``.
        - ``blocks``: a row per ``n``, ``row_group`` and ``column_group``, as returned
          by :func:`~inweights.recipes.shared.derived_templates.blocks`: ``contrast``
          (the mean of the own logits minus the mean of the other logits) and ``spread``
          (the range of the other logits). Columns: ``seed, n, row_group, column_group,
          contrast, spread``.
        - ``extremes``: a row per ``n``, with the ``least`` and the ``largest`` margin
          over the compositions. Columns: ``n, seed, least, largest``.
        - ``norms``: a row per ``n``, with the nuclear norm of the solution (``norm``),
          the proven least norm (``bound``) and ``gap``, which is ``1 - bound / norm``.
          Columns: ``n, seed, least_margin, norm, bound, gap``.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    bounds = tables["bounds"].select("n", bound="value")
    shown = tables["composition"]["n"].min()
    return {
        "panels": pl.concat(
            tables[rows].filter(pl.col("n") == shown).with_columns(panel=pl.lit(title))
            for rows, title in _PANELS.items()
        ),
        "peaks": own_peaks(tables["tokens"], ("seed", "n")),
        "blocks": blocks(tables["tokens"], ("seed", "n")),
        "extremes": extremes(compositions(tables["margins"]), ("n",)),
        "norms": tables["norms"]
        .join(bounds, on="n")
        .with_columns(gap=1.0 - pl.col("bound") / pl.col("norm")),
    }


peak = computed("peaks", "own")
block = computed("blocks", "contrast").over("n")
#: Smallest and largest margin over all compositions of a world.
least = computed("extremes", "least").over("n")
most = least.of("largest")
gap = computed("norms", "gap").over("n")
