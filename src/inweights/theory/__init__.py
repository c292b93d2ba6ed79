"""What must follow from the facts alone, before any training. Nothing here imports torch."""

from inweights.theory.feature_resemblance.transfer import transfer_margin
from inweights.theory.prediction.advice import Advice, Remedy, bridges
from inweights.theory.prediction.largest_part import largest_part
from inweights.theory.prediction.margin_bounds import margin_bounds
from inweights.theory.prediction.predict import Prediction, predict, predicted_queries
from inweights.theory.programs.closed_form import MARGIN_LIMIT, ClosedForm, closed_form
from inweights.theory.programs.nuclear_norm import Solution, solve
from inweights.theory.programs.program import Program
from inweights.theory.programs.soft_program import SoftSolution, decay_path, solve_soft
from inweights.theory.programs.symmetric import Parameters, average
from inweights.theory.programs.symmetric_solver import SymmetricSolution, solve_symmetric

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
