"""Worlds of graphs: the config, its built-in shapes, and what the facts of edges are."""
