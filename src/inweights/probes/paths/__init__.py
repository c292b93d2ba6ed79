"""Measure how a model finds paths in a graph, and how well its embeddings alone predict them."""
