"""Pages of runs, audits and predictions, and files that are exported from a run."""
