"""Predict from the facts alone, before any training, what a model trained on them will answer.

:func:`predict` returns the predicted answers of untrained queries. :class:`Program`
with :func:`solve`, :func:`solve_soft` and :func:`closed_form` returns the optimum that
gradient descent approaches. The theory of each paper is in one of the sub-packages
``identity_bridge``, ``feature_resemblance`` and ``geometric_memory``; recipes compare
it with trained models. Importing this package does not import torch.
"""

from typing import TYPE_CHECKING

from inweights.support.lazy import lazily

if TYPE_CHECKING:
    from inweights.theory.prediction.advice import Advice as Advice
    from inweights.theory.prediction.advice import bridges as bridges
    from inweights.theory.prediction.bounds.margin_bounds import (
        margin_bounds as margin_bounds,
    )
    from inweights.theory.prediction.largest_part import largest_part as largest_part
    from inweights.theory.prediction.predict import predict as predict
    from inweights.theory.prediction.predict import (
        predicted_queries as predicted_queries,
    )
    from inweights.theory.prediction.prediction import Prediction as Prediction
    from inweights.theory.prediction.remedies import Remedy as Remedy
    from inweights.theory.programs.nuclear_norm import Solution as Solution
    from inweights.theory.programs.nuclear_norm import solve as solve
    from inweights.theory.programs.program import Program as Program
    from inweights.theory.programs.soft_program import SoftSolution as SoftSolution
    from inweights.theory.programs.soft_program import decay_path as decay_path
    from inweights.theory.programs.soft_program import solve_soft as solve_soft
    from inweights.theory.programs.transfer import transfer_margin as transfer_margin
    from inweights.theory.programs.two_hop.averaging import average as average
    from inweights.theory.programs.two_hop.closed_form import (
        MARGIN_LIMIT as MARGIN_LIMIT,
    )
    from inweights.theory.programs.two_hop.closed_form import ClosedForm as ClosedForm
    from inweights.theory.programs.two_hop.closed_form import closed_form as closed_form
    from inweights.theory.programs.two_hop.symmetric import Parameters as Parameters
    from inweights.theory.programs.two_hop.symmetric_solver import (
        SymmetricSolution as SymmetricSolution,
    )
    from inweights.theory.programs.two_hop.symmetric_solver import (
        solve_symmetric as solve_symmetric,
    )

lazily(__name__)
