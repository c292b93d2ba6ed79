"""Print the results of ``inweights predict``: certificate, kinds of queries, queries, advice."""

from dataclasses import replace
from pathlib import Path

import polars as pl

from inweights.audit.prediction.by_training import TrainedForecast
from inweights.cli.console.base import out, print_json, say, table
from inweights.cli.console.forecast.plain import plain_forecast
from inweights.cli.console.forecast.queries import (
    SHOWN,
    guessing,
    kinds_table,
    queries_table,
)
from inweights.support.progress import plural
from inweights.theory import Advice, Prediction, Remedy, SoftSolution
from inweights.theory.prediction.tables import OUTVOTED
from inweights.theory.prediction.trust import meaning, propose_training, trust

__all__ = ["prediction"]

#: Largest number of patterns that are shown without ``every``.
_PATTERNS = 12


def prediction(
    made: Prediction,
    *,
    json: bool,
    every: bool,
    trained: TrainedForecast | None = None,
    page: Path | None = None,
    name: str = "facts",
) -> None:
    """Print a prediction, and write its page if requested.

    Args:
        made: The prediction.
        json: If true, print JSON instead of text.
        every: If true, list all queries; otherwise, list only the first queries of each
            outcome.
        trained: Shares of trained replicas that answer each query correctly; ``None``
            (the default) if no replicas were trained.
        page: Path of the page to write. If it is ``None`` (the default), no page is
            written.
        name: Name of the set of facts, used as the title of the page.

    Raises:
        DataError: The page cannot be written, or its file exists and is not a page of
            the library.
    """
    queries = made.queries.join(made.probabilities, on="query", maintain_order="left")
    if trained:
        queries = _beside(queries, trained)
    if page is not None:
        _write_page(made, queries, trained, page, name)
    if json:
        print_json(plain_forecast(replace(made, queries=queries), trained))
        return
    _certificate(made)
    _let_go(made, every)
    if not len(made.queries):
        out.print("no queries: the world has facts only")
        return
    out.print()
    few = queries.select(pl.struct("role", "pattern").n_unique()).item() <= _PATTERNS
    out.print(kinds_table(queries, every or few))
    out.print()
    out.print(queries_table(queries, every, list(trained.memorised) if trained else []))
    if trained:
        _tried(queries, trained)
    say((f"{meaning(made)} {trust(made)}", "dim"))
    if (more := propose_training(made)) and not trained:
        say((more, "yellow"))
    _to_add(made, every)
    if page is not None:
        out.print(f"\npage  {page.resolve().as_uri()}", soft_wrap=True)


def _certificate(made: Prediction) -> None:
    solution = made.solution
    say((solution.program.world.name, "bold"), f", {solution.program}")
    status = "certified" if made.certified else "not certified"
    if len(made.parts) > 1:
        good = sum(part.status == "certified" for part in made.parts)
        status = f"{good} of {len(made.parts)} parts certified; the first"
    say(
        (status, "green" if made.certified else "red"),
        f": {_objective(made)}, gap {solution.gap:.1e}, rank "
        f"{solution.rank}; {solution.iterations} iterations, {solution.seconds:.2f} s",
    )


def _to_add(made: Prediction, every: bool) -> None:
    """Print which identities to add, and what to do about other kinds of failure."""
    if made.advice or made.remedies:
        out.print()
    if made.advice:
        _advice(made, made.advice)
    for remedy in made.remedies if every else made.remedies[:SHOWN]:
        _remedy(remedy)
    if len(made.remedies) > SHOWN and not every:
        out.print(
            f"… and {len(made.remedies) - SHOWN} more against other assertions (--all)"
        )


def _write_page(
    made: Prediction,
    queries: pl.DataFrame,
    trained: TrainedForecast | None,
    page: Path,
    name: str,
) -> None:
    from inweights.report.base.html import write_page
    from inweights.report.pages.prediction_page import build_forecast_page

    told = ""
    if trained is not None:
        told = (
            f"{_memory(trained)} The columns named after the models contain the most frequent "
            "answer and the share of correct answers (for unstated queries, of that answer)."
        )
    content = build_forecast_page(made, name, queries=queries, trained=told)
    write_page(content, page)


def _beside(queries: pl.DataFrame, trained: TrainedForecast) -> pl.DataFrame:
    """Return the queries with the share of each model's replicas, and its confidence interval."""
    for model in trained.memorised:
        rows = trained.queries.filter(pl.col("model") == model)
        named = rows.select(
            "query",
            pl.col("predicted").alias(f"{model} predicted"),
            pl.col("share").alias(model),
            *(pl.col(end).alias(f"{model} {end}") for end in ("lower", "upper")),
        )
        # The indices of these queries refer to the first part, on whose facts the
        # replicas were trained.
        places = queries.filter(pl.col("part") == 0)["query"].to_numpy()
        named = named.with_columns(query=places[named["query"]])
        queries = queries.join(named, on="query", how="left", maintain_order="left")
    return queries


