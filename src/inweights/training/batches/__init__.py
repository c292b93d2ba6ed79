"""Batches: which facts a step reads (``plans``), as which sequences (``sequences``, ``worlds``)."""
