"""Recipes that go beyond the papers."""

from inweights.lab import Paper

__all__ = ["PAPER"]

PAPER = Paper("beyond", "inweights", claims_of="ours")
