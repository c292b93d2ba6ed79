"""Fine-tune a language model on facts, write it to a folder, and estimate the cost in advance.

:mod:`~.tuning` contains the training loop, :mod:`~.fine_tune` its settings, and
:mod:`~.job` the function behind the command ``inweights finetune``, from files to a
folder.
"""
