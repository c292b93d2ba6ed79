"""Batches: the facts of a step (``plans``), as sequences (``sequences``, ``worlds``)."""
