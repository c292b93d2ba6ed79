"""Statistics in plain Python, which verdicts and tables share: intervals and their quantiles."""
