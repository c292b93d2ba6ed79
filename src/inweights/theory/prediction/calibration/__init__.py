"""Give probabilities of predicted answers, by a fit to trained models.

:mod:`~.features` computes the inputs of the fit, :mod:`~.fitted` contains the fit.
"""
