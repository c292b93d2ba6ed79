"""Show progress while a command works: a line that is updated, or lines of a log."""
