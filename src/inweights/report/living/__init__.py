"""Figures that move: the atlas, the explorer and the player of a training."""
