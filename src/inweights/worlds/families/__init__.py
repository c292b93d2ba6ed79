"""Families of worlds that are generated from settings and a seed, one family per file.

Each config has a method ``build(seed)`` that returns a
:class:`~inweights.worlds.World`.
"""
