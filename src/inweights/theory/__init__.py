"""What must follow from the facts alone, before any training. Nothing here imports torch."""

from inweights.theory.closed_form import MARGIN_LIMIT, ClosedForm, closed_form
from inweights.theory.margin_bounds import margin_bounds
from inweights.theory.nuclear_norm import Solution, solve
from inweights.theory.prediction import Advice, Prediction, bridges, predict, predicted_queries
from inweights.theory.program import Program
from inweights.theory.symmetric import Parameters, average
from inweights.theory.symmetric_solver import SymmetricSolution, solve_symmetric

__all__ = [
    "MARGIN_LIMIT",
    "Advice",
    "ClosedForm",
    "Parameters",
    "Prediction",
    "Program",
    "Solution",
    "SymmetricSolution",
    "average",
    "bridges",
    "closed_form",
    "margin_bounds",
    "predict",
    "predicted_queries",
    "solve",
    "solve_symmetric",
]
