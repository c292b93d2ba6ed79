"""Settings of when a replica stops during a phase, and of edits of facts before a phase.

:class:`Stop` and :class:`Edit` are fields of a :class:`~inweights.training.Phase`; they
do not import torch.
"""

from __future__ import annotations

from typing import Literal

from inweights.config import Config, check_size
from inweights.errors import ConfigError
from inweights.training.curriculum.optimizer import (
    MAX_RATE,
    MAX_STEPS,
)

EditRole = Literal["first_hop", "second_hop", "attribution", "similarity", "edge"]
EditMethod = Literal["rank-one", "training", "embedding"]


class Stop(Config):
    """Rule by which a replica stops early, and is then frozen until the end of its phase.

    Attributes:
        loss_below: Stop if the training loss of a step, in nats, is below this value;
            ``None`` for no limit. If both limits are given, meeting one of them is
            enough.
        accuracy: Stop if the accuracy on the phase's facts is at least this value, from
            0 to 1; ``None`` for no limit. A fact is answered correctly if the first
            token of its answer has the largest logit.
        every: Number of steps between two checks of the rule, at least 1.

    Raises:
        ConfigError: ``every`` is below 1, ``loss_below`` is negative, or ``accuracy``
            is not between 0 and 1.
    """

    loss_below: float | None = None
    accuracy: float | None = None
    every: int = 20

    def __post_init__(self) -> None:
        check_size("stop.every", self.every, most=MAX_STEPS)
        if self.loss_below is not None and not self.loss_below >= 0:
            raise ConfigError(
                f"stop.loss_below must be at least 0, got {self.loss_below}"
            )
        if self.accuracy is not None:
            check_size("stop.accuracy", self.accuracy, least=0, most=1)

    @property
    def never(self) -> bool:
        """Whether the rule has no loss limit and no accuracy limit, so that it never applies."""
        return self.loss_below is None and self.accuracy is None

    def due(self, step: int) -> bool:
        """Return whether the stop rule is checked after a number of updates.

        It is checked whenever the number of updates is a multiple of ``every``. A rule
        without limits is never checked.

        Args:
            step: Number of updates made in the phase.
        """
        return not self.never and step % self.every == 0


class Edit(Config):
    """Edit of the weights that gives new answers to several facts at once, before a phase.

    The root seed of the world determines a random order of the facts, and the first
    facts in this order are edited. Each edited fact gets the answer of the next fact
    whose answer is wrong for it. :func:`inweights.probes.after_edits` lists the edited
    facts, and measures the statements that follow from them.

    Attributes:
        role: Role of the facts that are edited: ``first_hop``, ``second_hop``,
            ``attribution``, ``similarity`` or ``edge``.
        method: ``rank-one`` changes the output matrix of one MLP of a GPT such that
            other facts are disturbed as little as possible, judged by the second moment
            of the keys (ROME, Meng et al. 2022). ``training`` trains all parameters on
            the edited facts only, with Adam. ``embedding`` does the same, but changes
            only the embeddings of the first tokens of the edited facts' prompts.
        count: Number of edited facts, at least 1.
        share: Fraction of the role's facts to edit, from 0 to 1; if above 0, it
            replaces ``count``.
        layer: Index of the block of a rank-one edit, counted from 0; by default the
            last block, whose edit has a closed form. In any other block, gradient
            descent determines the vector that the MLP has to add at the last token.
        steps: Maximum number of updates of gradient descent, at least 1. A replica is
            frozen as soon as each new answer has a probability of at least .9.
        rate: Learning rate of gradient descent, above 0.

    Raises:
        ConfigError: ``count`` or ``steps`` is below 1, ``count`` is above 65,536,
            ``share`` is not between 0 and 1, ``rate`` is not above 0, or both ``share``
            and a ``count`` other than 1 are given. (Whether the world has the facts and
            the model has the block is checked when training starts.)
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
            raise ConfigError(
                f"give either edit.count or edit.share, got count = {self.count} and share = "
                f"{self.share}"
            )
