"""What must follow from the facts alone, before any training. Nothing here imports torch."""

from inweights.theory.advice import Advice, Remedy, bridges
from inweights.theory.closed_form import MARGIN_LIMIT, ClosedForm, closed_form
from inweights.theory.largest_part import largest_part
from inweights.theory.margin_bounds import margin_bounds
from inweights.theory.nuclear_norm import Solution, solve
from inweights.theory.prediction import Prediction, predict, predicted_queries
from inweights.theory.program import Program
from inweights.theory.soft_program import SoftSolution, decay_path, solve_soft
from inweights.theory.symmetric import Parameters, average
from inweights.theory.symmetric_solver import SymmetricSolution, solve_symmetric
from inweights.theory.transfer import transfer_margin

__all__ = [
    "MARGIN_LIMIT",
    "Advice",
    "ClosedForm",
    "Parameters",
    "Prediction",
    "Program",
    "Remedy",
    "SoftSolution",
    "Solution",
    "SymmetricSolution",
    "average",
    "bridges",
    "closed_form",
    "decay_path",
    "largest_part",
    "margin_bounds",
    "predict",
    "predicted_queries",
    "solve",
    "solve_soft",
    "solve_symmetric",
    "transfer_margin",
]
