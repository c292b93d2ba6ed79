"""A user's own facts: read them, check them, and word them as sentences and questions.

``knowledge`` reads triples from any source, ``triples`` makes a world of them,
``questions`` finds what they leave open, and ``wording`` states facts and questions in
English.
"""
