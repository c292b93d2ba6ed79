"""Drawings: tables in, a matplotlib figure out; a file each."""
