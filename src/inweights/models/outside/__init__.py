"""Use other people's PyTorch modules as models with a replica axis.

:mod:`~.wrapping` contains the function :func:`inweights.wrap`, and
:mod:`~.module_configs` contains the configs that it returns. :mod:`~.wrapped` and
:mod:`~.trained_model` contain the models, and :mod:`~.modules` checks the modules that
a factory returns.
"""
