"""State claims and judge them: scores, targets, verdicts.

A claim (:mod:`~.claim`), which :mod:`~.stating` creates, is a sentence with a
:mod:`~.score` and its :mod:`~.target`. :mod:`~.numbers` reads the score from the tables
of a run, and :mod:`~.verdict` judges it. ``grammar`` builds on this package.
"""
