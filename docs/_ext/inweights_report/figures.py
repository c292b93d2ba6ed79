"""Draw the figures of the reports from stored scores and tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from inweights_site.recipe_page import COLOURS
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from inweights.experiments.claims.claim import VERDICTS
from inweights.experiments.claims.claim_result import ClaimResult
from inweights.experiments.claims.published import printed_number
from inweights.recipes import get_recipe
from inweights.report.base import style
from inweights.report.figures.draw import draw
from inweights_report.evidence import Evidence

__all__ = ["draw_figure"]

#: Width of a figure in inches, equal to the width of the text, so that fonts keep their size.
_WIDTH = 6.9
_POSITIONS = "beyond/positions-decide"


def draw_figure(name: str, evidence: Evidence) -> Figure:
    """Return a figure of a report.

    Args:
        name: Name of the figure in the template.
        evidence: The results from which it is drawn.
    """
    with style.context():
        return _DRAWN[name](evidence)


def _of_the_recipe(which: str, table: str) -> Callable[[Evidence], Figure]:
    """Return a function that draws a figure which a run of the recipe draws as well."""

    def drawn(evidence: Evidence) -> Figure:
        chosen = next(f for f in get_recipe(_POSITIONS).figures if f.id == which)
        tables = {table: evidence.stored("positions-decide", table)}
        return draw(chosen, tables)

    return drawn


def _share_and_ratio(evidence: Evidence) -> Figure:
    """Draw token share and recovered geometry over the norm of positions relative to tokens."""
    final = evidence.stored("positions-decide", "final").filter(model="GPT")
    shown = final.filter(pl.col("condition").is_in(list(_SCALES)))
    figure = style.blank(_WIDTH, 2.7)
    left, right = figure.subplots(1, 2)
    ratios = np.geomspace(0.5, 80, 100)
    left.plot(ratios, 1 / (1 + ratios**2), color=style.GREY, label="1 / (1 + ρ²)")
    looks = style.marks(list(_SCALES))
    for condition in _SCALES:
        rows = shown.filter(condition=condition)
        look: dict[str, Any] = {
            "color": looks[condition].color,
            "marker": looks[condition].marker,
            "linestyle": "none",
            "markersize": 4.5,
            "alpha": 0.75,
        }
        left.plot(rows["ratio"], rows["began"], label=condition, **look)
        right.plot(rows["ratio"], rows["hardest"], **look)
    left.set(xscale="log", yscale="log", ylabel="share that says which token")
    right.set(xscale="log", ylabel="hardest token, held out", ylim=(-0.04, 1.04))
    for axes in (left, right):
        axes.set_xlabel("ρ, length of positions over that of tokens")
        axes.xaxis.set_major_formatter(_plain)
        axes.xaxis.set_minor_formatter(NullFormatter())
    left.yaxis.set_major_formatter(_plain)
    left.legend(loc="lower left")
    return figure


def _plain(value: float, _: object = None) -> str:
    """Return the label of a logarithmic axis as plain text, without a formula."""
    return f"{value:g}"


#: Conditions that differ only in positions, in increasing order of the ratio, which is 0
#: without positions.
_SCALES = ("N(0, .02²)", "N(0, .3²)", "sinusoidal", "N(0, 1)")


def _folds(evidence: Evidence) -> Figure:
    """Draw the order over even and odd pairs of the grid, with one point for each seed."""
    found = evidence.stored("positions-decide", "grid")
    names = found["which"].unique(maintain_order=True).to_list()
    figure = style.blank(_WIDTH, 2.2)
    panels = figure.subplots(1, 2, sharey=True)
    for axes, pairs in zip(panels, ("even", "odd"), strict=True):
        rows = found.filter(pairs=f"{pairs} hops apart")
        for place, name in enumerate(names):
            seeds = rows.filter(which=name)["spearman"]
            axes.plot(seeds, [place] * len(seeds), ".", color=style.GREY, markersize=4)
            axes.plot(seeds.median(), place, "D", color=style.BLUE, markersize=5)
        axes.axvline(0, color=style.PALE, linewidth=0.8, zorder=0)
        axes.set(xlim=(-1, 1), xlabel="Spearman of cosine and hops")
        axes.set_title(f"{pairs} hops apart")
    panels[0].set_yticks(range(len(names)), names)
    panels[0].set_ylim(len(names) - 0.5, -0.5)
    return figure


def _forest(evidence: Evidence) -> Figure:
    """Draw every claim of the recipe: each seed, the interval and the target."""
    claims = evidence.chosen(recipe=_POSITIONS)
    figure = style.blank(_WIDTH, 0.19 * len(claims) + 0.6)
    axes = figure.subplots()
    scores = evidence.board.scores
    for place, claim in enumerate(claims):
        colour = COLOURS[claim.verdict]
        _target(axes, claim, place)
        rows = scores.filter(
            claim=claim.id, version=claim.version, case=claim.case, scale="cpu"
        )
        jitter = np.linspace(-0.22, 0.22, max(1, rows.height))
        axes.plot(rows["number"], place + jitter, ".", color=style.GREY, markersize=3.5)
        if claim.low is not None and claim.high is not None:
            axes.plot(
                [claim.low, claim.high], [place, place], color=colour, linewidth=2
            )
        if claim.measured is not None:
            axes.plot(claim.measured, place, "o", color=colour, markersize=5)
    names = [claim.id.rpartition("/")[2] for claim in claims]
    axes.set_yticks(range(len(claims)), names)
    axes.set(ylim=(len(claims) - 0.4, -0.6), xlim=(-1.08, 1.08))
    axes.set_xlabel("score of the claim (shaded: its target)")
    axes.axvline(0, color=style.PALE, linewidth=0.8, zorder=0)
    return figure


def _target(axes: Axes, claim: ClaimResult, place: int) -> None:
    """Shade the range in which the score must lie."""
    target = claim.target
    least = -1.08 if target.least is None else target.least
    most = 1.08 if target.most is None else target.most
    axes.fill_betweenx(
        [place - 0.36, place + 0.36], least, most, color="#e4f1ec", zorder=0
    )


def _bars(*folders: str, source: str = "") -> Callable[[Evidence], Figure]:
    """Return a function that draws the verdicts of each recipe as a bar."""

    def drawn(evidence: Evidence) -> Figure:
        claims = [
            claim
            for folder in folders
            for claim in evidence.chosen(recipe=folder, source=source or folder)
        ]
        by_recipe: dict[str, Counter[str]] = {}
        for claim in claims:
            recipe = claim.id.rpartition("/")[0]
            by_recipe.setdefault(recipe, Counter())[claim.verdict] += 1
        if len(folders) == 1:
            names = {name: name.partition("/")[2] for name in by_recipe}
        else:
            names = {name: name for name in by_recipe}
        return _stacked({names[name]: found for name, found in by_recipe.items()})

    return drawn


def _stacked(found: Mapping[str, Counter[str]]) -> Figure:
    """Draw horizontal bars of verdicts, one for each name."""
    names = sorted(found, key=_natural)
    figure = style.blank(_WIDTH, 0.145 * len(names) + 0.9)
    axes = figure.subplots()
    for verdict in VERDICTS:
        if not any(found[name][verdict] for name in names):
            continue
        widths = [found[name][verdict] for name in names]
        before = [
            sum(found[name][one] for one in VERDICTS[: VERDICTS.index(verdict)])
            for name in names
        ]
        axes.barh(
            range(len(names)),
            widths,
            left=before,
            height=0.74,
            color=COLOURS[verdict],
            label=verdict,
        )
    axes.set_yticks(range(len(names)), names)
    axes.set(ylim=(len(names) - 0.4, -0.6), xlabel="claims of the paper")
    figure.legend(loc="outside upper center", ncols=5, handlelength=1.0)
    return figure


def _natural(name: str) -> list[Any]:
    """Return a key that sorts ``fig2`` before ``fig10``."""
    digits = "".join(c if c.isdigit() else " " for c in name).split()
    return ["".join(c for c in name if c.isalpha()), *map(int, digits)]


def _beside_print(evidence: Evidence) -> Figure:
    """Draw measured numbers over the numbers that Feature Resemblance prints."""
    claims = evidence.chosen(source="feature-resemblance")
    figure = style.blank(_WIDTH, 3.0)
    left, right = figure.subplots(1, 2)
    for axes, wanted, title in (
        (left, "similarity", "similarity (cosine)"),
        (right, "success", "success of the conclusion"),
    ):
        chosen = [one for one in claims if f"/{wanted}" in one.id]
        _printed(axes, chosen, title)
    right.legend(*_verdict_legend(), loc="upper left", bbox_to_anchor=(0.08, 0.98))
    return figure


def _printed(axes: Axes, claims: Sequence[ClaimResult], title: str) -> None:
    """Draw measured over printed numbers with their intervals."""
    for claim in claims:
        printed = printed_number(claim.published)
        if printed is None or claim.measured is None:
            continue
        measured = claim.measured
        low = measured if claim.low is None else claim.low
        high = measured if claim.high is None else claim.high
        axes.errorbar(
            printed,
            measured,
            yerr=[[max(0.0, measured - low)], [max(0.0, high - measured)]],
            fmt="o",
            markersize=4.5,
            color=COLOURS[claim.verdict],
            alpha=0.85,
        )
    axes.plot([0, 1], [0, 1], color=style.GREY, linewidth=0.8, zorder=0)
    axes.set(xlabel=f"printed: {title}", ylabel="measured, with its interval")
    axes.set(xlim=(-0.05, 1.05), ylim=(-0.05, 1.05))


def _verdict_legend() -> tuple[list[Any], list[str]]:
    """Return the marks and the names of the verdicts that are drawn."""
    from matplotlib.lines import Line2D

    names = [name for name in VERDICTS if name != "not judged"]
    marks = [
        Line2D(
            [], [], marker="o", linestyle="none", color=COLOURS[name], markersize=4.5
        )
        for name in names
    ]
    return marks, list(names)


_DRAWN: dict[str, Callable[[Evidence], Figure]] = {
    "hardest": _of_the_recipe("hardest", "curves"),
    "grid": _folds,
    "share": _share_and_ratio,
    "forest": _forest,
    "verdicts": _bars("geometric-memory"),
    "both-verdicts": _bars("identity-bridge", "feature-resemblance"),
    "printed": _beside_print,
}
