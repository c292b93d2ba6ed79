"""Fine-tune a language model on facts, write it to a folder, and estimate the cost before.

:mod:`~.tuning` has the loop, :mod:`~.fine_tune` its settings, :mod:`~.job` what the
command ``inweights finetune`` does from files to a folder.
"""
