"""Utilities that every package may use, and that do not depend on worlds, models or experiments."""
