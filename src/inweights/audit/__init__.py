"""A user's own facts: what a model will be able to conclude from them, and what to add."""

from inweights.audit.audit import Audit, audit

__all__ = ["Audit", "audit"]
