"""One update of a phase: the batch, its losses and gradients, and the optimizer's step.

A :class:`PhaseUpdate` builds the batches, the loss and the optimizer of one phase, and
each call makes the next update. The loop (``loop.py``) creates one instance per phase.
Shapes: ``R`` replicas, ``P`` parameters of one replica.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor

from inweights.support.keys.code import Code
from inweights.training import records
from inweights.training.batches.batch import Batch
from inweights.training.batches.plans import Batches
from inweights.training.checkpoint import ReplicaState
from inweights.training.curriculum import Optimizer
from inweights.training.scoring import answer_blocks, answer_columns
from inweights.training.setup import TrainingSetup
from inweights.training.shards import Shards
from inweights.training.steps.flat_parameters import FlatParameters
from inweights.training.steps.losses.loss import Loss
from inweights.training.steps.losses.user_loss import UserLoss
from inweights.training.steps.optimizers.fused import (
    build_optimizer,
    load_state,
    state_of,
)
from inweights.training.steps.optimizers.own import OwnOptimizer
from inweights.training.steps.recording.captured import CapturedUpdate, Update
from inweights.training.steps.recording.recorded import Losses, RecordedLosses
from inweights.worlds.arrays import Bool, Float

#: Tensors by name, as a checkpoint stores them.
OptimizerState = dict[str, Tensor]

#: Smallest number of steps of a phase that is recorded, as recording the kernels of a
#: step takes about as long as twenty steps.
MIN_STEPS_RECORDED = 50
#: Maximum number of parameters times tokens of a step that is recorded. Above it,
#: kernels take so long that Python's overhead is negligible, while a recording needs
#: memory for all intermediate results.
MAX_WORK_RECORDED = 2**33


class PhaseUpdate:
    """The updates of one phase; each call of an instance updates the parameters once.

    Args:
        setup: Objects that all phases share.
        state: State of the training, from which each call reads the index of the phase
            and the next step. If it contains a state of the optimizer, this state is
            loaded.

    Attributes:
        batches: The batches of the phase.

    Raises:
        ConfigError: A user's optimizer or observer cannot be loaded or created, the
            loss names a token that an answer does not have, or a step is to be captured
            and the model is not on a GPU.
        DataError: The worlds do not contain the phase's roles or tokens, the model has
            no logit for a label, or replicas have different numbers of distinct inputs
            to pool.
    """

    def __init__(self, setup: TrainingSetup, state: ReplicaState) -> None:
        """Prepare the phase with index ``state.phase``; :class:`PhaseUpdate` lists the errors."""
        phase = setup.phases[state.phase]
        parameters = setup.parameters
        moving = parameters.moving(phase.moves, phase.freezes)
        settings = [one.phases[state.phase].optimizer for one in setup.curricula]
        self._setup = setup
        self._state = state
        self._phase = phase
        self.batches = Batches(
            setup.model, setup.worlds, phase, setup.seeds, state.phase
        )
        self._build_optimizer(settings, moving)
        self._peak_rates = [group["lr"] for group in self._optimizer.param_groups]
        self._load_optimizer(state.optimizer)
        self._observers = list(map(records.observer_of, phase.observers))

        compute = self._gradients_of(moving)
        if phase.optimizer.noise:
            compute = partial(_with_noise, compute, self._add_noise)
        update: Update = partial(
            update_parameters, compute, parameters, self._optimizer, setup.shards
        )
        if setup.cuda_graph and not isinstance(self._optimizer, OwnOptimizer):
            update = CapturedUpdate(update, self._optimizer, parameters.values.device)
        self._update = update
        self.freeze(state.stopped >= 0)

    def __call__(self) -> Float[Tensor, " R"]:
        """Make the update of the state's step, and return the losses before it, ``[R]``.

        Raises:
            ConfigError: A user's schedule, loss, penalty or optimizer returns an
                invalid value or cannot be loaded; random offsets do not fit the model;
                or a batch has fewer sequences than there are processes.
        """
        state = self._state
        parameters = self._setup.parameters
        self._set_rates(self._phase.schedule.factor(state.step, self._phase.steps))
        before = parameters.values[self._frozen] if len(self._frozen) else None
        batch = self.batches.at(state.step)
        if self._setup.shards:
            batch = self._setup.shards.part(batch)
        with self._setup.dropout.at(state.phase, state.step):
            losses = self._update(batch)
        records.notify_step(
            self._observers, parameters, self._phase, state.total + 1, losses
        )
        # Frozen rows take part in the update, since changing shapes would cost more,
        # and are then restored.
        if before is not None:
            parameters.values[self._frozen] = before
        return losses

    @torch.no_grad()
    def meets_stop_rule(self, losses: Float[Tensor, " R"]) -> Bool[Tensor, " R"]:
        """Return which of ``R`` replicas meet the phase's stop rule, ``[R]``, on the CPU.

        If the rule has an accuracy limit, the accuracy is measured: the fraction of the
        phase's facts for which the first token of the answer has the largest logit. If
        the phase has no stop rule, the result is false for every replica.

        Args:
            losses: The last loss of each replica, ``[R]``, which is compared with
                ``stop.loss_below``.
        """
        stop = self._phase.stop
        model = self._setup.model
        met = torch.zeros(model.replicas, dtype=torch.bool)
        if stop.loss_below is not None:
            met |= losses.cpu() < stop.loss_below
        if stop.accuracy is not None:
            worlds = self._setup.worlds
            facts = self.batches.facts
            answers = answer_columns(model, worlds, "facts", facts)
            right = torch.zeros_like(answers, dtype=torch.bool)
            for rows, logits in answer_blocks(model, worlds, "facts", facts):
                right[:, rows] = logits.argmax(-1) == answers[:, rows]
            met |= right.float().mean(1).cpu() >= stop.accuracy
        return met

    def freeze(self, stopped: Bool[Tensor, " R"]) -> None:
        """Keep the parameters of stopped replicas unchanged in all later updates.

        Args:
            stopped: Which replicas have stopped, ``[R]``; all others are trained.
        """
        rows = stopped.nonzero().flatten()
        self._frozen = rows.to(self._setup.parameters.values.device)

    @property
    def all_frozen(self) -> bool:
        """Whether the parameters of all replicas are frozen."""
        return len(self._frozen) == self._setup.model.replicas

    def optimizer_state(self) -> OptimizerState:
        """Return the optimizer's state as a dictionary of tensors, as a checkpoint stores it.

        Raises:
            ConfigError: The state of a user's optimizer contains a value that a
                checkpoint cannot store.
        """
        state = self._optimizer_state()
        if self._setup.shards:
            self._setup.shards.gather(state)
        return state

    def _build_optimizer(
        self, settings: Sequence[Optimizer], moving: Sequence[int]
    ) -> None:
        """Build the phase's optimizer, and the functions that load and return its state."""
        parameters = self._setup.parameters
        self._optimizer: torch.optim.Optimizer | OwnOptimizer
        if isinstance(self._phase.optimizer.kind, Code):
            own = OwnOptimizer(parameters, settings, moving)
            self._load_optimizer: Callable[[OptimizerState], None] = own.load
            self._optimizer_state: Callable[[], OptimizerState] = own.state
            self._optimizer = own
        else:
            fused = build_optimizer(parameters, settings, moving, self._setup.columns)
            self._load_optimizer = partial(load_state, fused, parameters)
            self._optimizer_state = partial(state_of, fused, parameters)
            self._optimizer = fused

    def _gradients_of(self, moving: Sequence[int]) -> Losses:
        """Return the function that computes the losses and gradients of a batch."""
        setup = self._setup
        phase = self._phase
        loss: Loss | UserLoss
        if isinstance(phase.loss, Code) or phase.penalty is not None:
            loss = UserLoss(setup.model, phase, self._state)
        else:
            loss = Loss(setup.model, phase.precision)
        compute: Losses = partial(compute_gradients, loss, setup.parameters, moving)
        if isinstance(loss, Loss) and self._worth_recording():
            compute = RecordedLosses(compute, setup.parameters.gradients)
        return compute

    def _worth_recording(self) -> bool:
        """Return whether recording a step saves time, because the phase has many short steps."""
        values = self._setup.parameters.values
        if values.device.type != "cpu" or self._setup.dropout.active:
            return False
        work = values.numel() * self.batches.tokens
        return self._phase.steps >= MIN_STEPS_RECORDED and work <= MAX_WORK_RECORDED

    def _set_rates(self, factor: float) -> None:
        groups = self._optimizer.param_groups
        for group, rate in zip(groups, self._peak_rates, strict=True):
            group["lr"] = rate * factor

    def _add_noise(self) -> None:
        """Add the random noise of the current step to the gradients of each replica."""
        noise = self._phase.optimizer.noise
        state = self._state
        self._setup.parameters.add_noise(
            noise, self._setup.seeds, state.phase, state.step
        )


