"""What the command line prints: tables for people, JSON for programs, one progress display.

Each command loads what it prints with, and no more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from inweights.support.lazy import lazily

if TYPE_CHECKING:
    from inweights.cli.console.audits import audit, augmented
    from inweights.cli.console.base import cores, flat, progress, solving, written_page
    from inweights.cli.console.catalogue import ahead, cited, described, recipes
    from inweights.cli.console.claims import board, settled
    from inweights.cli.console.forecast import prediction
    from inweights.cli.console.language import epoch, evaluated, finetuned, mask
    from inweights.cli.console.machines import status
    from inweights.cli.console.results import compared, exported, outcome, runs
    from inweights.cli.console.worlds import world

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
