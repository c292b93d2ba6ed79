"""Claims across runs: what was stated before, in which version, the scores, and the board."""
