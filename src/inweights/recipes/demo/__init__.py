"""The demonstration recipe, which returns a figure and a verdict within about a minute."""
