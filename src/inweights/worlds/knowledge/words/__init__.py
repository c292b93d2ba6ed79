"""English words for a user's facts: senses of relations' names, sentences and questions.

:class:`~inweights.worlds.Wording` (``wording``) is the public face.
"""
