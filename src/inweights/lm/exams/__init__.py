"""Evaluate a language model on questions with candidates, before and after fine-tuning.

:mod:`~.questions` reads questions, :mod:`~.evaluate` scores answers, :mod:`~.compare`
compares the answers before and after training, and :mod:`~.report` combines all of this
for ``inweights evaluate``.
"""
