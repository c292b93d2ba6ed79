"""Recipes of our own, which go beyond the papers."""