def compute_gradients(
    loss: Callable[[Batch], Float[Tensor, " R"]],
    parameters: FlatParameters,
    moving: Sequence[int],
    batch: Batch,
) -> Float[Tensor, " R"]:
    """Compute the loss of each replica on a batch, and write its gradient to the matrix.

    Args:
        loss: Function that returns the loss of each replica, ``[R]``, with a graph for
            autograd.
        parameters: Parameters whose ``gradients`` are overwritten in the columns of
            trained parameters.
        moving: Indices of the trained parameters, as returned by
            :meth:`FlatParameters.moving`.
        batch: The batch.

    Returns:
        The losses ``[R]`` in nats, detached from the graph.
    """
    losses = loss(batch)
    parameters.backward(losses.sum(), moving)
    return losses.detach()


def update_parameters(
    compute: Losses,
    parameters: FlatParameters,
    optimizer: torch.optim.Optimizer | OwnOptimizer,
    shards: Shards | None,
    batch: Batch,
) -> Float[Tensor, " R"]:
    """Update the parameters once, with the gradients of a batch.

    Args:
        compute: Function that returns the losses ``[R]`` of a batch and writes their
            gradients.
        parameters: The matrices of ``P`` parameters and their gradients, ``[R, P]``.
        optimizer: Optimizer of the parameters. A user-defined optimizer may compute
            losses several times per step.
        shards: Object that sums gradients and gathers parameters if several processes
            train one model; otherwise ``None``.
        batch: The batch; with several processes, this process's part of it.

    Returns:
        The loss of each replica before the update, ``[R]``.

    Raises:
        ConfigError: A user's optimizer replaces the memory of parameters, or has a
            state that a checkpoint cannot store (checked at its first step); or a
            user's loss or penalty cannot be loaded or returns an invalid value.
    """
    losses = compute(batch)
    if shards:
        shards.reduce(losses, parameters.gradients)
    if isinstance(optimizer, OwnOptimizer):
        optimizer.step(partial(compute, batch))
    else:
        optimizer.step()
    if shards:
        shards.gather({"values": parameters.values})
    return losses


def _with_noise(
    compute: Losses, add_noise: Callable[[], None], batch: Batch
) -> Float[Tensor, " R"]:
    losses = compute(batch)
    add_noise()
    return losses
