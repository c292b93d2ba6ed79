"""English words for a user's facts: phrases for names of relations, sentences and questions.

The public class is :class:`~inweights.worlds.Wording`.
"""
