"""Ways to use the engine: sweeps, study files, more seeds, cost estimates."""
