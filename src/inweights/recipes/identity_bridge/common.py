"""Define the conditions and training settings that the recipes of Identity Bridge share."""

from msgspec.structs import replace

import inweights as iw
from inweights.config.ranges import NonNegativeFloat
from inweights.errors import check_names
from inweights.experiments import ModelConfig, Trial, Value

#: Conditions of Figure 2; the last two have a tied head.
CONDITIONS = ("emb-mlp", "gpt", "gpt-small", "gpt-tied", "gpt-tied-decay")
#: Condition of the GPT whose sequences all start at the first position.
FIXED = "gpt-fixed"


class EmbMLPTraining(iw.Config):
    """Settings of an Emb-MLP that is trained by full-batch gradient descent.

    A value of the wrong type raises a ``ConfigError``; ranges are checked when the
    config is used.

    Attributes:
        width: Width of the embedding, from 1 to 65,536.
        rate: Learning rate, above 0. If ``per_fact`` is true, it is multiplied by the
            number of facts.
        steps: Number of updates, at least 0.
        weight_decay: Weight decay of both matrices, at least 0; by default 0.
        per_fact: Whether ``rate`` is multiplied by the number of facts; by default
            false. The loss is a mean over the facts; without this factor, a fact
            contributes less to each update if there are more facts.
    """

    later = {"weight_decay": 0.0, "per_fact": False}

    width: int = 64
    rate: float = 2.0
    steps: int = 5000
    weight_decay: float = 0.0
    per_fact: bool = False

    @property
    def model(self) -> iw.EmbMLPConfig:
        """Config of an Emb-MLP whose embedding width is the field ``width``.

        Raises:
            ConfigError: ``width`` is below 1 or above 65,536.
        """
        return iw.EmbMLPConfig(width=self.width)

    @property
    def curriculum(self) -> iw.Curriculum:
        """Curriculum with one phase of full-batch gradient descent, at the learning rate ``rate``.

        The field ``per_fact`` is ignored here; :meth:`of_world` takes it into account.

        Raises:
            ConfigError: ``rate`` is not positive and finite, ``steps`` is negative, or
                ``weight_decay`` is negative or not finite.
        """
        return self.of_world(1)

    def of_world(self, facts: int) -> iw.Curriculum:
        """Return the curriculum for a world with the given number of facts.

        Args:
            facts: Number of facts of the world. It is used only if ``per_fact`` is
                true.

        Returns:
            A curriculum with one phase of ``steps`` updates of full-batch gradient
            descent. Its learning rate is ``rate``, multiplied by ``facts`` if
            ``per_fact`` is true.

        Raises:
            ConfigError: The learning rate is not positive and finite, ``steps`` is
                negative, or ``weight_decay`` is negative or not finite.
        """
        rate = self.rate * facts if self.per_fact else self.rate
        return iw.learners.two_hop_mlp(
            rate, steps=self.steps, weight_decay=self.weight_decay
        )


class GPTTraining(iw.Config):
    """Settings of a GPT and its training, for the conditions of Identity Bridge, Figure 2.

    A value of the wrong type raises a ``ConfigError``; ranges are checked when the
    config is used.

    Attributes:
        model: Config of the GPT.
        phase: The only phase of training.
        tuned_width: Model width for which the learning rate of ``phase`` was chosen.
            For any other width, :attr:`scaled` multiplies the rate by ``tuned_width /
            width``.
        small_gamma: Exponent ``γ`` of the condition ``gpt-small``, in which the initial
            standard deviation of a matrix with ``d`` inputs is ``d^-γ``.
        decay: Weight decay of the condition ``gpt-tied-decay``, at least 0.
    """

    later = {"tuned_width": 64}

    model: iw.GPTConfig = iw.GPTConfig(width=128, tied=False)
    phase: iw.Phase = iw.learners.two_hop(width=128).phases[0]
    tuned_width: int = 128
    small_gamma: float = 1.25
    decay: NonNegativeFloat = 3.0

    @property
    def scaled(self) -> iw.Phase:
        """The training phase, with its learning rate multiplied by ``tuned_width / model.width``.

        The learning rate of ``phase`` was chosen for a model of the width
        ``tuned_width``.

        Raises:
            ConfigError: ``tuned_width`` is not positive.
        """
        # The learning rate is proportional to 1 / width, since a rate that suits one
        # width is too large for a wider model.
        rate = self.phase.optimizer.rate * self.tuned_width / self.model.width
        return replace(self.phase, optimizer=replace(self.phase.optimizer, rate=rate))


