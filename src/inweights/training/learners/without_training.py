"""Learners that do not train: :class:`Optimum` and :class:`Fixed`.

An :class:`Optimum` solves a convex program, and a :class:`Fixed` learner changes
nothing. Like other learners, both are configs with a method ``learn``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inweights.config import Config, check_size

if TYPE_CHECKING:
    from inweights.models.base import Model
    from inweights.models.emb_mlp import EmbMLP
    from inweights.worlds.world import World


class Optimum(Config, tag_field="kind", tag="optimum"):
    """Learner that solves program (2) of Identity Bridge (§4.3) for the facts of a world.

    The program minimises the nuclear norm of the matrix of logits such that each fact
    has a margin of at least 1.

    Attributes:
        gap: Maximum relative duality gap of the solution, from 1e-7 to below 1.

    Raises:
        ConfigError: ``gap`` is not in [1e-7, 1).

    Example:
        >>> from inweights.probes import accuracy
        >>> from inweights.worlds import TwoHop
        >>> world = TwoHop(n=3, identity=True).build()
        >>> accuracy(Optimum().learn(world), world).filter(part="queries")["accuracy"].to_list()
        [1.0]
    """

    gap: float = 1e-4

    def __post_init__(self) -> None:
        check_size("optimum.gap", self.gap, least=1e-7, below=1)

    @property
    def steps(self) -> int:
        """Estimated cost for the progress display, in units of one update of a small model."""
        return 100

    def learn(self, world: World, _model: None = None, _seed: int = 0) -> EmbMLP:
        """Return the optimum of program (2) of Identity Bridge, §4.3, as an Emb-MLP of one replica.

        Args:
            world: World whose facts are the constraints on margins.
            _model: Not used, since the solution determines the width of the model.
            _seed: Not used, since no random numbers are drawn.

        Raises:
            SolverError: No matrix satisfies all constraints (the message names facts
                that contradict each other), or the solver did not find such a matrix.
            DataError: No program can be built from the world, for example because a
                fact has several answers, or the program would need more memory than is
                available.
        """
        from inweights.theory.programs.nuclear_norm import solve
        from inweights.theory.programs.to_model import to_model

        return to_model(solve(world, gap=self.gap))


class Fixed(Config, tag_field="kind", tag="fixed"):
    """Learner that returns the model unchanged, as its config builds it.

    A wrapped module keeps its weights, and other models are untrained.
    :func:`inweights.sweep` uses this learner by default for a trained model from
    :func:`inweights.wrap`.

    Example:
        >>> import inweights as iw
        >>> world = iw.TwoHop(n=3).build()
        >>> Fixed().learn(world, iw.EmbMLPConfig(), seed=0).replicas
        1
    """

    @property
    def steps(self) -> int:
        """Estimated cost for the progress display, in units of one update of a small model."""
        return 1

    def learn(self, world: World, model: Any, seed: int) -> Model:
        """Return the model as its config builds it, with one replica.

        Args:
            world: World that determines the number of tokens and the candidates of the
                model.
            model: Config of the model.
            seed: Root seed of the initial values, an integer of at least 0; if the
                config contains several trained modules, the index of the module.

        Raises:
            ConfigError: The config cannot build a model for this world or seed; see
                :meth:`~inweights.models.ModelConfig.build`.
        """
        built: Model = model.build(
            vocabulary=len(world.vocabulary),
            seeds=[seed],
            candidates=world.outputs.tolist(),
        )
        return built
