"""What our own recipes share: where they come from."""

from __future__ import annotations

from inweights.lab import Paper

__all__ = ["PAPER"]

PAPER = Paper("beyond", "inweights", claims_of="ours")
