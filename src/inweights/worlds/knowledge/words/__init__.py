"""Express a user's facts in English: phrases for relations, sentences, and questions.

The public class is :class:`~inweights.worlds.Wording`.
"""
