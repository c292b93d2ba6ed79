"""Measure how a model finds paths in a graph, and what its embeddings alone say of them."""
