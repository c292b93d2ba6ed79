"""Families of worlds that are generated from a few settings and a seed, one per file.

Each config has a method ``build(seed)`` that returns a
:class:`~inweights.worlds.World`.
"""
