"""Look up claims, run times and settings of the built-in recipes without loading the recipes."""
