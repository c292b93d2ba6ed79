"""Recipes of *Identity Bridge*."""
