"""Worlds that are generated from a few settings, a file each."""
