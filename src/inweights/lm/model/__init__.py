"""Load language models, read their training data, score and continue texts.

:mod:`~.load`, :mod:`~.data` and :mod:`~.score` are what ``lm/tuning`` and ``lm/exams``
build on.
"""
