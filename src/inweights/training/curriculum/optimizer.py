"""Settings of optimizers and of their learning rates; torch is not imported.

A :class:`~inweights.training.Phase` has an :class:`Optimizer` and a :class:`Schedule`;
``steps/optimizers`` builds the optimizer of all replicas from them.
"""

import math
from typing import Literal

from msgspec.structs import force_setattr

from inweights.config import Config, check_size, refuse_idle
from inweights.errors import ConfigError
from inweights.support.keys.code import Code, Taken, as_code, usual

#: Maximum number of updates of a phase; a larger number is assumed to be a typing
#: error.
MAX_STEPS = 10**9
#: Largest learning rate, weight decay or noise.
MAX_RATE = 1e30


class Optimizer(Config):
    """Settings of an optimizer; learning rate and weight decay may differ between replicas.

    Attributes:
        kind: ``sgd`` or ``adam``, which add the weight decay to the gradient, or
            ``adamw``, which shrinks the weights directly. Alternatively a user-defined
            optimizer: a ``torch.optim`` class, or a function that returns optimizers.
            The class or function is called with pairs of name and parameter, ``lr``,
            ``weight_decay`` if that is set, and the arguments bound by
            ``functools.partial``. If a class updates each parameter entry only from the
            entry's own gradients, one instance updates all replicas as one matrix; any
            other optimizer is created once per replica.
        rate: Peak learning rate, above 0; the :class:`Schedule` multiplies it by a
            factor.
        weight_decay: Coefficient of the weight decay. By default .01 for ``adamw`` and
            0 for ``sgd`` and ``adam``, as in PyTorch; a user-defined optimizer keeps its
            own default.
        decayed: Trained parameters to which weight decay applies: only ``matrices``, or
            ``all``, which includes vectors (biases, and the gains of norms). Decaying
            the gain of a norm would shrink the logits without limiting the size of the
            weights.
        momentum: Momentum of ``sgd``, at least 0 and below 1.
        betas: Decay rates of the two moments of ``adam`` and ``adamw``.
        epsilon: Constant that ``adam`` and ``adamw`` add to the square root of the
            second moment.
        noise: Standard deviation of normal noise that is added to every entry of the
            gradient, as a fraction of the root mean square of the replica's gradient; 0
            for no noise.

    Raises:
        ConfigError: ``rate`` or ``epsilon`` is not above 0; ``weight_decay`` or
            ``noise`` is negative; one of these four is above 1e30; ``momentum`` or a
            beta is not in [0, 1); ``momentum`` is given for a kind other than
            ``sgd``, or ``betas`` or ``epsilon`` for ``sgd`` or a user-defined optimizer;
            or the user's class or function cannot be stored or loaded.
        DataError: A file on which a user's code depends cannot be read.

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
            raise ConfigError(
                f"optimizer.betas must each be at least 0 and below 1, got {self.betas}"
            )
        others = (self.momentum, self.betas, self.epsilon)
        if not isinstance(self.kind, str) and others != (0.0, (0.9, 0.999), 1e-8):
            raise ConfigError(
                "'momentum', 'betas' and 'epsilon' have no effect on an optimizer of "
                "your own; bind its options, as in functools.partial(torch.optim.Muon, "
                "momentum=0.9)"
            )
        # Each option has an effect on only some of the named optimizers.
        here = f"kind = '{self.kind}'"
        sgd = self.kind == "sgd"
        refuse_idle("optimizer", {"momentum": self.momentum}, sgd, here)
        moments = {
            "betas": self.betas != (0.9, 0.999) and self.betas,
            "epsilon": self.epsilon != 1e-8 and self.epsilon,
        }
        refuse_idle("optimizer", moments, not sgd, here)

    @property
    def idle(self) -> tuple[str, ...]:
        """Names of settings that have no effect: ``decayed`` if there is no weight decay."""
        return () if self.weight_decay else ("decayed",)


class Schedule(Config):
    """Schedule of the learning rate over the steps of a phase, as a factor of the peak rate.

    Attributes:
        kind: ``constant``, ``cosine`` or ``linear``. With the latter two, the factor
            decreases from 1 to ``final``. Alternatively a user-defined function,
            ``function(step, steps)``, which returns the factor at a step; steps are
            counted from 0.
        warmup: Number of steps over which the rate first rises linearly: at step ``s``
            the factor is ``(s + 1) / (warmup + 1)``.
        final: Factor at the end of the phase, from 0 to 65,536.
        hold: Fraction of the phase's steps after which the rate begins to decrease.

    Raises:
        ConfigError: ``warmup`` is not between 0 and 1,000,000,000, ``final`` is not
            between 0 and 65,536, or ``hold`` is not in [0, 1); ``final`` or
            ``hold`` is given for a constant rate; any of the three is given for a
            user's function; or this function cannot be stored or loaded.
        DataError: A file on which a user's function depends cannot be read.

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
                "'warmup', 'final' and 'hold' have no effect on a schedule of your own; "
                "leave them out"
            )
        check_size("schedule.warmup", self.warmup, least=0, most=MAX_STEPS)
        check_size("schedule.final", self.final, least=0)
        check_size("schedule.hold", self.hold, least=0, below=1)
        falls = self.kind != "constant"
        refuse_idle("schedule", {"final": self.final}, falls, "kind = 'constant'")
        if self.hold and self.kind == "constant":
            raise ConfigError(
                "schedule.hold has no effect with a constant learning rate; leave it "
                "out, or choose the kind 'linear' or 'cosine'"
            )

    def factor(self, step: int, steps: int) -> float:
        """Return the factor by which the peak learning rate is multiplied at a step.

        Args:
            step: The step, from 0 to ``steps - 1``.
            steps: Number of steps of the phase.

        Returns:
            The factor, at least 0.

        Raises:
            ConfigError: A user's function returns something other than a finite number
                of at least 0, is not in an imported module, or has changed since it was
                given. Errors that the function raises propagate.
            DataError: A file on which a user's function depends cannot be read.

        Example:
            >>> [Schedule(warmup=3).factor(step, 10) for step in (0, 2, 5)]
            [0.25, 0.75, 1.0]
        """
        if isinstance(self.kind, Code):
            factor = self.kind.load()(step, steps)
            if not (isinstance(factor, int | float) and 0 <= factor < math.inf):
                raise ConfigError(
                    f"the schedule {self.kind.name} returned {factor!r} at step {step} of {steps}; "
                    "it must return the factor that multiplies the learning rate, a number "
                    "of at least 0"
                )
            return factor
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
