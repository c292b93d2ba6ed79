"""What the command line prints: tables for people, JSON for programs, one progress display.

Each command loads what it prints with, and no more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from inweights.lazy import lazily

if TYPE_CHECKING:
    from inweights.console.audits import audit, augmented
    from inweights.console.base import cores, flat, progress, solving, written_page
    from inweights.console.catalogue import ahead, cited, described, recipes
    from inweights.console.claims import board, settled
    from inweights.console.forecast import prediction
    from inweights.console.language import epoch, evaluated, finetuned, mask
    from inweights.console.machines import status
    from inweights.console.results import compared, exported, outcome, runs
    from inweights.console.worlds import world

__all__ = [
    "ahead",
    "audit",
    "augmented",
    "board",
    "cited",
    "compared",
    "cores",
    "described",
    "epoch",
    "evaluated",
    "exported",
    "finetuned",
    "flat",
    "mask",
    "outcome",
    "prediction",
    "progress",
    "recipes",
    "runs",
    "settled",
    "solving",
    "status",
    "world",
    "written_page",
]

_HOMES = {
    "audits": ("audit", "augmented"),
    "base": ("cores", "flat", "progress", "solving", "written_page"),
    "claims": ("board", "settled"),
    "forecast": ("prediction",),
    "language": ("epoch", "evaluated", "finetuned", "mask"),
    "catalogue": ("ahead", "cited", "described", "recipes"),
    "machines": ("status",),
    "results": ("compared", "exported", "outcome", "runs"),
    "worlds": ("world",),
}

__getattr__, __dir__ = lazily(__name__, _HOMES)
