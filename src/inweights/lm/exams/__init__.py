"""Evaluate a language model on questions with candidates, before and after fine-tuning.

:mod:`~.questions` reads questions, :mod:`~.evaluate` scores answers, :mod:`~.compare`
tests before against after, and :mod:`~.report` joins all of it for ``inweights
evaluate``.
"""
