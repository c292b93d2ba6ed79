"""Correct a file of facts: repair names, unify spellings, and set doubtful facts aside."""
