"""Numerical helpers: intervals and quantiles in plain Python, and decompositions of matrices."""
