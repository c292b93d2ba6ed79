"""Probes of how embeddings lie: cosines, spectra, arrangements, named and reference geometries."""
