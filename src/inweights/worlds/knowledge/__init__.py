"""A user's own facts: read them, check them, and express them as sentences and questions.

``knowledge`` reads triples from any source, ``triples`` builds a world from them,
``questions`` finds questions that they do not answer directly, and ``wording`` states
facts and questions in English.
"""
