"""Print claims and their verdicts: the results table of all recipes, and the claims of one run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from inweights.cli.console.base import WIDTH, cut, out, print_json, say, table
from inweights.config import to_plain
from inweights.experiments.claims.claim import VERDICTS, Verdict
from inweights.experiments.claims.claim_result import ClaimResult
from inweights.experiments.claims.closeness import closeness, sizes
from inweights.experiments.claims.verdict import tally
from inweights.runs.environment import environment
from inweights.support.progress import plural

MARKS: dict[Verdict, str] = dict(zip(VERDICTS, "✓≈✗≉?·", strict=True))
COLOURS = dict(
    zip(VERDICTS, ("green", "green", "red", "magenta", "yellow", "dim"), strict=True)
)
#: Words for verdicts on several claims of our own (:attr:`ClaimResult.shown` for one).
_OWN_WORDS: dict[Verdict, str] = {
    "reproduced": "that hold",
    "not reproduced": "that do not hold",
}
#: Reason why a claim is not judged if its recipe has not been run.
NO_RUN = "no run at scale '{scale}' yet"
#: Largest number of lines of a list of claims without ``full``.
_LINES = 58


def board(
    results: Sequence[ClaimResult],
    scale: str,
    *,
    json: bool = False,
    full: bool = False,
) -> None:
    """Print the results table: one line per recipe, or per claim if there is only one recipe.

    Args:
        results: The judged claims.
        scale: Scale of the runs.
        json: If true, print JSON instead of text.
        full: If true, show every claim with its interval, its seeds and the case that
            determines its verdict.
    """
    if json:
        print_json(
            {
                "scale": scale,
                "counts": tally(results),
                "sizes": dict(sizes(results)),
                "environment": environment(),
                "claims": list(map(to_plain, results)),
            }
        )
        return
    by_recipe: dict[str, list[ClaimResult]] = {}
    for claim in results:
        by_recipe.setdefault(claim.id.rpartition("/")[0], []).append(claim)
    if full or len(by_recipe) == 1:
        for name, own in by_recipe.items():
            say((f"{name}, {scale} scale", "bold"))
            claims(own, full=full)
    else:
        _summary(by_recipe, scale)
    out.print()
    for counted in counts(results):
        out.print(counted)


def _summary(by_recipe: dict[str, list[ClaimResult]], scale: str) -> None:
    """Print one line per recipe that was run, with the number of its claims by verdict."""
    listed = table("recipe", *(MARKS[verdict] for verdict in VERDICTS), "")
    hidden = NO_RUN.format(scale=scale)
    waiting = 0
    for name, own in by_recipe.items():
        # Recipes that have not been run are counted below the table, which they would
        # fill.
        if all(claim.why == hidden for claim in own):
            waiting += 1
            continue
        counted = Counter(claim.verdict for claim in own)
        reasons = {claim.why for claim in own if claim.why}
        # Several reasons do not fit in a line; they are shown in the table of the recipe.
        why = reasons.pop() if len(reasons) == 1 else ""
        cells = (Text(str(counted[v] or ""), style=COLOURS[v]) for v in VERDICTS)
        listed.add_row(cut(name, 36), *cells, Text(cut(why, 28), "dim"))
    if listed.row_count:
        out.print(listed)
    if waiting:
        noun = "recipe has" if waiting == 1 else "recipes have"
        say((f"{waiting} {noun} {hidden}: inweights list", "dim"))
    marks = ", ".join(f"{MARKS[verdict]} {verdict}" for verdict in VERDICTS)
    say((f"{marks}; verify RECIPE", "dim"))


def claims(results: Sequence[ClaimResult], *, full: bool = False) -> None:
    """Print a table of claims with verdict, measured value and target.

    If all claims that are not judged have the same reason, it is printed once. Long
    sentences are cut if the list would have more than 58 lines.

    Args:
        results: The judged claims.
        full: If true, also show intervals, seeds and the case that determines each
            verdict.
    """
    if full:
        _in_full(results)
        return
    judged = any(claim.verdict != "not judged" for claim in results)
    reasons = {claim.why for claim in results if claim.verdict == "not judged"}
    # A common reason is printed once, below the table.
    once = len(reasons) == 1
    listed = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), show_header=False)
    listed.add_column(no_wrap=True)
    measured = any(claim.measured is not None for claim in results)
    rows = [_cells(claim, measured) for claim in results]
    if measured:
        listed.add_column(no_wrap=True, justify="right")
        listed.add_column(no_wrap=True)
    listed.add_column(overflow="fold")
    widths = [
        max(len(cell) for cell in column) + 1 for column in zip(*rows, strict=True)
    ]
    bodies = [_body(claim, once) for claim in results]
    # In a long list, each claim has one line that begins with its name.
    if len(bodies) > _LINES // 2:
        names = [Text(claim.id.rpartition("/")[2] + ": ") for claim in results]
        bodies = [name + body for name, body in zip(names, bodies, strict=True)]
    bodies = _fitted(bodies, WIDTH - sum(widths))
    for cells, body in zip(rows, bodies, strict=True):
        listed.add_row(*cells, body)
    out.print(listed)
    if judged:
        order = sorted(results, key=lambda claim: VERDICTS.index(claim.verdict))
        words = [f"{MARKS[claim.verdict]} {claim.shown}" for claim in order]
        shown = ", ".join(dict.fromkeys(words))
        say((f"{shown}; --full shows intervals and cases", "dim"))
    if once and reasons != {""}:
        none = "none of them is judged" if not judged else "not judged"
        say((f"{none}: {reasons.pop()}", "dim"))


def _cells(claim: ClaimResult, measured: bool) -> list[Text]:
    """Return the verdict's mark and, if ``measured``, measured value and target."""
    cells = [Text(MARKS[claim.verdict], style=COLOURS[claim.verdict])]
    if measured:
        value = "" if claim.measured is None else f"{claim.measured:.3g}"
        cells += [Text(value, style="bold"), Text(claim.target.text, style="dim")]
    return cells


