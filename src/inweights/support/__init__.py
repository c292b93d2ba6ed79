"""Small tools that every package may use: limits, progress, lazy names."""
