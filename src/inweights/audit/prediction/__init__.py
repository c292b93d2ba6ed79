"""Predict which questions about facts are answered: by a program, and by short trainings."""
