"""Worlds made from graphs: the config, built-in shapes, and facts that state edges."""
