"""Read rows of facts from delimited text and from JSON, and report files without facts."""
