"""Print the ledger of claims: its lines, and the results table as Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from inweights.actions.ledger.lines import (
    BY_MEAN,
    STATED_AS,
    Corrected,
    Earlier,
    JudgedLine,
    Line,
    Reworded,
    RuleChange,
    Stated,
)
from inweights.actions.ledger.sentences import KINDS as SENTENCES
from inweights.actions.ledger.sentences import opposed, tally_sentences
from inweights.cli.console.base import err, out, print_json, say, table
from inweights.cli.console.claims import MARKS, NO_RUN, counts, span
from inweights.config import to_plain
from inweights.experiments.claims.claim import SIGNS
from inweights.experiments.claims.claim_result import ClaimResult
from inweights.experiments.claims.closeness import closeness
from inweights.experiments.claims.verdict import tally
from inweights.support.progress import plural

if TYPE_CHECKING:
    from inweights.actions.ledger.board import Board
    from inweights.experiments.studies.settle import Settled

_HEAD = Path(__file__).with_name("board.md").read_text(encoding="utf-8")


def history(lines: Sequence[Line], *, json: bool) -> None:
    """Print lines of the ledger of claims.

    Args:
        lines: The lines, the oldest first. If there are none, a text says that there is
            nothing to state; with ``json``, an empty list is printed.
        json: If true, print JSON instead of text.
    """
    if json:
        print_json(list(map(to_plain, lines)))
        return
    if not lines:
        out.print(
            "nothing to state: the ledger contains every claim in its present form"
        )
        return
    listed = table("date", "", "claim")
    for one in lines:
        name = one.key.partition(" ")[0]
        text = Text(f"{name}\n" if name else "", style="dim")
        listed.add_row(
            one.date, type(one).__name__.lower().removesuffix("line"), text + _said(one)
        )
    out.print(listed)
    stated = sum(isinstance(one, Stated) for one in lines)
    if len(lines) > 1 or stated:
        say((f"{plural(len(lines), 'line')}, {stated} of them statements", "dim"))


def _said(one: Line) -> Text:
    match one:
        case RuleChange():
            said = one.says
        case Stated():
            seeds = f"version {one.version}, {plural(one.seeds, 'seed')} from block {one.block}"
            said = f"{one.claim.text}\n{one.claim.target.text}, {one.claim.judged}; {seeds}"
        case Reworded():
            beside = (
                "same sentence; its quote, published number, place or condition changed"
            )
            before = beside if one.before == one.claim.text else f"before: {one.before}"
            said = f"{one.claim.text}\n{before}"
        case Corrected():
            signs = f"from {one.before} to {one.claim.protocol}"
            said = f"version {one.version}: protocol corrected {signs}, according to its settings"
        case _:
            said = f"version {one.version}: {one.verdict}"
            said += (
                _measured(one)
                if isinstance(one, Earlier | JudgedLine)
                else f"; {one.why}"
            )
    return Text(said, style="not dim")


def _measured(one: Earlier | JudgedLine) -> str:
    if one.measured is None:
        return ""
    between = "" if one.low is None else f" ({one.low:.3g} to {one.high:.3g})"
    what = "mean" if isinstance(one, Earlier) else "over the seeds"
    target = f", target {one.target}" if isinstance(one, Earlier) else ""
    return f", {one.measured:.3g}{between} {what}, {plural(one.seeds, 'seed')}{target}"


def recorded(added: int) -> None:
    """Report on the error stream how many scores were added to the results.

    Args:
        added: Number of new scores.
    """
    err.print(f"{plural(added, 'score')} added")


def settled(done: Sequence[Settled]) -> None:
    """Report on the error stream how many claims were decided by additional seeds.

    Args:
        done: Results of :func:`inweights.actions.settle`. One line is printed for each.
            If there are no results, one line gives the reason.
    """
    for one in done:
        name = one.outcome.recipe.name
        seeds = plural(one.seeds, "seed")
        won = len(one.before) - len(one.left)
        said = (
            f"{name}: {won} of {len(one.before)} undecided claims decided with {seeds}"
        )
        err.print(said + (f"; {one.why}" if one.why else ""))
    if not done:
        err.print(
            "no seeds were added: no claim is undecided in the stored runs "
            "(with --into, in these results); to run a recipe for the first time: "
            "'inweights run RECIPE'"
        )


def markdown(
    results: Sequence[ClaimResult], scale: str, kept: Board | None = None
) -> None:
    """Print the results table as Markdown.

    Args:
        results: The judged claims.
        scale: Scale of the runs.
        kept: The stored results table that contains the claims. If it is given, a
            summary and the withdrawn claims are added. It is ``None`` (the default) if
            the claims come from runs.
    """
    source = "--from results" if kept else f"--scale {scale}"
    lines = [_HEAD.format(how=f"Written by `inweights verify {source} --markdown`.")]
    lines += [f"- {counted}" for counted in counts(results)]
    if kept:
        lines += _of_all(kept)
    others = opposed(results)
    home = ""
    for claim in results:
        recipe, _, name = claim.id.rpartition("/")
        if recipe != home:
            home = recipe
            lines += [
                f"\n## {home}\n",
                "| verdict | claim | target | published | measured, interval | met by |",
                "|---|---|---|---|---|---|",
            ]
        at = claim.measured
        exact = claim.hits is None
        between = span(claim) or (
            "computed" if exact else "too few seeds for an interval"
        )
        measured = "" if at is None else f"{at:.3g} ({between})"
        together = " †" if claim.together else ""
        text = f"`{name}` {claim.text}{_more(claim, NO_RUN.format(scale=scale))}"
        text += f"{_opposite(others.get(claim.id, ()))} ({claim.place})"
        lines.append(
            f"| {MARKS[claim.verdict]} {claim.verdict}{together} | {text} "
            f"| {claim.target.text} | {_published(claim)} | {measured} "
            f"| {claim.met or claim.replicates or ''} |"
        )
    if kept and kept.withdrawn:
        lines += ["\n## Withdrawn\n", "| last verdict | claim | why |", "|---|---|---|"]
        lines += [
            f"| {one.verdict}, version {one.version} | `{one.name}` {one.text} "
            f"| {one.why or 'no reason was recorded'} ({one.date}) |"
            for one in kept.withdrawn
        ]
    print("\n".join(lines))


def _opposite(claims: Sequence[ClaimResult]) -> str:
    """Name the claims that quote the same sentence and have the opposite verdict."""
    named = ", ".join(f"{MARKS[one.verdict]} `{_short(one.id)}`" for one in claims)
    return f" ⇄ Of the same sentence: {named}." if named else ""


def _short(name: str) -> str:
    """Return the name of a claim without the name of its paper."""
    return name.partition("/")[2]


def _published(claim: ClaimResult) -> str:
    """Return the protocol's symbol, the published number, and whether the sizes agree."""
    size = closeness(claim)
    sign = SIGNS[claim.protocol] if claim.protocol else ""
    return " ".join(
        part for part in (sign, claim.published, size and f"({size.text})") if part
    )


