"""A user's own facts: reading them, remarks on them, their questions and their wording.

``knowledge`` reads triples from any source, ``triples`` makes a world of them,
``questions`` finds what they leave open, and ``wording`` says facts and questions in
English.
"""
