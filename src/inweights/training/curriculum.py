"""What is trained, in which order and how: phases, optimizers, schedules, stop rules."""

from __future__ import annotations

import math
from typing import Literal

import msgspec

from inweights.config import Config, check_size
from inweights.errors import ConfigError, unknown_name

Precision = Literal["fp32", "bf16", "bf16-emulated"]

#: Updates of one phase, and rates, at most: beyond these a number is a slip of the pen.
MAX_STEPS, MAX_RATE = 10**9, 1e30


class Optimizer(Config):
    """An optimizer; rate, weight decay and decayed parameters may differ between replicas.

    Attributes:
        kind: ``sgd`` and ``adam`` add the decay to the gradient, ``adamw`` shrinks the weights.
        rate: Peak learning rate.
        weight_decay: How strongly; left out, .01 of ``adamw`` and none of the others, as in
            PyTorch.
        decayed: What decays of the parameters that move: ``matrices``, or ``all`` of them. Vectors
            are gains and biases of norms and biases of layers; to shrink a norm's gain is to
            shrink the logits, and says nothing about the size of the weights.
        momentum: Of ``sgd``.
        betas: Of ``adam`` and ``adamw``.
        epsilon: Of the same: what is added to the root of the second moment.
        noise: Standard deviation of the normal noise that is added to every entry of the gradient,
            as a share of the root mean square of the replica's gradient.

    Example:
        >>> from inweights.config import identity
        >>> "decayed" in identity(Optimizer()), "decayed" in identity(Optimizer(weight_decay=0.0))
        (True, False)
        >>> Optimizer().weight_decay, Optimizer(kind="sgd").weight_decay
        (0.01, 0.0)
    """

    later = {"decayed": "all", "epsilon": 1e-8, "noise": 0.0}

    kind: Literal["sgd", "adam", "adamw"] = "adamw"
    rate: float = 1e-3
    weight_decay: float | None = None
    decayed: Literal["matrices", "all"] = "matrices"
    momentum: float = 0.0
    betas: tuple[float, float] = (0.9, 0.999)
    epsilon: float = 1e-8
    noise: float = 0.0

    def __post_init__(self) -> None:
        decay = self.weight_decay
        if decay is None:
            decay = 0.01 if self.kind == "adamw" else 0.0
            msgspec.structs.force_setattr(self, "weight_decay", decay)
        if not self.rate > 0:
            raise ConfigError(f"optimizer.rate must be above 0, got {self.rate}")
        check_size("optimizer.rate", self.rate, least=0, most=MAX_RATE)
        check_size("optimizer.weight_decay", decay, least=0, most=MAX_RATE)
        if not 0 <= self.momentum < 1:
            raise ConfigError(
                f"optimizer.momentum must be at least 0 and below 1, got {self.momentum}"
            )
        check_size("optimizer.noise", self.noise, least=0, most=MAX_RATE)
        if not 0 < self.epsilon <= MAX_RATE:
            raise ConfigError(f"optimizer.epsilon must be above 0, got {self.epsilon}")
        if not all(0 <= beta < 1 for beta in self.betas):
            raise ConfigError(f"optimizer.betas must be at least 0 and below 1, got {self.betas}")

    @property
    def idle(self) -> tuple[str, ...]:
        """Without decay nothing decays."""
        return () if self.weight_decay else ("decayed",)


class Schedule(Config):
    """The rate over a phase, as a factor of its peak.

    Attributes:
        kind: ``constant``; ``cosine`` or ``linear`` down to ``final``.
        warmup: Steps over which the rate first rises in a line.
        final: Factor to which it falls.
        hold: Share of the phase's steps, from its start, before the fall begins.

    Raises:
        ConfigError: A value is out of range, or ``hold`` is given where nothing falls.

    Example:
        >>> [round(Schedule(kind="cosine").factor(step, 4), 2) for step in range(4)]
        [1.0, 0.85, 0.5, 0.15]
        >>> flat = Schedule(kind="linear", hold=0.6)  # flat, then a line over the last two fifths
        >>> [round(flat.factor(step, 10), 2) for step in range(10)]
        [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.75, 0.5, 0.25]
    """

    later = {"hold": 0.0}

    kind: Literal["constant", "cosine", "linear"] = "constant"
    warmup: int = 0
    final: float = 0.0
    hold: float = 0.0

    def __post_init__(self) -> None:
        check_size("schedule.warmup", self.warmup, least=0, most=MAX_STEPS)
        check_size("schedule.final", self.final, least=0)
        if not 0 <= self.hold < 1:
            raise ConfigError(f"schedule.hold must be at least 0 and below 1, got {self.hold}")
        if self.hold and self.kind == "constant":
            raise ConfigError(
                "schedule.hold has no effect on a constant rate; leave it out, or choose the kind "
                "'linear' or 'cosine'"
            )

    def factor(self, step: int, steps: int) -> float:
        """Return the factor at ``step`` (0-based) of a phase of ``steps``."""
        if step < self.warmup:
            return (step + 1) / (self.warmup + 1)
        if self.kind == "constant":
            return 1.0
        start = max(self.warmup, self.hold * steps)
        if step < start:
            return 1.0
        done = (step - start) / max(1, steps - start)
        if self.kind == "linear":
            return self.final + (1 - self.final) * (1 - done)
        return self.final + (1 - self.final) * 0.5 * (1 + math.cos(math.pi * done))


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
            0-based.
        moves: Patterns of the names of the parameters that move, as in ``blocks.*``.
        freezes: Patterns of those among them that stand still all the same, as in ``tokens.*``.
        optimizer: How they move.
        schedule: The rate over time.
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

    Raises:
        ConfigError: A value is out of range or contradicts another.

    Example:
        >>> edges = {"edge": 1.0, "reverse_edge": 1.0}
        >>> Phase(roles=edges | {"path": 1.0}, batch={"path": 32}, pooled=True).batch
        {'path': 32}
    """

    later = {"pooled": False, "freezes": (), "teacherless": "", "precision": "fp32"}

    name: str = "train"
    roles: dict[str, float] = {}
    steps: int = 280
    batch: int | dict[str, int] = 0
    pooled: bool = False
    loss: Literal["last", "answer", "every"] | tuple[int, ...] = "last"
    moves: tuple[str, ...] = ("*",)
    freezes: tuple[str, ...] = ()
    optimizer: Optimizer = Optimizer()
    schedule: Schedule = Schedule()
    teacherless: str = ""
    random_offset: bool = False
    precision: Precision = "fp32"
    stop: Stop = Stop()

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
            if self.roles and role not in self.roles:
                raise unknown_name(f"role in batch of phase '{self.name}'", role, self.roles)
        if self.loss == ():
            raise ConfigError(f"phase '{self.name}' has no position for the loss; give one")
        if not self.moves or not set(self.moves) - set(self.freezes):
            raise ConfigError(f"phase '{self.name}' trains no parameter")
        for role, weight in self.roles.items():
            if not (weight > 0 and math.isfinite(weight)):
                raise ConfigError(
                    f"phase '{self.name}': role '{role}' has weight {weight}; leave it out"
                )


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
        """The curriculum without what may differ between replicas: rate, decay, what decays."""
        replace = msgspec.structs.replace
        same = {"rate": 1.0, "weight_decay": 0.0, "decayed": "all"}
        return replace(
            self,
            phases=tuple(
                replace(phase, optimizer=replace(phase.optimizer, **same)) for phase in self.phases
            ),
        )
