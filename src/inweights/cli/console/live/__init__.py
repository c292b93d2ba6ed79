"""Show progress while a command works: a line that is redrawn, or lines of a log."""
