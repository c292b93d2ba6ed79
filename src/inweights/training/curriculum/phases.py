"""Settings of a phase of training, and of a curriculum, which is a list of phases.

A :class:`Phase` describes one stage of training, and a :class:`Curriculum` the order of
stages. Both are settings and do not import torch; the loop (``loop.py``) runs them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Literal

import msgspec
from msgspec.structs import force_setattr

from inweights.config import Config, check_size
from inweights.errors import ConfigError, check_names
from inweights.support.keys.code import Code, Taken, as_code, usual
from inweights.training.curriculum.optimizer import (
    MAX_RATE,
    MAX_STEPS,
    Optimizer,
    Schedule,
)
from inweights.training.curriculum.rules import Edit, Stop

__all__ = ["MAX_RATE", "MAX_STEPS", "Optimizer", "Schedule"]  # passed on

Precision = Literal["fp32", "bf16", "bf16-emulated"]
#: Positions at which a loss is computed: a name, or indices of tokens of the answer.
Place = Literal["last", "answer", "every"] | tuple[int, ...]


class Phase(Config):
    """One stage of training: its facts, loss, trained parameters, optimizer and length.

    Attributes:
        name: Name of the phase in tables and messages.
        roles: Roles of the training facts, each with its weight in the loss (its
            multiplicity in the training multiset). If empty, the model is trained on
            all facts with weight 1.
        steps: Number of updates, at least 0; with 0, nothing is trained.
        batch: Number of facts per step, drawn from the facts of each prompt length in
            proportion to their number; 0 for all facts (the full batch). Alternatively
            a number for each role, as in ``{"path": 32}``, where 0 means all facts of
            the role. Roles joined by ``+`` (``edge+reverse_edge``) are drawn together,
            and all facts of roles that are not named are in every step. A label has the
            weight of its role.
        pooled: Whether facts with the same input are combined into one sequence with
            several labels at its last position. Loss and gradient do not change, but
            tokens and logits are computed only once per distinct input. ``batch`` then
            counts distinct inputs.
        loss: Tokens whose cross-entropy is minimised: ``last`` (the last token of the
            answer), ``answer`` (all tokens of the answer), ``every`` (all tokens of
            prompt and answer except the first), or a list of indices of answer tokens,
            counted from 0. Alternatively a user-defined loss function for the tokens that
            ``at`` names: ``function(logits, targets)`` takes tensors ``[R, n, K]`` and
            ``[R, n]`` (``R`` replicas, ``n`` labels, ``K`` candidates) and returns a
            tensor ``[R]``. If the weights of roles differ, the function must also take
            an argument ``weights``, ``[R, n]``, whose entries sum to 1 for each
            replica.
        at: Tokens for which a user's loss function is evaluated; possible values are
            those of ``loss``. It must not be given without such a function.
        penalty: User's function ``function(model, step)`` that returns a tensor
            ``[R]``, which is added to the loss. Steps are counted from 0 in each phase.
            ``None`` for no penalty.
        moves: Patterns of the names of the parameters that are trained, such as
            ``blocks.*`` (as in ``fnmatch``); by default all parameters are trained.
        freezes: Patterns of the names of parameters that are not trained although they
            match ``moves``, such as ``tokens.*``.
        optimizer: An :class:`Optimizer`; a class or function is short for
            ``Optimizer(kind=...)``.
        schedule: A :class:`Schedule` of the learning rate; a function is short for
            ``Schedule(kind=...)``.
        observers: Functions that take a :class:`~inweights.training.Step`, or
            subclasses of :class:`~inweights.training.Observer`, which are instantiated.
            They are called after each update. They may change parameters in place;
            therefore their source code is part of the run's identity.
        teacherless: Name of a token that the model reads instead of the answer's
            tokens, so that it has to plan the whole answer from the prompt (Geometric
            Memory, App. A). If empty, the model reads the correct tokens that precede
            each predicted token (teacher forcing).
        random_offset: Whether each sequence starts at a random position in every step,
            so that all learned position embeddings are trained.
        precision: ``fp32``, or ``bf16``, which is the mixed precision of
            ``torch.autocast``: parameters, their gradients and the optimizer stay in
            fp32; each matrix product of the forward and backward pass rounds its inputs
            and outputs to bfloat16 (and sums in fp32); norms, the residual stream and
            the loss are computed in fp32. ``bf16-emulated`` computes products in fp32,
            and rounds their inputs and results to bfloat16
            (:mod:`inweights.training.steps.losses.rounding`); products inside attention
            are not rounded. With it, the results of a run are bitwise identical whether
            the run is trained alone or together with others, which kernels for bfloat16
            on a CPU do not guarantee.
        stop: Rule by which a replica is frozen before the phase ends; by default there
            is no such rule.
        edit: An :class:`Edit`, which changes the weights before the first step such
            that stored facts get new answers; ``None`` for no edit. Observers measure
            the model before and after the edit. The training facts do not change.

    Raises:
        ConfigError: ``steps`` or a size in ``batch`` is negative; ``batch`` names a
            role twice, or one that is not in a given ``roles``; a weight of a role is
            not above 0 and finite; there is no token to predict or no parameter to
            train; ``at`` is given without a loss function; or a user's function or
            class cannot be stored or loaded. (Whether the world has the roles and the
            model has the parameters is checked when training starts.)
        DataError: A file on which a user's code depends cannot be read.

    Example:
        >>> edges = {"edge": 1.0, "reverse_edge": 1.0}
        >>> Phase(roles=edges | {"path": 1.0}, batch={"path": 32}, pooled=True).batch
        {'path': 32}
    """

    later = {
        "pooled": False,
        "freezes": (),
        "teacherless": "",
        "precision": "fp32",
        "at": "last",
        "penalty": None,
        "observers": (),
        "edit": None,
    }
    newer = ("at", "penalty", "observers", "edit")

    name: str = "train"
    roles: dict[str, float] = {}
    steps: int = 280
    batch: int | dict[str, int] = 0
    pooled: bool = False
    loss: Taken[Place | Code] = usual("last")
    at: Place = "last"
    penalty: Taken[Code | None] = usual(None)
    moves: tuple[str, ...] = ("*",)
    freezes: tuple[str, ...] = ()
    optimizer: Taken[Optimizer] = usual(Optimizer())
    schedule: Taken[Schedule] = usual(Schedule())
    observers: Taken[tuple[Code, ...]] = usual(())
    teacherless: str = ""
    random_offset: bool = False
    precision: Precision = "fp32"
    stop: Stop = Stop()
    edit: Edit | None = None

    def _take(self) -> None:
        force_setattr(self, "loss", as_code(self.loss, "logits"))
        force_setattr(self, "penalty", as_code(self.penalty, "model"))
        for name, kind in (("optimizer", Optimizer), ("schedule", Schedule)):
            if callable(given := getattr(self, name)):
                force_setattr(self, name, kind(kind=given))
        several: Any = self.observers
        several = (several,) if callable(several) else several
        if not isinstance(several, Iterable):
            raise ConfigError(
                f"phase '{self.name}': 'observers' must be functions or subclasses of "
                f"Observer, got {several!r}"
            )
        force_setattr(self, "observers", tuple(as_code(one, "seen") for one in several))

    def __post_init__(self) -> None:
        check_size(f"phase '{self.name}': steps", self.steps, least=0, most=MAX_STEPS)
        self._check_batch()
        if self.at != "last" and not isinstance(self.loss, Code):
            raise ConfigError(
                f"phase '{self.name}': 'at' has no effect without a loss function of your own; "
                f"write loss={self.at!r}"
            )
        if self.place == ():
            raise ConfigError(
                f"phase '{self.name}': the loss needs at least one position, got ()"
            )
        if not self.moves or not set(self.moves) - set(self.freezes):
            raise ConfigError(
                f"phase '{self.name}' trains no parameter, since all patterns in 'moves' are also "
                "in 'freezes'; remove one from 'freezes', or add another to 'moves'"
            )
        for role, weight in self.roles.items():
            if not (weight > 0 and math.isfinite(weight)):
                raise ConfigError(
                    f"phase '{self.name}': the weight of role '{role}' must be above 0 "
                    f"and finite, got {weight}"
                )

    def _check_batch(self) -> None:
        """Check sizes and roles immediately, since the phase may only start hours later."""
        sizes = self.batch if isinstance(self.batch, dict) else {"": self.batch}
        drawn: list[str] = []
        for key, size in sizes.items():
            if size < 0:
                raise ConfigError(
                    f"phase '{self.name}': 'batch' must be at least 0 (0 means all facts), "
                    f"got {size}"
                )
            drawn += [role for role in key.split("+") if role]
        for role in drawn:
            if drawn.count(role) > 1:
                raise ConfigError(
                    f"phase '{self.name}': 'batch' names the role '{role}' twice"
                )
        if self.roles:
            check_names(f"role in batch of phase '{self.name}'", drawn, self.roles)

    @property
    def place(self) -> Place:
        """Tokens for which the loss is computed: ``at`` for a user's loss, otherwise ``loss``.

        The value is ``last``, ``answer``, ``every``, or indices of answer tokens.
        """
        loss = self.loss
        return self.at if isinstance(loss, Code) else loss

    @property
    def own(self) -> str:
        """Names of the settings that run a user's code on tensors at every step, joined by "and".

        The names are ``loss``, ``penalty``, ``optimizer`` and ``observers``. A user's
        schedule is not included. The string is empty if there is no such code.
        """
        found = {
            "loss": isinstance(self.loss, Code),
            "penalty": self.penalty is not None,
            "optimizer": isinstance(self.optimizer.kind, Code),
            "observers": bool(self.observers),
        }
        return " and ".join(name for name, here in found.items() if here)


class Curriculum(Config):
    """An ordered list of phases, which :func:`inweights.train` runs.

    Attributes:
        phases: The phases, at least one.

    Raises:
        ConfigError: There is no phase.

    Example:
        >>> Curriculum(phases=(Phase(name="hops"), Phase(name="more", steps=100))).steps
        380
    """

    phases: tuple[Phase, ...] = (Phase(),)

    def __post_init__(self) -> None:
        if not self.phases:
            raise ConfigError("a curriculum must have at least one phase, got none")

    @property
    def steps(self) -> int:
        """Number of updates over all phases."""
        return sum(phase.steps for phase in self.phases)

    @property
    def shape(self) -> Curriculum:
        """Copy of the curriculum whose learning rates and weight decays are set to fixed values.

        The setting ``decayed`` and the options of users' optimizers are also reset.
        Models can be trained together as one program only if these copies of their
        curricula are equal.
        """
        replace = msgspec.structs.replace

        def without_numbers(one: Optimizer) -> Optimizer:
            same = {"rate": 1.0, "weight_decay": 0.0, "decayed": "all"}
            if isinstance(one.kind, Code):
                same["kind"] = replace(one.kind, options={})
            return replace(one, **same)

        phases = []
        for phase in self.phases:
            optimizer = without_numbers(phase.optimizer)
            phases.append(replace(phase, optimizer=optimizer))
        return replace(self, phases=tuple(phases))
