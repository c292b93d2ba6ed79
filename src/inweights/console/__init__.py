"""What the command line prints: tables for people, JSON for programs, one progress display."""

from inweights.console.audits import audit, augmented
from inweights.console.base import cores, flat, progress, solving, written_page
from inweights.console.forecast import prediction
from inweights.console.language import evaluated, finetuned, mask
from inweights.console.runs import board, forecast, outcome, recipes, runs, settled, world

__all__ = [
    "audit",
    "augmented",
    "board",
    "cores",
    "evaluated",
    "finetuned",
    "flat",
    "forecast",
    "mask",
    "outcome",
    "prediction",
    "progress",
    "recipes",
    "runs",
    "settled",
    "solving",
    "world",
    "written_page",
]