def _of_all(kept: Board) -> Iterator[str]:
    """Yield the remarks on the verdicts as a whole, each as a Markdown list item."""
    for protocol, sign in SIGNS.items():
        of = tally(claim for claim in kept.claims if claim.protocol == protocol)[
            "papers"
        ]
        if shown := ", ".join(f"{n} {verdict}" for verdict, n in of.items() if n):
            yield f"- {sign} {protocol}, {sum(of.values())} claims of the papers: {shown}"
    if corrected := sum(map(_was_corrected, kept.claims)):
        yield (
            f"- {plural(corrected, 'claim')} of these were stated as closer to the paper than "
            "their settings are, and corrected on the same seeds (see their rows)"
        )
    if sentences := tally_sentences(kept.claims):
        shown = ", ".join(f"{sentences[kind]} {kind}" for kind in SENTENCES)
        number = plural(sentences.total(), "sentence")
        yield f"- {number} of papers quoted, each counted once: {shown}"
    words = ("never", "once", "twice", "more often")
    often = Counter(words[min(claim.version, len(words)) - 1] for claim in kept.claims)
    said = ", ".join(f"{often[word]} {word}" for word in words if often[word])
    yield f"- changed since they were stated: of {len(kept.claims)} claims {said}"
    changed = sum(map(_was_judged_by_mean, kept.claims))
    if changed:
        yield f"- {changed} had another verdict {BY_MEAN}, before the ledger (see their rows)"
    yield f"- {plural(len(kept.withdrawn), 'claim was', 'claims were')} withdrawn (below)"
    judged = [
        claim for claim in kept.claims if claim.p is not None and claim.source != "ours"
    ]
    if judged:
        together = sum(claim.together for claim in kept.claims)
        yield (
            f"- of {len(judged)} decided verdicts on claims of the papers {together} also hold "
            f"together (†, Holm); at most {kept.false_at_most:.1f} of all are expected to be wrong"
        )


def _was_judged_by_mean(claim: ClaimResult) -> bool:
    return any(words.startswith(BY_MEAN) for words in claim.earlier)


def _was_corrected(claim: ClaimResult) -> bool:
    return any(words.startswith(STATED_AS) for words in claim.earlier)


def _more(claim: ClaimResult, hidden: str) -> str:
    earlier = "; ".join(claim.earlier) or "none judged before"
    parts = (
        f"Judged: {claim.rule}." if claim.rule != "typical" else "",
        f"Condition: {claim.condition}." if claim.condition else "",
        f"Deciding case: {claim.case}." if claim.case else "",
        f"About {claim.needed} seeds would decide it." if claim.needed else "",
        f"Note: {claim.why}." if claim.why and claim.why != hidden else "",
        f"Version {claim.version}; {earlier}."
        if claim.version > 1 or claim.earlier
        else "",
        "*A check: it holds by construction.*" if claim.check else "",
        "*Our own claim.*" if claim.source == "ours" and not claim.check else "",
    )
    return "".join(f" {part}" for part in parts if part)
