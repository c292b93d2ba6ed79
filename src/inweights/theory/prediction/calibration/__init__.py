"""Probabilities of predicted answers, fitted to trained models."""
