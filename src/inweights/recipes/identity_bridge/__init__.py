"""Recipes that reproduce the figures and proofs of *Identity Bridge*."""
