"""Recipes of *Geometric Memory*: graphs small enough to be looked at."""
