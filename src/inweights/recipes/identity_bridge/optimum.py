"""Plan and derive Figures 4 and 5 of Identity Bridge: the optimum of program (2)."""

from functools import partial

import polars as pl

import inweights as iw
from inweights.experiments import Computation, Measure, Optimum, Plan, Trial, computed
from inweights.recipes.shared.derived import compositions, extremes
from inweights.recipes.shared.derived_templates import blocks, own_peaks
from inweights.theory.identity_bridge.proof import known_norm

#: The role whose templates are drawn, and the title of its panel.
_PANELS = {
    "tokens": "(a) single tokens: the rows of W",
    "first_hop": "(b) one hop (a, r1)",
    "composition": "(c) two hops (a, r1, r2)",
}


class Settings(iw.Config):
    """Settings of Figures 4 and 5.

    Attributes:
        n: ``N`` of the world that is drawn.
        sizes: All ``N`` that are judged.
        gap: Certified gap of every solution.
    """

    n: int = 10
    sizes: tuple[int, ...] = (5, 10, 20, 50)
    gap: float = 1e-5


def plan(settings: Settings, identity: bool) -> Plan:
    """Plan the solution of program (2) for every size; nothing is trained.

    Args:
        settings: Sizes and gap.
        identity: Whether the identity facts are trained.

    Returns:
        Trials with the label ``n``, each of which is solved and not trained; the
        measures ``tokens``, ``margins``, ``norms``, ``first_hop`` and ``composition``;
        the computation ``bounds``, also by ``n``.
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
    # No seed decides an optimum.
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
    """Return the panels of the figure, the peaks of its rows, extreme margins, and gaps of norms.

    Args:
        tables: The tables that :func:`plan` makes, by name: ``tokens`` (``row,
            row_group, column, column_group, value, top, answer``), ``margins`` (``part,
            role, distribution, prompt, answer, predicted, margin, margin_among,
            right_answers``), ``norms`` (``least_margin, norm``), ``first_hop`` (``row,
            row_group, column, column_group, value, top, answer``), ``composition``
            (``row, row_group, column, column_group, value, top, answer``), ``bounds``
            (``check, value``). All have the columns ``n, seed``.

    Returns:
        - ``panels``: templates of the world in the figure, with the name of their
          ``panel``. Columns: ``n, seed, row, row_group, column, column_group, value,
          top, answer, panel``.
        - ``peaks``: share of the rows that peak on their ``own`` bridge or object.
          Columns: ``seed, n, row_group, column_group, own``.
        - ``blocks``: ``contrast`` and ``spread`` of each block of logits. Columns:
          ``seed, n, row_group, column_group, contrast, spread``.
        - ``extremes``: ``least`` and ``largest`` margin over the compositions of a
          world. Columns: ``n, seed, least, largest``.
        - ``norms``: the nuclear norm of each solution; ``gap`` is its relative distance
          from the proven bound. Columns: ``n, seed, least_margin, norm, bound, gap``.
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
#: The least margin over all compositions of a world, and the largest.
least = computed("extremes", "least").over("n")
most = least.of("largest")
gap = computed("norms", "gap").over("n")
