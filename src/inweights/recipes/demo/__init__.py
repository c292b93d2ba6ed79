"""The demonstration, whose figure and verdict come in about a minute."""
