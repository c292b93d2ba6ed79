"""A user's own facts: what a model will be able to conclude from them, and what to add."""

from inweights.audit.audit import Audit, audit
from inweights.audit.augment import Augmented, augment, write_augmented

__all__ = ["Audit", "Augmented", "audit", "augment", "write_augmented"]
