"""How parameters move: optimizers, and schedules of their rate."""

import math
from typing import Literal

from msgspec.structs import force_setattr

from inweights.config import Config, check_size
from inweights.errors import ConfigError
from inweights.support.code import Code, Taken, as_code, usual

#: Updates of one phase, and rates, at most: beyond these a number is a slip of the pen.
MAX_STEPS, MAX_RATE = 10**9, 1e30


class Optimizer(Config):
    """An optimizer; rate, weight decay and decayed parameters may differ between replicas.

    Attributes:
        kind: ``sgd`` and ``adam`` add the decay to the gradient, ``adamw`` shrinks the weights. Or
            one's own: a ``torch.optim`` class, or a function that returns optimizers, called with
            pairs of name and parameter, ``lr``, ``weight_decay`` where that is given, and what a
            ``functools.partial`` binds. A class whose updates are element by element has all
            replicas in one matrix, any other optimizer the parameters of one replica.
        rate: Peak learning rate.
        weight_decay: How strongly; left out, .01 of ``adamw`` and none of ``sgd`` and ``adam``, as
            in PyTorch, and what it is by itself of one's own.
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

    kind: Taken[Literal["sgd", "adam", "adamw"] | Code] = usual("adamw")
    rate: float = 1e-3
    weight_decay: float | None = None
    decayed: Literal["matrices", "all"] = "matrices"
    momentum: float = 0.0
    betas: tuple[float, float] = (0.9, 0.999)
    epsilon: float = 1e-8
    noise: float = 0.0

    def _take(self) -> None:
        force_setattr(self, "kind", as_code(self.kind, "params", "parameters"))

    def __post_init__(self) -> None:
        decay = self.weight_decay
        if decay is None and isinstance(self.kind, str):
            force_setattr(self, "weight_decay", 0.01 if self.kind == "adamw" else 0.0)
        check_size("optimizer.rate", self.rate, above=0, most=MAX_RATE)
        check_size("optimizer.weight_decay", decay or 0.0, least=0, most=MAX_RATE)
        check_size("optimizer.momentum", self.momentum, least=0, below=1)
        check_size("optimizer.noise", self.noise, least=0, most=MAX_RATE)
        check_size("optimizer.epsilon", self.epsilon, above=0, most=MAX_RATE)
        if not all(0 <= beta < 1 for beta in self.betas):
            raise ConfigError(f"optimizer.betas must be at least 0 and below 1, got {self.betas}")
        others = (self.momentum, self.betas, self.epsilon)
        if not isinstance(self.kind, str) and others != (0.0, (0.9, 0.999), 1e-8):
            raise ConfigError(
                "momentum, betas and epsilon are those of sgd and adam; bind the options of an "
                "optimizer of your own, functools.partial(torch.optim.Muon, momentum=0.9)"
            )

    @property
    def idle(self) -> tuple[str, ...]:
        """Without decay nothing decays."""
        return () if self.weight_decay else ("decayed",)


class Schedule(Config):
    """The rate over a phase, as a factor of its peak.

    Attributes:
        kind: ``constant``; ``cosine`` or ``linear`` down to ``final``. Or a function of one's own,
            ``function(step, steps)``, of steps from 0, which says all.
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

    kind: Taken[Literal["constant", "cosine", "linear"] | Code] = usual("constant")
    warmup: int = 0
    final: float = 0.0
    hold: float = 0.0

    def _take(self) -> None:
        force_setattr(self, "kind", as_code(self.kind, "step"))

    def __post_init__(self) -> None:
        if isinstance(self.kind, Code) and (self.warmup or self.final or self.hold):
            raise ConfigError(
                "a schedule of your own says all of the rate; leave out warmup, final and hold"
            )
        check_size("schedule.warmup", self.warmup, least=0, most=MAX_STEPS)
        check_size("schedule.final", self.final, least=0)
        check_size("schedule.hold", self.hold, least=0, below=1)
        if self.hold and self.kind == "constant":
            raise ConfigError(
                "schedule.hold has no effect on a constant rate; leave it out, or choose the kind "
                "'linear' or 'cosine'"
            )

    def factor(self, step: int, steps: int) -> float:
        """Return the factor at ``step`` (0-based) of a phase of ``steps``.

        Raises:
            ConfigError: A function of one's own returns none.
        """
        if isinstance(self.kind, Code):
            said = self.kind.load()(step, steps)
            if not (isinstance(said, int | float) and 0 <= said < math.inf):
                raise ConfigError(
                    f"the schedule {self.kind.name} returned {said!r} at step {step} of {steps}; "
                    "return a factor of the rate, a number of at least 0"
                )
            return said
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
