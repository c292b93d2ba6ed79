"""What ``inweights predict`` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from inweights.console.base import line, out, print_json, table

if TYPE_CHECKING:
    from inweights.theory import Advice, Prediction

__all__ = ["plain_forecast", "prediction"]

#: Queries of each outcome that are shown unless all are asked for.
_SHOWN = 3
_MARKS = {"follows": "✓", "tied": "≈", "fails": "✗"}
_COLOURS = {"follows": "green", "tied": "yellow", "fails": "red"}


def prediction(made: Prediction, *, json: bool, every: bool) -> None:
    """Print a forecast: the certificate, every kind of query, and what to add."""
    solution = made.solution
    if json:
        print_json(plain_forecast(made))
        return
    out.print(line((solution.program.world.name, "bold"), f", {solution.program}"))
    colour = "green" if solution.status == "certified" else "red"
    out.print(
        line(
            (solution.status, colour),
            f": nuclear norm {solution.optimum:.6g}, gap {solution.gap:.1e}, rank "
            f"{solution.rank}; {solution.iterations} iterations, {solution.seconds:.2f} s",
        )
    )
    if not len(made.queries):
        out.print("no queries: nothing is asked that is not a fact")
        return
    kinds = table("pattern", "queries", "follow", "tied", "fail", "expected", "margin")
    lone = made.queries["role"].n_unique() == 1
    for row in made.summary().iter_rows(named=True):
        kinds.add_row(
            row["pattern"] if lone else f"{row['role']}: {row['pattern']}",
            *(str(row[name]) for name in ("queries", "follow", "tied", "fail")),
            f"{row['expected']:.2f}",
            f"{row['least_margin']:+.2f} (median {row['median_margin']:+.2f})",
        )
    out.print()
    out.print(kinds)
    out.print()
    out.print(_queries(made.queries, every))
    if made.advice:
        out.print()
        _advice(made.queries, made.advice)


def _queries(queries: pl.DataFrame, every: bool) -> Any:
    """The queries, the least certain of each outcome first."""
    listed = table("", "query", "answer", "predicted", "margin")
    for verdict, mark in _MARKS.items():
        rows = queries.filter(pl.col("verdict") == verdict).sort(pl.col("margin").abs())
        colour = _COLOURS[verdict]
        for row in (rows if every else rows.head(_SHOWN)).iter_rows(named=True):
            rivals = f" (of {row['tied']})" if verdict == "tied" else ""
            listed.add_row(
                line((f"{mark} {verdict}", colour)),
                row["prompt"],
                row["answer"],
                row["predicted"] + rivals,
                f"{row['margin']:+.3f}",
            )
        if not every and len(rows) > _SHOWN:
            listed.add_row("", line((f"… and {len(rows) - _SHOWN} more (--all)", "dim")))
    return listed


def _advice(queries: pl.DataFrame, advice: Advice) -> None:
    lacking = queries.filter(pl.col("verdict") != "follows").height
    if not advice.identities:
        out.print(f"no identities make any of the {lacking} other queries follow")
        return
    names = ", ".join(f"{name} → {name}" for name in advice.identities[:12])
    more = f" and {len(advice.identities) - 12} more" if len(advice.identities) > 12 else ""
    out.print(line((f"add {len(advice.identities)} identities", "bold"), f": {names}{more}"))
    lost = f", {len(advice.broken)} no longer" if advice.broken else ""
    out.print(
        f"then {len(advice.mended)} of {lacking} more queries follow{lost} "
        f"({advice.status}, gap {advice.gap:.1e}; {advice.solutions} programs solved)"
    )


def plain_forecast(made: Prediction) -> dict[str, Any]:
    """Return a forecast as plain values."""
    solution, advice = made.solution, made.advice
    names = made.queries["prompt"].to_list()
    return {
        "world": solution.program.world.name,
        "status": solution.status,
        "gap": solution.gap,
        "optimum": solution.optimum,
        "bound": solution.bound,
        "rank": solution.rank,
        "iterations": solution.iterations,
        "seconds": round(solution.seconds, 4),
        "queries": made.queries.drop("query").to_dicts(),
        "summary": made.summary().to_dicts(),
        "advice": advice
        and {
            "identities": list(advice.identities),
            "mended": [names[i] for i in advice.mended],
            "open": [names[i] for i in advice.open],
            "broken": [names[i] for i in advice.broken],
            "status": advice.status,
            "gap": advice.gap,
            "solutions": advice.solutions,
        },
    }
