"""Probes of the geometry of embeddings over a graph.

Recall and cosines, rank correlation with hops, spectral energy, margins, arrangements
in few dimensions, and embeddings from elsewhere. All read a model's node vectors
through ``cosines``.
"""
