"""Correct a file of facts: repair names, unify spellings, and separate doubtful facts."""
