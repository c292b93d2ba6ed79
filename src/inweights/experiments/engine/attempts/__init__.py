"""Execute a task: build and train models, measure them, and store the tables."""
