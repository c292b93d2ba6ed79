"""Batches: ``plans`` selects the facts of a step, and ``sequences`` converts them to tensors."""
