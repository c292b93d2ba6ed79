"""Use other people's PyTorch modules as models with a replica axis.

:mod:`~.wrapping` contains the function :func:`inweights.wrap`, :mod:`~.module_configs`
its configs, :mod:`~.wrapped` and :mod:`~.trained_model` the models, and
:mod:`~.modules` checks what a factory makes.
"""