def _memory(trained: TrainedForecast) -> str:
    known = ", ".join(
        f"{share:.2f} by {model}" for model, share in trained.memorised.items()
    )
    return (
        f"Short training runs of {plural(trained.replicas, 'replica')}, {trained.seconds:.0f} s: "
        f"share of facts known {known}."
    )


def _tried(queries: pl.DataFrame, trained: TrainedForecast) -> None:
    out.print()
    out.print(_memory(trained))
    kinds = table(
        "role", "queries", "right\nanswers", "chance", "program", *trained.memorised
    )
    for (role,), rows in trained.kinds.group_by("role", maintain_order=True):
        of_role = queries.filter(pl.col("role") == role)
        expected = of_role["expected"].drop_nulls().to_list()
        # The facts state no answer to these queries, so no guess can be right.
        guesses = ("", "") if role == "unstated" else guessing(rows)
        program = f"{sum(expected) / len(expected):.2f}" if expected else ""
        shares = []
        for share, lower, upper in rows.select("share", "lower", "upper").iter_rows():
            shares.append(f"{share:.2f} ({lower:.2f} to {upper:.2f})")
        number = str(rows["queries"][0])
        kinds.add_row(str(role), number, *guesses, program, *shares)
    out.print(kinds)


def _objective(made: Prediction) -> str:
    solution = made.solution
    if isinstance(solution, SoftSolution):
        return f"cross-entropy and decay {solution.decay:g}, {solution.optimum:.4g}"
    return f"nuclear norm {solution.optimum:.6g}"


def _let_go(made: Prediction, every: bool) -> None:
    """Print the facts that the prediction drops, with the reason."""
    if made.why:
        say(("what this covers", "yellow"), f": {made.why}")
    for why, rows in made.let_go.group_by("why", maintain_order=True):
        shown = rows if every else rows.head(SHOWN)
        texts = []
        for row in shown.iter_rows(named=True):
            instead = f" (the program: {row['instead']})" if row["instead"] else ""
            texts.append(row["statement"] + instead)
        hidden = rows.height - shown.height
        more = f" … and {hidden} more" if hidden else ""
        if why[0] == OUTVOTED:
            more += (
                ". It adds up the tokens of a prompt; trained networks may store them"
            )
        say(
            (f"{plural(rows.height, 'fact')} {why[0]}", "yellow"),
            f": {'; '.join(texts)}{more}",
        )


def _advice(made: Prediction, advice: Advice) -> None:
    asked = made.queries.filter(pl.col("role") != "unstated").height
    if not advice.identities:
        why = f" ({advice.why})" if advice.why else ""
        out.print(
            f"no identities make more of the {plural(asked, 'query', 'queries')} follow{why}"
        )
        return
    # For a file, identities are printed as rows that can be pasted into it.
    between, apart = (",is,", "  ") if made.world.name == "triples" else (" → ", ", ")
    names = apart.join(f"{name}{between}{name}" for name in advice.identities[:12])
    more = (
        f" and {len(advice.identities) - 12} more"
        if len(advice.identities) > 12
        else ""
    )
    say((f"add {len(advice.identities)} identities", "bold"), f": {names}{more}")
    lost = f", {len(advice.broken)} no longer do" if advice.broken else ""
    where = f" in {advice.parts} separate parts" if advice.parts > 1 else ""
    out.print(
        f"then {len(advice.mended)} more of all {plural(asked, 'query', 'queries')} with an answer "
        f"follow{lost}, and all facts are stored as before ({advice.status}, gap {advice.gap:.1e}; "
        f"{plural(advice.solutions, 'program')} solved{where})"
    )
    if advice.why:
        say(("these only", "yellow"), f": {advice.why}")


def _remedy(remedy: Remedy) -> None:
    told = "; ".join(remedy.statements[:6])
    more = (
        f" … and {len(remedy.statements) - 6} more"
        if len(remedy.statements) > 6
        else ""
    )
    lost = (
        f", {plural(remedy.broken, 'query no longer follows', 'queries no longer follow')}"
        if remedy.broken
        else ""
    )
    say((remedy.kind, "bold"), f" against {remedy.against}: {told}{more}")
    out.print(
        f"then {remedy.flipped} of the other {remedy.of} such cases change{lost} "
        f"({remedy.status})"
    )
