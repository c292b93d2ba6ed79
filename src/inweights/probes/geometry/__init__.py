"""Probes of the geometry of embeddings over a graph.

They measure recall and cosines, rank correlation with hops, spectral energy, margins,
low-dimensional arrangements, and embeddings from other programs. All probes read a
model's node vectors with the functions of ``vectors.py``.
"""
