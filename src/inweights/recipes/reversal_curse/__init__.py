"""Recipes of *Breaking the Reversal Curse via Identity Bridge* (arXiv 2602.02470), and our own."""
