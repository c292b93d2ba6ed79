"""Compute the part of a run's key that covers a user's files and code."""
