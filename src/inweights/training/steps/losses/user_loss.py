"""Users' loss functions and penalties, which are called at each step and checked at the first.

:class:`UserLoss` replaces :class:`~inweights.training.steps.losses.loss.Loss` in a
phase with a user's loss or penalty. The checks find functions that return a shape other
than ``[R]``, have no gradient, or make the loss of one replica depend on another.
Shapes: ``R`` replicas, ``n`` labels, ``K`` candidates.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from inweights.errors import ConfigError
from inweights.models.base import Model
from inweights.support.keys.code import Code
from inweights.training.batches.batch import Batch
from inweights.training.checkpoint import ReplicaState
from inweights.training.curriculum import Phase
from inweights.training.steps.losses.loss import Loss
from inweights.worlds.arrays import Float, Int


class UserLoss:
    """Loss of a phase with a user's loss function, a user's penalty, or both.

    An instance is called with a :class:`~inweights.training.batches.batch.Batch`, and
    returns the loss of each replica, ``[R]``. Errors of a penalty propagate.

    Args:
        model: The model, with ``R`` replicas.
        phase: The phase, whose ``loss`` or ``penalty`` is the user's function.
        state: Training state, whose ``step`` (counted from 0 in the phase) is passed to
            the penalty.

    Raises:
        ConfigError: At the first call of the instance: a function is not in an imported
            module, returns a tensor of a shape other than ``[R]``, or makes the loss of
            one replica depend on another; or a loss function raises an error, has no
            gradient, or has no argument ``weights`` although the weights of roles
            differ.
    """

    def __init__(self, model: Model, phase: Phase, state: ReplicaState) -> None:
        """Store the arguments of the user's loss function or penalty; neither is called yet.

        Args:
            model: The model, with ``R`` replicas.
            phase: The phase, whose ``loss`` or ``penalty`` is the user's function.
            state: Training state, whose ``step`` (counted from 0 in the phase) is
                passed to the penalty.
        """
        self._model = model
        self._state = state
        self._built_in = Loss(model, phase.precision)
        self._loss = phase.loss if isinstance(phase.loss, Code) else None
        self._penalty = phase.penalty
        self._unchecked = True

    def __call__(self, batch: Batch) -> Float[Tensor, " R"]:
        if self._loss is None:
            total = self._built_in(batch)
        else:
            total = self._by_function(self._loss, batch)
        if self._penalty is not None:
            penalty = self._penalty.load()(self._model, self._state.step)
            if self._unchecked:
                _check_shape(
                    self._penalty, "the model and a step", penalty, self._model.replicas
                )
                self._check_rows(self._penalty, penalty)
            total = total + penalty
        self._unchecked = False
        return total

    def _by_function(self, code: Code, batch: Batch) -> Float[Tensor, " R"]:
        """Return the losses from a user's function, and check them at the first call."""
        function = code.load()
        logits, labels, weights = self._built_in.logits(batch)
        given = {}
        if "weights" in inspect.signature(function).parameters:
            given["weights"] = weights
        if not self._unchecked:
            found: Tensor = function(logits, labels, **given)
            return found
        if not given and not torch.allclose(weights, weights[:, :1]):
            raise ConfigError(
                f"the roles have different weights, which the loss {code.name} ignores; give it a "
                "third argument, weights, of shape [R, n] (they sum to 1 for each replica)"
            )
        what = f"logits {list(logits.shape)} ([R, n, K]) and targets {list(labels.shape)} ([R, n])"
        try:
            found = function(logits, labels, **given)
        except (RuntimeError, ValueError, TypeError, IndexError) as error:
            raise ConfigError(
                f"the loss {code.name} failed on {what} with {type(error).__name__}: {error}; "
                f"it must return a tensor of shape [{self._model.replicas}]"
            ) from error
        _check_shape(code, what, found, self._model.replicas)
        given_weights = weights if given else None
        _check_alone(code, function, logits.detach(), labels, given_weights)
        if not found.requires_grad:
            raise ConfigError(
                f"the loss {code.name} must depend on the logits through "
                "differentiable operations; it returned a tensor that does not require grad"
            )
        return found

    def _check_rows(self, code: Code, found: Float[Tensor, " R"]) -> None:
        """Raise an error if one replica's penalty depends on another's parameters."""
        moving = [p for p in self._model.parameters() if p.requires_grad]
        if len(found) == 1 or not found.requires_grad:
            return
        # The first replica's penalty may have gradients only in its own rows.
        gradients = torch.autograd.grad(
            found[0],
            moving,
            retain_graph=True,
            materialize_grads=True,
            allow_unused=True,
        )
        if any(bool(g[1:].any()) for g in gradients):
            raise _mixing(code, "sum over every axis of a parameter but the first")


def _check_shape(code: Code, what: str, found: Any, replicas: int) -> None:
    """Raise an error unless a function returned one number per replica.

    In the message, ``what`` describes the input of the function.
    """
    shape = list(found.shape) if isinstance(found, Tensor) else type(found).__name__
    if shape != [replicas] or not found.is_floating_point():
        raise ConfigError(
            f"{code.name} must return a tensor of shape [R], here [{replicas}], one number per "
            f"replica; for {what} it returned {shape}. Average over every axis but the first: "
            "values.flatten(1).mean(1)"
        )


@torch.no_grad()
def _check_alone(
    code: Code,
    function: Callable[..., Tensor],
    logits: Float[Tensor, "R n K"],
    labels: Int[Tensor, "R n"],
    weights: Float[Tensor, "R n"] | None,
) -> None:
    """Raise an error if the loss of one replica changes when there is a second one."""

    def value(*scales: float) -> Tensor:
        """Return the losses of copies of the first replica, one per factor of its logits."""
        rows = [0] * len(scales)
        given = {} if weights is None else {"weights": weights[rows]}
        scaled = logits[rows] * logits.new_tensor(scales).view(-1, 1, 1)
        return function(scaled, labels[rows], **given)

    alone = value(1.0)
    beside = value(1.0, -3.0)  # a second replica with very different logits
    # Sums of a different length may be rounded differently, so that the values need
    # only be close.
    same = torch.allclose(alone[0], beside[0], rtol=1e-4, equal_nan=True)
    if beside.shape != (2,) or not same:
        raise _mixing(code, "reduce over every axis but the first")


def _mixing(code: Code, hint: str) -> ConfigError:
    return ConfigError(
        f"{code.name} mixes replicas: its value for one replica depends on other "
        "replicas, so the results of a run would depend on whether it is trained together with "
        f"others; {hint}"
    )