def _body(claim: ClaimResult, once: bool) -> Text:
    """Return a claim's sentence and notes; ``once`` omits why it is not judged."""
    body = Text(claim.text)
    if claim.needed:
        body.append(f" (about {claim.needed} seeds would decide it)", style="dim")
    if claim.why and not once:
        body.append(f" ({claim.why})", style="dim")
    return body


def _fitted(bodies: Sequence[Text], width: int) -> list[Text]:
    """Wrap texts, and cut the longest ones so that all together have at most 58 lines.

    Every text keeps at least one line. A text that was cut ends with ``…``.

    Args:
        bodies: The texts.
        width: Number of characters in a line.
    """
    wrapped = [body.wrap(out, width) for body in bodies]
    longest = max(map(len, wrapped), default=1)
    while longest > 1 and sum(min(len(lines), longest) for lines in wrapped) > _LINES:
        longest -= 1
    fitted = []
    for lines in wrapped:
        if len(lines) > longest:
            lines[longest - 1].truncate(width - 1)
            lines[longest - 1].append("…")
        fitted.append(Text("\n").join(lines[:longest]))
    return fitted


def _in_full(results: Sequence[ClaimResult]) -> None:
    listed = table("verdict", "claim, and what was measured")
    for claim in results:
        mark = Text(
            f"{MARKS[claim.verdict]} {claim.shown}", style=COLOURS[claim.verdict]
        )
        text = Text(f"{claim.id}\n", style="dim")
        text.append(claim.text, style="not dim")
        if claim.measured is not None:
            text.append(f"\n{claim.measured:.3g}", style="bold not dim")
            text.append(f"  {_evidence(claim)}", style="dim")
        if claim.why:
            text.append(f"\n{claim.why}", style="dim")
        listed.add_row(mark, text)
    out.print(listed)


def counts(results: Sequence[ClaimResult]) -> list[str]:
    """Return lines with the number of claims by verdict, one line per kind of claim.

    Args:
        results: The judged claims.

    Returns:
        Lines for claims of the papers, claims of this library, and checks. There is no
        line for a kind without claims. If sizes of effects were compared with published
        numbers, a last line counts the results of these comparisons.
    """
    titles = {
        "papers": ("claim of the papers", "claims of the papers"),
        "ours": ("claim of our own", "claims of our own"),
        "checks": (
            "check, which holds by construction and is not counted",
            "checks, which hold by construction and are not counted",
        ),
    }
    lines = []
    for kind, numbers in tally(results).items():
        words = {} if kind == "papers" else _OWN_WORDS
        counted = [f"{n} {words.get(v, v)}" for v, n in numbers.items() if n]
        known = ", ".join(counted)
        if known:
            lines.append(f"{plural(sum(numbers.values()), *titles[kind])}: {known}")
    if found := sizes(results):
        said = ", ".join(f"{n} {size}" for size, n in sorted(found.items()))
        lines.append(
            f"size, where a number is printed beside a one-sided target: {said}"
        )
    return lines


def code_of(claims: Sequence[ClaimResult], strict: bool) -> int:
    """Return the exit code of a command that shows claims.

    Args:
        claims: The judged claims.
        strict: Whether a claim that was not reproduced results in the exit code 1.

    Returns:
        1 if ``strict`` is set and a claim has the verdict ``not reproduced``, otherwise
        0.
    """
    return int(strict and any(claim.verdict == "not reproduced" for claim in claims))


def _evidence(claim: ClaimResult) -> str:
    between = span(claim)
    size = closeness(claim)
    parts = (
        f"target {claim.target.text}",
        f"{100 * claim.level:.4g}% interval {between}" if between else "",
        f"met by {claim.met}" if claim.met else "computed",
        f"judged: {claim.rule}" if claim.rule != "typical" else "",
        ": ".join(claim.number) if claim.published else "",
        f"size {size.text}" if size else "",
        f"protocol: {claim.protocol}" if claim.protocol else "",
        f"condition {claim.condition}" if claim.condition else "",
        f"deciding case {claim.case}" if claim.case else "",
        f"about {claim.needed} seeds would decide it" if claim.needed else "",
        "holds by construction" if claim.check else "",
        *claim.earlier,
    )
    return ", ".join(filter(None, parts))


def span(claim: ClaimResult) -> str:
    """Return the confidence interval of a claim as a string, such as ``0.91 to 0.98``.

    Args:
        claim: The claim with its verdict.

    Returns:
        The text. It is empty if the claim has no interval, for example because its
        number does not depend on seeds.
    """
    if claim.low is None or claim.high is None:
        return ""
    return f"{claim.low:.3g} to {claim.high:.3g}"
