"""Bounds on the margin of a query over all near-optimal solutions of a program.

:mod:`~.bounds.margin_bounds` solves for both ends of each interval,
:mod:`~.bounds.lower_bound` for the lower end of one.
"""
