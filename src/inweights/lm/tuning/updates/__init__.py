"""Update a model on a batch of examples: run the model on it, and compute the loss.

:mod:`~.objective` performs an update. A batch is padded (:mod:`~.reading`) or packed
(:mod:`~.packing`); :mod:`~.low_rank` computes a frozen layer and its adapter together.
"""
