"""Define how each model of Feature Resemblance is trained on the tasks of ``courses.py``."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

import inweights as iw
from inweights import experiments
from inweights.config.ranges import PositiveFloat
from inweights.errors import check_names
from inweights.models.configs import OneLayerConfig
from inweights.recipes.feature_resemblance.courses import (
    READINGS,
    SUCCEEDS,
    phase_roles,
)

__all__ = [
    "GPT",
    "LOSSES",
    "ONE_LAYER",
    "READINGS",
    "SUCCEEDS",
    "EndToEndTraining",
    "GPTTraining",
    "OneLayerTraining",
    "phase_roles",
]

ONE_LAYER = "one-layer"
GPT = "GPT"

_PHASES = ("first phase", "second phase")
#: Training loss at which each phase of a GPT stops, close to those of Table 1.
LOSSES: dict[str, tuple[float, ...]] = {
    "joint": (iw.learners.JOINT_LOSS,),
    "SA": (0.008, 0.08),
    "AS": (0.008, 0.0085),
    "two-hop": (0.09,),
    "two-hop without identity": (0.1,),
}


class OneLayerTraining(iw.Config):
    """Settings of layer-wise full-batch gradient descent of a one-layer transformer (§4.1, N.1).

    Attributes:
        model: Config of the transformer.
        rate: Learning rate ``η``, above 0.
        attention: Number of updates ``T1`` of stage 1 of the first phase, which changes
            only ``W_KQ`` and ``W_V``.
        mlp: Number of updates ``T2`` of stage 2 of the first phase, which changes only
            the MLP.
        late: Dictionary that maps the name of a task (a key of :data:`SUCCEEDS`) to the
            number of updates of its second phase, which trains only the MLP. For all
            other tasks, this number is ``mlp``.

    Raises:
        ConfigError: ``late`` contains an unknown task, or a value has the wrong type.
    """

    model: OneLayerConfig = OneLayerConfig(mlp="folded")
    rate: PositiveFloat = 0.47
    attention: int = 50
    mlp: int = 500
    late: dict[str, int] = msgspec.field(default_factory=lambda: {"AS": 2000})

    def __post_init__(self) -> None:
        check_names("course", self.late, SUCCEEDS)

    def curriculum(self, course: str, rho: float = 3.0) -> experiments.Curriculum:
        """Return the curriculum of a task, which trains the attention first and then the MLP.

        Args:
            course: Name of the task, such as ``joint``, ``SA`` or ``AS``
                (:func:`phase_roles`).
            rho: Number of copies of the similarity premise, at least 1; by default 3.
                It has an effect only in ``joint`` and ``two-hop``.

        Returns:
            A curriculum with the phases ``attention`` and ``mlp``, both on the facts of
            the task's first phase, and ``second phase`` if the task has two phases.

        Raises:
            ConfigError: ``rho`` is below 1, the task is unknown, or a value is out of
                range.
        """
        return self.phases(phase_roles(course, rho), self.late.get(course, self.mlp))

    def phases(
        self, parts: Sequence[Mapping[str, float]], late: int
    ) -> experiments.Curriculum:
        """Return a curriculum that trains on the given roles of facts, phase by phase.

        Args:
            parts: For each phase (at least one), the roles that it trains on, with
                their weights.
            late: Number of updates of each phase after the first, at least 0.

        Returns:
            A curriculum with the phases ``attention`` and ``mlp`` for the first of
            ``parts``, then a ``second phase`` (of the MLP) for each of the other parts.

        Raises:
            ConfigError: ``rate`` is not positive and finite, or a number of updates is
                negative.
            ValueError: ``parts`` is empty.
        """
        # As in the theorems, stage 1 trains only the attention and stage 2 only the
        # MLP. Later phases train only the MLP, too, and cannot change the similarity,
        # which depends on the value matrix.
        first, *rest = parts
        moving = [
            ("attention", "attention.*", self.attention, first),
            ("mlp", "mlp.*", self.mlp, first),
            *(("second phase", "mlp.*", late, part) for part in rest),
        ]
        optimizer = iw.Optimizer(kind="sgd", rate=self.rate, weight_decay=0.0)
        return experiments.Curriculum(
            phases=tuple(
                iw.Phase(
                    name=name,
                    moves=(moves,),
                    steps=steps,
                    roles=dict(roles),
                    optimizer=optimizer,
                )
                for name, moves, steps, roles in moving
            )
        )

    def stage_one(
        self, world: experiments.WorldConfig, roles: Mapping[str, float]
    ) -> dict[str, Any]:
        """Return the keyword arguments of a function that computes stage 1 of training.

        Args:
            world: Config of the world.
            roles: Roles of the facts to train on, with their weights.

        Returns:
            The arguments ``world``, ``roles``, ``model``, ``rate`` and ``steps`` of
            :func:`~inweights.theory.feature_resemblance.stage_one.stage_one`, by name.
        """
        learnt = {"model": self.model, "rate": self.rate, "steps": self.attention}
        return {"world": world, "roles": roles, **learnt}

    def foretold(
        self,
        labels: Mapping[str, experiments.Value],
        world: experiments.WorldConfig,
        roles: Mapping[str, float],
        **options: Any,
    ) -> experiments.Computation:
        """Return the computation that predicts similarities from the facts of stage 1.

        Args:
            labels: Additional labels of the table. ``model`` is always ``one-layer``.
            world: Config of the world.
            roles: Roles of the facts to train on, with their weights.
            **options: Additional arguments of
                :func:`inweights.probes.resemblance.predicted_similarity`.

        Returns:
            The computation, named ``foretold``, which is run for each seed.
        """
        from inweights.probes.resemblance import predicted_similarity

        return experiments.Computation(
            name="foretold",
            labels={"model": ONE_LAYER, **labels},
            compute=predicted_similarity,
            options={**self.stage_one(world, roles), **options},
            seeded=True,
            effort=20,
        )


class EndToEndTraining(iw.Config):
    """Settings of gradient descent on all parameters of a one-layer transformer (appendix A).

    A value of the wrong type raises a ``ConfigError``; ranges are checked on use.

    Attributes:
        model: Config of the transformer.
        rate: Learning rate, above 0.
        loss: Training loss at which a phase stops, at least 0.
        steps: Maximum number of updates per phase.
    """

    model: OneLayerConfig = OneLayerConfig(mlp="relu", init=iw.Init(std=2.5e-3))
    rate: PositiveFloat = 0.1
    loss: float = 0.015
    steps: int = 600

    def curriculum(
        self, course: str, rho: float = 3.0, *, frozen: bool = False
    ) -> experiments.Curriculum:
        """Return the phases of a task, each of which trains all parameters.

        Args:
            course: Name of the task, such as ``joint``, ``SA`` or ``AS``
                (:func:`phase_roles`).
            rho: Number of copies of the similarity premise, at least 1; by default 3.
                It has an effect only in ``joint`` and ``two-hop``.
            frozen: Whether the value matrix is frozen in the second phase; by default
                all parameters are trained.

        Returns:
            A curriculum with one phase or two (``first phase``, ``second phase``), each
            of which stops at the training loss ``loss`` or after ``steps`` updates.

        Raises:
            ConfigError: ``rho`` is below 1, the task is unknown, or a value is out of
                range.
        """
        late = ("attention.key_query", "mlp.*") if frozen else ("*",)
        parts = zip(_PHASES, phase_roles(course, rho), (("*",), late), strict=False)
        phase = partial(
            iw.Phase,
            steps=self.steps,
            optimizer=iw.Optimizer(kind="sgd", rate=self.rate, weight_decay=0.0),
            stop=iw.Stop(loss_below=self.loss, every=5),
        )
        return experiments.Curriculum(
            phases=tuple(
                phase(name=name, roles=roles, moves=moves)
                for name, roles, moves in parts
            )
        )


class GPTTraining(iw.Config):
    """Settings of a GPT that is trained end to end until its training loss reaches a given value.

    Attributes:
        model: Config of the GPT.
        rate: Peak learning rate of AdamW, above 0; its weight decay is 0.01.
        losses: For each task (``joint``, ``SA``, ``AS``, ``two-hop``, ``two-hop without
            identity``), the training loss at which each of its phases stops. If there
            are fewer losses than phases, the later phases are left out.
        steps: Maximum number of updates per phase.

    Raises:
        ConfigError: ``losses`` contains an unknown task.
    """

    model: iw.GPTConfig = iw.GPTConfig(
        layers=3,
        width=96,
        heads=4,
        tied=False,
    )
    rate: PositiveFloat = 1e-3
    losses: dict[str, tuple[float, ...]] = msgspec.field(
        default_factory=lambda: dict(LOSSES)
    )
    steps: int = 1500

    def __post_init__(self) -> None:
        check_names("course", self.losses, SUCCEEDS)

    def curriculum(self, course: str, rho: float = 3.0) -> experiments.Curriculum:
        """Return the phases of a task, each of which trains all parameters.

        Args:
            course: Name of the task, a key of ``losses`` (by default ``joint``, ``SA``,
                ``AS``, ``two-hop`` and ``two-hop without identity``).
            rho: Number of copies of the similarity premise, at least 1; by default 3.
                It has an effect only in ``joint`` and ``two-hop``.

        Returns:
            A curriculum with one or two phases; each stops at its loss in ``losses``.

        Raises:
            ConfigError: ``losses`` does not contain the task, or a value is out of
                range.
        """
        check_names("course", [course], self.losses)
        return self.phases(phase_roles(course, rho), self.losses[course])

    def phases(
        self, parts: Sequence[Mapping[str, float]], losses: Sequence[float]
    ) -> experiments.Curriculum:
        """Return a curriculum that trains on the given roles of facts, phase by phase.

        Args:
            parts: For each phase, the roles that it trains on, with their weights.
            losses: Training loss at which each phase stops. If there are fewer losses
                than ``parts``, the later phases are left out.

        Returns:
            The curriculum, with at most ``steps`` updates of AdamW in each phase.

        Raises:
            ConfigError: ``parts`` or ``losses`` is empty, or a value is out of range.
        """
        return iw.learners.analogy(parts, losses, rate=self.rate, steps=self.steps)
