"""Compare the settings of recipes with the statements of their papers and the papers' code."""
