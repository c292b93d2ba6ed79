"""What the command line prints of recipes, runs, claims and worlds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from rich.text import Text

from inweights.config import to_dict
from inweights.console.base import err, line, out, print_json, table
from inweights.lab.verdict import ClaimResult, Verdict, tally
from inweights.runs.environment import environment

if TYPE_CHECKING:
    from pathlib import Path

    from inweights.lab.engine import Outcome
    from inweights.lab.forecast import Forecast
    from inweights.lab.recipe import Recipe
    from inweights.lab.settle import Settled
    from inweights.runs import RunFolder
    from inweights.worlds import World

__all__ = ["board", "forecast", "outcome", "recipes", "runs", "settled", "world"]

_COLOURS: dict[Verdict, str] = {
    "reproduced": "green",
    "not reproduced": "red",
    "undecided": "yellow",
    "not judged": "dim",
}
_MARKS: dict[Verdict, str] = {
    "reproduced": "✓",
    "not reproduced": "✗",
    "undecided": "?",
    "not judged": "·",
}
_JUDGED = ("reproduced", "not reproduced", "undecided")


def recipes(known: Sequence[Recipe], *, json: bool) -> None:
    """Print all recipes."""
    if json:
        print_json(
            [
                {
                    "name": r.name,
                    "title": r.title,
                    "paper": r.paper,
                    "place": r.place,
                    "claims": len(r.claims),
                    "scales": list(r.scales),
                }
                for r in known
            ]
        )
        return
    listed = table("recipe", "what it shows", "place", "claims")
    for recipe in known:
        listed.add_row(recipe.name, recipe.title, recipe.place, str(len(recipe.claims)))
    out.print(listed)
    out.print(line(("inweights run RECIPE --scale smoke|cpu|paper", "dim")))


def runs(folders: Sequence[RunFolder], *, json: bool) -> None:
    """Print all run folders."""
    rows = [
        {
            "recipe": folder.config.get("recipe", "?"),
            "scale": folder.config.get("scale", "?"),
            "seeds": len(folder.seeds),
            "hash": folder.path.name,
            "state": folder.state,
            "folder": str(folder.path if folder.complete else folder.work),
        }
        for folder in folders
    ]
    if json:
        print_json(rows)
        return
    if not rows:
        out.print("no runs yet; 'inweights demo' makes one in a minute")
        return
    listed = table("recipe", "scale", "seeds", "hash", "state", "folder")
    for row in rows:
        listed.add_row(*(str(value) for value in row.values()))
    out.print(listed)


def outcome(done: Outcome, *, json: bool) -> None:
    """Print what a run found."""
    page = done.folder.path / "page.html"
    if json:
        print_json(
            {
                "recipe": done.recipe.name,
                "scale": done.scale,
                "seeds": list(done.seeds),
                "seconds": done.seconds,
                "folder": str(done.folder.path),
                "page": str(page),
                "cached": done.cached,
                "claims": [to_dict(claim) for claim in done.claims],
            }
        )
        return
    out.print(line((done.recipe.title, "bold")))
    about = (
        f"{done.recipe.name}, {done.scale} scale, {len(done.seeds)} seeds, "
        f"{done.seconds:.0f} s{', read back' if done.cached else ''}\n"
    )
    out.print(line((about, "dim")))
    if done.claims:
        _claims(done.claims)
        out.print()
    out.print(f"page  {page.resolve().as_uri()}", soft_wrap=True)


def forecast(ahead: Forecast, *, json: bool) -> None:
    """Print what a run would take."""
    if json:
        print_json({**asdict(ahead), "text": str(ahead)})
        return
    for part in str(ahead).split("; "):
        out.print(part)


def board(
    claims: Sequence[ClaimResult], scale: str, *, json: bool = False, markdown: bool = False
) -> None:
    """Print every claim with its verdict."""
    if markdown:
        _markdown(claims, scale)
        return
    if json:
        print_json(
            {
                "scale": scale,
                "counts": tally(claims),
                "environment": environment(),
                "claims": [to_dict(claim) for claim in claims],
            }
        )
        return
    _claims(claims, ids=True)
    out.print()
    for counted in _counts(claims):
        out.print(counted)


def settled(done: Sequence[Settled]) -> None:
    """Say on the error stream what more seeds gave."""
    for one in done:
        name, seeds = one.outcome.recipe.name, len(one.outcome.seeds)
        won = len(one.before) - len(one.left)
        told = f"{name}: {won} of {len(one.before)} undecided claims settled with {seeds} seeds"
        err.print(told + (f"; {one.why}" if one.why else ""))
    if not done:
        err.print("nothing that has run is undecided")


def _counts(claims: Sequence[ClaimResult]) -> list[str]:
    """How many claims have which verdict, a line for the papers', our own, and checks."""
    titles = {
        "papers": "claims of the papers",
        "ours": "claims of our own",
        "checks": "checks, which hold by construction and are not counted",
    }
    lines = []
    for kind, counts in tally(claims).items():
        known = ", ".join(f"{n} {verdict}" for verdict, n in counts.items() if n)
        if known:
            lines.append(f"{sum(counts.values())} {titles[kind]}: {known}")
    return lines


