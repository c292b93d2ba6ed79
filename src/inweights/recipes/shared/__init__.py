"""Share code between recipes of several papers."""
