"""Load language models, read their training data, and score and continue texts.

``lm/tuning`` and ``lm/exams`` build on :mod:`~.load`, :mod:`~.data` and :mod:`~.score`.
"""
