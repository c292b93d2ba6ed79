"""Probes of the geometry of embeddings over a graph.

They measure recall and cosines, rank correlation with hops, spectral energy, margins,
arrangements in few dimensions, and embeddings from other programs. All read a model's
node vectors by the functions of ``vectors.py``.
"""
