"""Compute what Feature Resemblance proves of a one-layer transformer, and test its lemmas.

:mod:`~.resemblance` predicts cosines from the facts alone; the other modules evaluate
gradients, stages of training and random starts, which recipes turn into claims.
"""
