"""Rows of facts, from delimited text and from JSON, and errors for files without facts."""
