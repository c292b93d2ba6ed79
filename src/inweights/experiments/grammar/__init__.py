"""Describe experiments as data: trials, measures, plans, what is varied, figures, recipes."""
