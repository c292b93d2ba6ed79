"""Checks of a user's facts that need no other source: remarks on names, values and relations.

``remarks`` yields all remarks; the other modules recognise dates, placeholders, damaged
names, and cells with several values.
"""
