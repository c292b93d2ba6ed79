"""Batches: the facts that a step reads (``plans``), as sequences (``sequences``, ``worlds``)."""
