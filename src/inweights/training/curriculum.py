"""What is trained, in which order and how: phases, stop rules, and functions of one's own."""

from __future__ import annotations

import math
from typing import Any, Literal

import msgspec
from msgspec.structs import force_setattr

from inweights.config import Config, check_size
from inweights.errors import ConfigError, check_names
from inweights.support.code import Code, Taken, as_code, usual
from inweights.training.optimizer import MAX_RATE, MAX_STEPS, Optimizer, Schedule

__all__ = ["MAX_RATE", "MAX_STEPS", "Optimizer", "Schedule"]  # passed on

Precision = Literal["fp32", "bf16", "bf16-emulated"]
#: Where a loss is taken: names, or places in the answer.
Place = Literal["last", "answer", "every"] | tuple[int, ...]

EditRole = Literal["first_hop", "second_hop", "attribution", "similarity", "edge"]
EditMethod = Literal["rank-one", "training", "embedding"]


class Stop(Config):
    """Rule that freezes a replica before the phase ends; checked whenever metrics are recorded.

    Attributes:
        loss_below: Stop once the training loss is below this.
        accuracy: Stop once the accuracy on the phase's facts is at least this, from 0 to 1.
        every: Steps between checks.
    """

    loss_below: float | None = None
    accuracy: float | None = None
    every: int = 20

    def __post_init__(self) -> None:
        check_size("stop.every", self.every, most=MAX_STEPS)
        if self.loss_below is not None and not self.loss_below >= 0:
            raise ConfigError(f"stop.loss_below must be at least 0, got {self.loss_below}")
        if self.accuracy is not None:
            check_size("stop.accuracy", self.accuracy, least=0, most=1)

    @property
    def never(self) -> bool:
        """Whether the rule cannot stop anything."""
        return self.loss_below is None and self.accuracy is None

    def due(self, step: int) -> bool:
        """Return whether the rule is checked after ``step`` updates of the phase."""
        return not self.never and step % self.every == 0


class Edit(Config):
    """Stored facts get other answers in the weights, all at once, before a phase trains.

    They are the first ones of a random order, by the root seed of the world; each gets the answer
    of the next one that differs. :func:`inweights.probes.after_edits` tells which facts they are,
    and what became of them.

    Attributes:
        role: Facts that may be edited.
        method: ``rank-one``: of the output matrix of an MLP of a GPT, so that the keys of other
            facts, by their second moment, are disturbed least. ``training``: Adam on these facts
            alone. ``embedding``: Adam on the embeddings of their first tokens alone.
        count: How many are edited.
        share: Or which share of the role, where it is above 0.
        layer: Block of a rank-one edit; the last one, in closed form, if left out. In another one
            what the MLP adds to the last token is found by gradient descent.
        steps: Updates of gradient descent at most; a replica stands still once each new answer has
            a probability of .9.
        rate: Its rate.
    """

    role: EditRole = "second_hop"
    method: EditMethod = "rank-one"
    count: int = 1
    share: float = 0.0
    layer: int | None = None
    steps: int = 40
    rate: float = 1e-3

    def __post_init__(self) -> None:
        check_size("edit.count", self.count)
        check_size("edit.share", self.share, least=0, most=1)
        check_size("edit.steps", self.steps, most=MAX_STEPS)
        check_size("edit.rate", self.rate, above=0, most=MAX_RATE)
        if self.share and self.count != 1:
            raise ConfigError(f"edit: give count = {self.count} or share = {self.share}, not both")


