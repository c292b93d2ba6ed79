"""Recipes of *Geometric Memory*."""
