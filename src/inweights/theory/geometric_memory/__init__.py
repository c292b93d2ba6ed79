"""Compute what Geometric Memory proves of graphs: spectra, Node2Vec's descent, costs of storage.

:mod:`~.spectral` is the base; :mod:`~.node2vec` runs the dynamics of appendix F,
:mod:`~.storage` the constructions of appendix E. Probes of geometry and recipes build
on them.
"""
