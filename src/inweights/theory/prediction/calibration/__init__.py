"""Give probabilities of predicted answers, by a fit to trained models.

:mod:`~.features` computes what the fit reads, :mod:`~.fitted` has the fit.
"""
