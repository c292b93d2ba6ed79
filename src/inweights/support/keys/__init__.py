"""Compute the part of a run's key for a user's files and code: contents, sources, addresses."""