#: Settings of a GPT with a tied head, for ``gpt-tied`` and ``gpt-tied-decay``. The
#: constant first third of the schedule gives a strong weight decay time to have an
#: effect.
TIED_HEAD = GPTTraining(
    model=iw.GPTConfig(),
    phase=iw.Phase(
        steps=240,
        random_offset=True,
        schedule=iw.Schedule(kind="cosine", hold=1 / 3),
        optimizer=iw.Optimizer(rate=1.5e-3),
    ),
    tuned_width=64,
    decay=25.0,
)

#: Settings of a GPT of half the width, for recipes with many runs. All of its
#: parameters have a weight decay of .01, since the claims of these recipes were judged
#: with it.
NARROW = GPTTraining(
    model=iw.GPTConfig(tied=False),
    phase=iw.Phase(
        random_offset=True,
        schedule=iw.Schedule(kind="cosine"),
        optimizer=iw.Optimizer(decayed="all"),
    ),
    tuned_width=64,
)


def trial(
    name: str,
    world: iw.TwoHop,
    gpt: GPTTraining,
    emb_mlp: EmbMLPTraining,
    tied: GPTTraining = TIED_HEAD,
    **labels: Value,
) -> Trial:
    """Return the trial of one condition of Identity Bridge, Figure 2, labelled ``model``.

    The conditions are ``emb-mlp``; ``gpt``, with standard initialisation;
    ``gpt-small``, with small initialisation; ``gpt-tied``, with standard initialisation
    and a tied head; ``gpt-tied-decay``, which is ``gpt-tied`` with strong weight decay;
    and ``gpt-fixed``, which is ``gpt`` without random position offsets, so that every
    sequence starts at the first position.

    Args:
        name: Name of the condition, one of the six above.
        world: Config of the two-hop world.
        gpt: Settings for ``gpt``, ``gpt-small`` and ``gpt-fixed``.
        emb_mlp: Settings for ``emb-mlp``.
        tied: Settings for ``gpt-tied`` and ``gpt-tied-decay``; by default
            :data:`TIED_HEAD`.
        **labels: Further labels, which become columns of the tables.

    Returns:
        The trial, with the label ``model`` (which is ``name``) and the given labels.

    Raises:
        ConfigError: ``name`` is not one of the six conditions, or a value is out of
            range for the world, the model or its training.
    """
    check_names("model", [name], (*CONDITIONS, FIXED))
    how = tied if name.startswith("gpt-tied") else gpt
    model: ModelConfig = how.model
    phase = how.scaled
    if name == "gpt-small":
        model = replace(gpt.model, init=iw.Init(gamma=gpt.small_gamma))
    if name == FIXED:
        phase = replace(phase, random_offset=False)
    if name == "gpt-tied-decay":
        phase = replace(
            phase, optimizer=replace(phase.optimizer, weight_decay=tied.decay)
        )
    curriculum = iw.Curriculum(phases=(phase,))
    # The rate may be proportional to the number of facts, which only the built world
    # knows.
    if name == "emb-mlp":
        model = emb_mlp.model
        curriculum = emb_mlp.of_world(len(world.build().facts))
    return Trial(
        labels={"model": name, **labels},
        world=world,
        model=model,
        learner=curriculum,
    )
