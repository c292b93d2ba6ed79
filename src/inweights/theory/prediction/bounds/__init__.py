"""Bounds on the margin of a query over all near-optimal solutions of a program.

:mod:`~.bounds.margin_bounds` computes both ends of each interval, and
:mod:`~.bounds.lower_bound` computes a single lower bound.
"""
