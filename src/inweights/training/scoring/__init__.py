"""Logits, scores and ranks of a model's answers to the facts or queries of its worlds.

:func:`answer_logits`, :func:`answer_scores` and :func:`answer_ranks` are the basis of
probes of accuracy and margins, and of stop rules of training.
"""

from inweights.training.scoring.answers import (
    MAX_LOGITS,
    answer_blocks,
    answer_columns,
    answer_logits,
    answer_ranks,
)
from inweights.training.scoring.right_answers import (
    RightPlaces,
    Scores,
    answer_scores,
    are_right,
    right_places,
)

__all__ = [
    "MAX_LOGITS",
    "RightPlaces",
    "Scores",
    "answer_blocks",
    "answer_columns",
    "answer_logits",
    "answer_ranks",
    "answer_scores",
    "are_right",
    "right_places",
]
