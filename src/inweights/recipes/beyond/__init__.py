"""Recipes that go beyond the papers."""

from functools import partial

from inweights.lab import Paper

__all__ = ["PAPER", "recipe"]

PAPER = Paper("beyond", "inweights", claims_of="ours")
#: Makes a recipe that stands in no paper.
recipe = partial(PAPER.recipe, place="ours")
