"""Estimate the probability that a model answers a query correctly, with a fit to trained models.

:mod:`~.features` computes the inputs of the fit, and :mod:`~.fitted` contains the fit.
"""
