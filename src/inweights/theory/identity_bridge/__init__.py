"""Evaluate the proofs of Identity Bridge (App. A) numerically.

:mod:`~.proof` evaluates the theorems and lemmas, and :mod:`~.proof_kkt` evaluates
problem (11). Recipes turn the resulting tables into claims.
"""
