"""Worlds of graphs: the config, its built-in shapes, and the facts that state edges."""
