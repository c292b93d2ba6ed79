"""Statistics in plain Python, shared by verdicts and tables: intervals and quantiles."""
