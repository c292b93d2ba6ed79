"""Recipes of *Feature Resemblance: Towards a Theoretical Understanding of Analogical Reasoning*."""
