"""Whole pages (runs, audits, predictions) and files that are exported from a run."""
