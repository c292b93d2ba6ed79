"""Predict from the facts alone which queries a trained model answers correctly.

:mod:`~.predict` solves the programs of ``theory/programs`` for a world, in parts if it
is large, and returns a :mod:`~.prediction`. :mod:`~.advice` and :mod:`~.remedies` find
facts to add, :mod:`~.margin_bounds` proves intervals, and :mod:`~.calibration` computes
probabilities. ``audit`` and the command ``predict`` show all of these results.
"""
