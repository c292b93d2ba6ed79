"""Compute what Feature Resemblance proves about a one-layer transformer, and test its lemmas.

:mod:`~.resemblance` predicts cosines from the facts alone; the other modules evaluate
gradients, stages of training and random initialisations. Recipes base claims on their
results.
"""
