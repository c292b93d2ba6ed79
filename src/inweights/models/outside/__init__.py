"""Use other people's PyTorch modules as models with a replica axis.

:mod:`~.wrapping` has the config (:func:`inweights.wrap`), :mod:`~.wrapped` the model,
and
:mod:`~.modules` looks at what a factory makes.
"""
