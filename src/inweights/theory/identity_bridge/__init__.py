"""Evaluate the proofs of Identity Bridge (App. A) numerically.

:mod:`~.proof` contains the theorems and lemmas, :mod:`~.proof_kkt` problem (11);
recipes turn their tables into claims.
"""
