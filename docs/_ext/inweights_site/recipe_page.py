"""Write the page of a recipe: its figure, its claims, its settings, and how to run it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from inweights.experiments.claims.claim import NO_TEXT, NO_WORDS, SIGNS
from inweights.experiments.claims.claim_result import ClaimResult
from inweights.experiments.claims.closeness import closeness
from inweights.experiments.engine.outcome import figures_of
from inweights.experiments.grammar.protocols.compare import compare, other_statements
from inweights.experiments.grammar.protocols.differences import WHOSE, table_of
from inweights.experiments.grammar.recipe import split_ours
from inweights.recipes.catalogue.citations import citations
from inweights.recipes.catalogue.minutes import cost_of
from inweights.recipes.catalogue.protocols import SCALE
from inweights.recipes.catalogue.settings import OWN, settings
from inweights.report.pages.beside_paper import in_numbers, in_sentences
from inweights.report.pages.claims import interval_bar
from inweights.support.progress import plural
from inweights_site.board import PAPERS, Entry, picture, tally
from inweights_site.text import code, table, words

__all__ = ["COLOURS", "bibtex", "page", "strip", "took"]

#: Replies of authors, keyed by the names of claims, on a page for each paper.
REPLIES = Path(__file__).parents[2] / "replies"
#: Number of claims that a page shows unfolded.
_OPEN = 30
COLOURS = {
    "reproduced": "#00805f",
    "consistent": "#4d9a86",
    "not reproduced": "#c2560a",
    "not seen in a substitute": "#c99a7a",
    "undecided": "#b58a00",
    "not judged": "#8a93a1",
}
_SIGNS = {
    "reproduced": "✓",
    "consistent": "≈",
    "not reproduced": "✗",
    "not seen in a substitute": "≉",
    "undecided": "?",
    "not judged": "–",
}


def page(entry: Entry) -> str:
    """Return the page as MyST Markdown."""
    recipe = entry.recipe
    return "\n".join(
        [
            "---",
            "html_theme.sidebar_secondary.remove: true",
            "---",
            f"# {words(recipe.title)}",
            "",
            f"{PAPERS[entry.folder]} · {words(recipe.place)} · **{tally(entry.claims)}** · "
            f"{took(recipe.name)}",
            "",
            *_figure(entry),
            words(recipe.summary),
            "",
            "```sh",
            f"inweights run {recipe.name}",
            f"inweights run {recipe.name} --seeds 900..907   # on seeds of your own",
            f"inweights describe {recipe.name}               # every setting, and its cost",
            "```",
            "",
            "## Claims",
            "",
            *_claims(entry.claims),
            "",
            "## Settings",
            "",
            *_settings(entry),
            *_beside_paper(entry),
            "",
            "## Cite",
            "",
            *bibtex(citations(recipe.name)),
            "",
        ]
    )


def took(name: str) -> str:
    """Return the running time of a recipe, as text."""
    return cost_of(name) or "not timed"


def bibtex(entries: Sequence[str]) -> Iterator[str]:
    """Return the lines of a block that can be copied."""
    yield from ("```bibtex", "\n\n".join(entries), "```")


def _figure(entry: Entry) -> Iterator[str]:
    path = picture(entry)
    figures = figures_of(entry.recipe, entry.claims)
    if path and figures:
        figure = figures[0]
        phone = picture(entry, "-phone")
        if phone:
            yield from (f":::{{image}} {phone}", f":alt: {words(figure.title)}")
            yield from (":class: on-white phone", ":::", "")
        kind = "wide" if phone else "scrolled"
        yield from (f":::{{figure}} {path}", f":alt: {words(figure.title)}")
        yield f":class: on-white {kind}"
        yield from ("", f"*{words(figure.title)}.* {words(figure.caption)}", ":::", "")
    rest = figures[1:] if path else figures
    if rest:
        yield from ("", "A run draws also:" if path else "A run draws:", "")
        yield from (
            f"- *{words(figure.title)}.* {words(figure.caption)}" for figure in rest
        )
        yield ""


def _claims(claims: tuple[ClaimResult, ...]) -> Iterator[str]:
    """Return claims in boxes; on a very long page they are folded, and a link unfolds them."""
    yield from _boxes(claims[:_OPEN])
    if rest := claims[_OPEN:]:
        yield from (f":::::{{dropdown}} {plural(len(rest), 'further claim')}", "")
        yield from _boxes(rest)
        yield from (":::::", "")


def _boxes(claims: Sequence[ClaimResult]) -> Iterator[str]:
    for claim in claims:
        short = claim.id.rpartition("/")[2]
        own = " · our own claim" if claim.source == "ours" else ""
        check = " · a check that holds by construction" if claim.check else ""
        yield from (f"::::{{div}} claim {claim.verdict.replace(' ', '-')}", "")
        verdict = f"**{_SIGNS[claim.verdict]} {claim.verdict}**"
        yield f'<span id="{short}"></span>{verdict} {words(claim.text)}'
        yield ""
        if claim.quote:
            yield from (f"> {_quoted(claim)}", "")
        if bar := interval_bar(claim):
            yield from ("```{raw} html", bar, "```", "")
        yield f"{_numbers(claim)}"
        yield ""
        address = f"../../claims/{claim.id}"
        links = f'<a href="{address}.json">JSON</a> · <a href="{address}.svg">badge</a>'
        yield f'<a href="#{short}">{short}</a> · {words(claim.place)}{own}{check} · {links}'
        yield from ("::::", "")


def _quoted(claim: ClaimResult) -> str:
    """Return the quote of the paper, and whether its authors replied."""
    said = f"“{words(claim.quote)}”"
    if claim.quote in (NO_WORDS, NO_TEXT):
        said = f"The paper's words: {claim.quote}."
    return f"{said} Authors: {_reply(claim)}."


def _reply(claim: ClaimResult) -> str:
    file = REPLIES / f"{claim.source}.md"
    if file.exists() and f"\n## {claim.id}\n" in file.read_text("utf-8"):
        return f"{{doc}}`a reply </replies/{claim.source}>`"
    return "no reply yet"


def _numbers(claim: ClaimResult) -> str:
    parts = []
    if claim.measured is not None:
        text = f"measured {claim.measured:.3g}"
        if claim.low is not None and claim.high is not None:
            text += f" ({claim.low:.3g} to {claim.high:.3g})"
        parts.append(text)
    if claim.met:
        parts.append(f"met by {claim.met}")
    if claim.rule != "typical":
        parts.append(f"judged: {claim.rule}")
    if claim.published:
        source, said = claim.number
        parts.append(f"{source}: {words(said)}")
    if size := closeness(claim):
        parts.append(f"size {size.text}")
    if claim.protocol:
        parts.append(f"protocol {SIGNS[claim.protocol]} {claim.protocol}")
    if claim.version > 1:
        parts.append(f"version {claim.version}")
        parts += claim.earlier
    parts.append(f"target {claim.target.text}")
    if claim.condition:
        parts.append(f"condition {code(claim.condition)}")
    if claim.case:
        parts.append(f"deciding case {code(claim.case)}")
    if claim.needed:
        parts.append(f"about {claim.needed} seeds would settle it")
    if claim.why:
        parts.append(words(claim.why))
    return " · ".join(parts)


def _settings(entry: Entry) -> Iterator[str]:
    recipe = entry.recipe
    scales = list(recipe.scales)
    rows = [["seeds", *(str(recipe.seeds[scale]) for scale in scales)]]
    marked = False
    for one in settings(recipe):
        ours = one.ours and recipe.paper != OWN
        marked = marked or ours
        values = (_short(one.values.get(scale, "–")) for scale in scales)
        rows.append([code(one.path) + " \\*" * ours, *map(code, values)])
    yield from table(["setting", *scales], rows)
    if marked:
        yield from (
            "",
            "\\* ours, as the paper gives none; others are the paper's at its scale",
        )
    _, sentences = split_ours(recipe.ours)
    if sentences:
        yield from ("", "Ours, not the paper's:", "")
        yield from (f"- {words(choice)}" for choice in sentences)


def _beside_paper(entry: Entry) -> Iterator[str]:
    """Return a table that compares settings with the values of the paper and its code."""
    recipe = entry.recipe
    if recipe.protocol is None:
        return
    rows = table_of(compare(recipe, SCALE))
    paper = recipe.protocol.paper
    yield from ("", "## Beside the paper", "")
    yield words(
        f"{in_numbers(rows)}, at scale {SCALE}. Text: {paper.version}. Code: {paper.code}."
    )
    shown = [row for row in rows if row.whose in ("ours", "smaller")]
    cells = [
        [
            code(row.setting),
            *map(words, (row.value, WHOSE[row.whose], row.stated, row.why)),
        ]
        for row in shown
    ]
    if cells:
        yield ""
        yield from table(["setting", "here", "whose", "stated", "why"], cells)
    values, _, _ = recipe.resolve(SCALE)
    lines = in_sentences(other_statements(recipe, recipe.plan(values)))
    if lines:
        yield from ("", "Stated, and no setting here:", "")
        yield from (f"- {words(line)}" for line in lines)


def _short(value: Any) -> str:
    if value in ("", [], ()):
        return "empty"
    text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return text if len(text) <= 60 else text[:57] + "…"


def strip(entry: Entry) -> str:
    """Return a small picture with a cell for each verdict, for recipes without a figure."""
    count, wide, high = max(1, len(entry.claims)), 320, 200
    columns = min(count, 8)
    side = min(30.0, (wide - 60) / columns)
    rows = -(-count // columns)
    left, top = (wide - columns * side) / 2, (high - rows * side) / 2
    cells = []
    for place, claim in enumerate(entry.claims):
        x, y = left + place % columns * side, top + place // columns * side
        colour = COLOURS[claim.verdict]
        cells.append(
            f'<rect x="{x + 2:.1f}" y="{y + 2:.1f}" width="{side - 4:.1f}" '
            f'height="{side - 4:.1f}" rx="3" fill="{colour}"/>'
        )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}">'
        + "".join(cells)
        + "</svg>\n"
    )