def _markdown(claims: Sequence[ClaimResult], scale: str) -> None:
    print("# The board\n")
    print(
        "Every claim of every recipe, with the verdict on it; a claim that did not reproduce stays."
        "\nA verdict says where the whole 95% interval of the mean lies: in the target, outside, "
        "\nor across its edge (undecided)."
    )
    print(f"Written by `inweights verify --scale {scale} --markdown`.\n")
    for counted in _counts(claims):
        print(f"- {counted}")
    recipe = ""
    for claim in claims:
        home, _, name = claim.id.rpartition("/")
        if home != recipe:
            recipe = home
            print(f"\n## {recipe}\n\n| verdict | claim | target | measured, 95% interval | n |")
            print("|---|---|---|---|---|")
        measured = ""
        if claim.measured is not None:
            measured = f"{claim.measured:.3g} ({_span(claim) or 'computed'})"
        kind = " *A check: it holds by construction.*" if claim.check else ""
        kind = kind or (" *Our own claim.*" if claim.source == "ours" else "")
        worst = f" Deciding case: {claim.case}." if claim.case else ""
        more = f" About {claim.needed} seeds would settle it." if claim.needed else ""
        print(
            f"| {_MARKS[claim.verdict]} {claim.verdict} | `{name}` {claim.text}{worst}{more}{kind} "
            f"({claim.place}) | {claim.target.text} | {measured} | {claim.replicates or ''} |"
        )


def world(made: World, folder: Path | None, *, json: bool) -> None:
    """Print what a world holds."""
    statements = [
        (part, role, len(column.with_role(role)), column)
        for part, column in (("facts", made.facts), ("queries", made.queries))
        for role in column.role_names
    ]
    if json:
        print_json(
            {
                "name": made.name,
                "seed": made.seed,
                "settings": made.settings,
                "tokens": {group: len(names) for group, names in made.vocabulary.groups.items()},
                "facts": {role: n for part, role, n, _ in statements if part == "facts"},
                "queries": {role: n for part, role, n, _ in statements if part == "queries"},
                "out_of_distribution": int(made.queries.out_of_distribution.sum()),
                "complexity": made.complexity,
                "folder": str(folder) if folder else None,
            }
        )
        return
    listed = table("part", "role", "number", "first one")
    for part, role, count, column in statements:
        first = int(column.with_role(role)[0])
        words = made.vocabulary.text
        listed.add_row(
            part, role, str(count), f"{words(column.prompt(first))} → {words(column.answer(first))}"
        )
    out.print(line((made.name, "bold"), f", {len(made.vocabulary)} tokens, seed {made.seed}\n"))
    out.print(listed)
    outside = int(made.queries.out_of_distribution.sum())
    out.print(f"\n{outside} of {len(made.queries)} queries are out of distribution", end="")
    out.print(f": {made.why_out_of_distribution}" if outside else "")
    if folder:
        out.print(f"written to {folder}", soft_wrap=True)


def _claims(claims: Sequence[ClaimResult], *, ids: bool = False) -> None:
    listed = table("verdict", "claim, and what was measured")
    reasons = {claim.why for claim in claims if claim.verdict == "not judged"}
    # One reason for all of them is said once.
    once = len(claims) > 1 and len(reasons) == 1 and not any(c.verdict in _JUDGED for c in claims)
    for claim in claims:
        mark = Text(f"{_MARKS[claim.verdict]} {claim.verdict}", style=_COLOURS[claim.verdict])
        text = Text(f"{claim.id}\n", style="dim") if ids else Text()
        text.append(claim.text, style="not dim")
        if claim.measured is not None:
            text.append(f"\n{claim.measured:.3g}", style="bold not dim")
            text.append(f"  {_evidence(claim)}", style="dim")
        if claim.why and not once:
            text.append(f"\n{claim.why}", style="dim")
        listed.add_row(mark, text)
    out.print(listed)
    if once:
        out.print(line((f"\nnot judged: {reasons.pop()}", "dim")))


def _evidence(claim: ClaimResult) -> str:
    parts = [f"target {claim.target.text}"]
    span = _span(claim)
    if not span:
        parts.append("computed")
    elif claim.replicates > 1:
        parts += [f"{100 * claim.level:.3g}% interval {span}", _seeds(claim)]
    else:
        parts.append(_seeds(claim))
    if claim.case:
        parts.append(f"deciding case {claim.case}")
    if claim.needed:
        parts.append(f"about {claim.needed} seeds would settle it")
    if claim.check:
        parts.append("holds by construction")
    return ", ".join(parts)


def _seeds(claim: ClaimResult) -> str:
    return f"{claim.replicates} seed{'s' * (claim.replicates != 1)}"


def _span(claim: ClaimResult) -> str:
    if claim.low is None or claim.high is None:
        return ""
    return f"{claim.low:.3g} to {claim.high:.3g}"
