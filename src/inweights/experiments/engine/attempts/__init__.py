"""Attempt a task: build and train models, measure them, and store their tables."""
