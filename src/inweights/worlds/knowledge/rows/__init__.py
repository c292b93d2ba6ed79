"""Rows of facts: from delimited text, from JSON, and the refusal of what holds none."""
