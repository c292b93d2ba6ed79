"""Correct a file of facts: repair names, merge spellings, set doubtful facts apart."""
