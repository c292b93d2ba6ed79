"""Recipes of our own experiments, which go beyond the papers."""
