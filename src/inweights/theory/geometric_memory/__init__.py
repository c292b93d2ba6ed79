"""Node2Vec, spectra and storage costs of Geometric Memory."""