class Phase(Config):
    """One stage of training.

    Attributes:
        name: For tables and messages.
        roles: Facts that are trained, by role, with how often each counts (its multiplicity in the
            training multiset, as a weight of its loss). Empty: all facts, once.
        steps: Number of updates; 0 leaves the model as it was.
        batch: Facts a step, taken from every prompt length in proportion; 0 is the full batch.
            Or facts a step of each role, as in ``{"path": 32}``, 0 meaning all of them; roles
            joined by ``+`` (``edge+reverse_edge``) are drawn together, and roles that are not
            named are taken whole. Every label counts its role's multiplicity in its batch.
        pooled: Whether facts whose input is the same become one sequence with several labels at
            its last position. The loss and its gradient stay what they are; tokens and logits
            are computed once for each different input. A batch then counts different inputs.
        loss: Where the loss is taken: ``last`` (the last position), ``answer`` (every token of the
            answer), ``every`` (every next token, prompt included), or chosen places in the answer,
            0-based. Or a function of one's own, taken at ``at``: ``function(logits, targets)`` of
            ``[R, n, K]`` and ``[R, n]`` returns ``[R]``. Where roles do not count alike, it takes
            ``weights`` ``[R, n]``, too, that sum up to 1.
        at: Where a loss of one's own is taken, as named above.
        penalty: ``function(model, step)`` returns ``[R]``, which is added to the loss.
        moves: Patterns of the names of the parameters that move, as in ``blocks.*``.
        freezes: Patterns of those among them that stand still all the same, as in ``tokens.*``.
        optimizer: How they move; a class or function is that of an :class:`Optimizer`.
        schedule: The rate over time; a function is that of a :class:`Schedule`.
        observers: Functions of a :class:`~inweights.training.Step`, or classes of an
            :class:`~inweights.training.Observer`, told of each update. What they change in place
            in the parameters counts: their source is a part of the run's identity.
        teacherless: Name of a token that the model reads in place of the answer's own, so that it
            has to plan the whole answer from the prompt (Geometric Memory, App. A). Empty: it
            reads the right tokens before each one that it has to say.
        random_offset: Whether each sequence starts at a random position each step, so that a
            model with learned positions has trained all of them.
        precision: ``fp32``, or ``bf16`` as ``torch.autocast`` trains: parameters, their gradients
            and the optimizer stay in fp32; each matrix product, forwards and backwards, rounds
            what it takes and what it gives to bfloat16 (and sums up in fp32); norms, the residual
            stream and the loss are fp32. ``bf16-emulated`` does the same rounding around products
            in fp32 (:mod:`inweights.training.steps.rounding`; not inside of attention), so that a
            run is the same to the last bit alone and in company, which kernels for bfloat16 on a
            CPU do not promise.
        stop: When a replica stands still early.
        edit: Stored facts that get other answers in the weights before the first step; what is due
            then is measured before and after it. The facts that are trained stay as they were.

    Raises:
        ConfigError: A value is out of range or contradicts another.

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
        force_setattr(self, "observers", tuple(as_code(one, "seen") for one in several))

    def __post_init__(self) -> None:
        check_size(f"phase '{self.name}': steps", self.steps, least=0, most=MAX_STEPS)
        sizes = self.batch if isinstance(self.batch, dict) else {"": self.batch}
        for size in sizes.values():
            if size < 0:
                raise ConfigError(
                    f"phase '{self.name}': batch must be at least 0 (full), got {size}"
                )
        drawn = [role for key in sizes for role in key.split("+") if role]
        for role in drawn:
            if drawn.count(role) > 1:
                raise ConfigError(f"phase '{self.name}': batch names the role '{role}' twice")
        if self.roles:
            check_names(f"role in batch of phase '{self.name}'", drawn, self.roles)
        if self.at != "last" and not isinstance(self.loss, Code):
            raise ConfigError(
                f"phase '{self.name}': 'at' says where a loss of your own is taken; of the usual "
                f"one 'loss' does, loss={self.at!r}"
            )
        if self.place == ():
            raise ConfigError(f"phase '{self.name}' has no position for the loss; give one")
        if not self.moves or not set(self.moves) - set(self.freezes):
            raise ConfigError(f"phase '{self.name}' trains no parameter")
        for role, weight in self.roles.items():
            if not (weight > 0 and math.isfinite(weight)):
                raise ConfigError(
                    f"phase '{self.name}': role '{role}' has weight {weight}; leave it out"
                )

    @property
    def place(self) -> Place:
        """Where the loss is taken, one's own or the usual one."""
        loss = self.loss
        return self.at if isinstance(loss, Code) else loss

    @property
    def own(self) -> str:
        """What of one's own Python has to compute at every step; empty where there is nothing."""
        found = {
            "loss": isinstance(self.loss, Code),
            "penalty": self.penalty is not None,
            "optimizer": isinstance(self.optimizer.kind, Code),
            "observers": bool(self.observers),
        }
        return " and ".join(name for name, here in found.items() if here)


class Curriculum(Config):
    """An ordered list of phases.

    Example:
        >>> Curriculum(phases=(Phase(name="hops"), Phase(name="more", steps=100))).steps
        380
    """

    phases: tuple[Phase, ...] = (Phase(),)

    def __post_init__(self) -> None:
        if not self.phases:
            raise ConfigError("a curriculum has at least one phase")

    @property
    def steps(self) -> int:
        """Number of updates over all phases."""
        return sum(phase.steps for phase in self.phases)

    @property
    def shape(self) -> Curriculum:
        """The curriculum without what may differ between replicas: what an optimizer is given."""
        replace = msgspec.structs.replace

        def alike(one: Optimizer) -> Optimizer:
            same = {"rate": 1.0, "weight_decay": 0.0, "decayed": "all"}
            if isinstance(one.kind, Code):
                same["kind"] = replace(one.kind, options={})
            return replace(one, **same)

        phases = (replace(phase, optimizer=alike(phase.optimizer)) for phase in self.phases)
        return replace(self, phases=tuple(phases))
