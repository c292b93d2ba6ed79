"""What must follow from the facts alone, before any training. Nothing here imports torch."""

from inweights.theory.nuclear_norm import Solution, solve
from inweights.theory.prediction import Advice, Prediction, bridges, predict, predicted_queries
from inweights.theory.program import Program
from inweights.theory.symmetric import (
    Parameters,
    SymmetricSolution,
    average,
    solve_symmetric,
    without_identity,
)

__all__ = [
    "Advice",
    "Parameters",
    "Prediction",
    "Program",
    "Solution",
    "SymmetricSolution",
    "average",
    "bridges",
    "predict",
    "predicted_queries",
    "solve",
    "solve_symmetric",
    "without_identity",
]
