"""Write a JSON file and a badge for each claim, at the stable address ``claims/<claim>.json``."""

from __future__ import annotations

import json
from pathlib import Path

from inweights.config import to_plain
from inweights.experiments.claims.claim_result import ClaimResult
from inweights.report.base.html import escape
from inweights_site.board import entries
from inweights_site.recipe_page import COLOURS

__all__ = ["badge", "write"]


def write(folder: Path) -> None:
    """Write all claims into a folder, and ``index.json`` with their names and verdicts."""
    index = {}
    for entry in entries():
        for claim in entry.claims:
            file = folder / f"{claim.id}.json"
            file.parent.mkdir(parents=True, exist_ok=True)
            page = f"recipes/{entry.recipe.name}.html#{claim.id.rpartition('/')[2]}"
            about = {**to_plain(claim), "recipe": entry.recipe.name, "page": page}
            file.write_text(
                json.dumps(about, ensure_ascii=False, indent=1) + "\n", "utf-8"
            )
            file.with_suffix(".svg").write_text(badge(claim), "utf-8")
            index[claim.id] = claim.verdict
    (folder / "index.json").write_text(json.dumps(index, indent=1) + "\n", "utf-8")


def badge(claim: ClaimResult) -> str:
    """Return a badge with the short name of a claim and its verdict, as SVG."""
    name, verdict = claim.id, claim.verdict
    left, right = 7 * len(name) + 14, 7 * len(verdict) + 14
    colour, wide = COLOURS[verdict], left + right
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="20" role="img" '
        f'aria-label="{escape(name)}: {verdict}"><title>{escape(claim.text)}</title>'
        f'<rect width="{left}" height="20" fill="#40464f"/>'
        f'<rect x="{left}" width="{right}" height="20" fill="{colour}"/>'
        '<g fill="#fff" text-anchor="middle" font-size="11.5" '
        'font-family="Verdana,DejaVu Sans,sans-serif">'
        f'<text x="{left / 2}" y="14" textLength="{left - 12}">{escape(name)}</text>'
        f'<text x="{left + right / 2}" y="14" textLength="{right - 12}">{verdict}</text>'
        "</g></svg>\n"
    )
