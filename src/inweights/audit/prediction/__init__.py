"""Predict which questions about facts are answered, by a convex program or by short trainings."""
