"""Compute what Geometric Memory proves about graphs: spectra, Node2Vec's dynamics, storage costs.

:mod:`~.spectral` computes spectra, :mod:`~.node2vec` runs the dynamics of appendix F,
and :mod:`~.storage` builds the constructions of appendix E. Probes of geometry and
recipes use these modules.
"""
