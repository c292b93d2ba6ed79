"""What must follow from the facts alone, before any training. Nothing here imports torch."""

from inweights.theory.advice import Advice, Remedy, bridges
from inweights.theory.largest_part import largest_part
from inweights.theory.nuclear_norm import Solution, solve
from inweights.theory.prediction import Prediction, predict, predicted_queries
from inweights.theory.program import Program
from inweights.theory.soft_program import SoftSolution, decay_path, solve_soft
from inweights.theory.symmetric import (
    Parameters,
    SymmetricSolution,
    average,
    solve_symmetric,
    without_identity,
)
from inweights.theory.transfer import transfer_margin

__all__ = [
    "Advice",
    "Parameters",
    "Prediction",
    "Program",
    "Remedy",
    "SoftSolution",
    "Solution",
    "SymmetricSolution",
    "average",
    "bridges",
    "decay_path",
    "largest_part",
    "predict",
    "predicted_queries",
    "solve",
    "solve_soft",
    "solve_symmetric",
    "transfer_margin",
    "without_identity",
]
