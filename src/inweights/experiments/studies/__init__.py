"""Run sweeps and study files, add seeds to undecided claims, and estimate costs."""
