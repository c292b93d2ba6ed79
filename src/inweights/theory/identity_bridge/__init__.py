"""Evaluate the proofs of Identity Bridge (App. A) as numbers.

:mod:`~.proof` has the theorems and lemmas, :mod:`~.proof_kkt` problem (11); recipes
turn their tables into claims.
"""
