"""Drawings: tables in, a matplotlib figure out; a file each."""

from inweights.support.lazy import lazily

__all__ = ["DRAWINGS", "draw_for_phone", "drawing", "plot"]

__getattr__, __dir__ = lazily(__name__, {"draw": ("DRAWINGS", "draw_for_phone", "drawing", "plot")})
