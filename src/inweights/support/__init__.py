"""Utilities for every package, which do not depend on worlds, models or experiments."""
