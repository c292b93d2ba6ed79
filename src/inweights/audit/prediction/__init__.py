"""Predict which questions about facts are answered: with a convex program, or by training."""
