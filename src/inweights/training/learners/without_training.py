"""Learners that do not train: :class:`Optimum` solves a program, :class:`Fixed` changes nothing.

Both are configs with a method ``learn``, as every learner is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inweights.config import Config, check_size

if TYPE_CHECKING:
    from inweights.models.base import Model
    from inweights.models.emb_mlp import EmbMLP
    from inweights.worlds.world import World


class Optimum(Config, tag_field="kind", tag="optimum"):
    """Solve program (2): the smallest nuclear norm subject to all margins (Identity Bridge §4.3).

    Attributes:
        gap: Largest relative duality gap of the solution, from 1e-7 to 1.

    Raises:
        ConfigError: The gap is out of range.

    Example:
        >>> from inweights.probes import accuracy
        >>> from inweights.worlds import TwoHop
        >>> world = TwoHop(n=3, identity=True).build()
        >>> accuracy(Optimum().learn(world), world).filter(part="queries")["accuracy"].to_list()
        [1.0]
    """

    gap: float = 1e-4

    def __post_init__(self) -> None:
        check_size("optimum.gap", self.gap, least=1e-7, most=1)

    @property
    def steps(self) -> int:
        """Estimated cost in updates of a small model, for the progress display."""
        return 100

    def learn(self, world: World, _model: None = None, _seed: int = 0) -> EmbMLP:
        """Return the optimum of a world as an Emb-MLP with one replica.

        Args:
            world: World whose facts are the constraints on margins.
            _model: Not used, since the solution determines the width.
            _seed: Not used, since the optimum is unique.

        Raises:
            SolverError: No matrix satisfies all constraints; the message names facts
                that contradict each other.
            DataError: The world does not define such a program.
            ConfigError: A limit of the solver is not valid.
        """
        from inweights.theory.programs.nuclear_norm import solve
        from inweights.theory.programs.to_model import to_model

        return to_model(solve(world, gap=self.gap))


class Fixed(Config, tag_field="kind", tag="fixed"):
    """Leave a model as it is built: trained modules with their weights, other models untrained.

    :func:`inweights.sweep` uses it by default for a trained model from
    :func:`inweights.wrap`.

    Example:
        >>> import inweights as iw
        >>> world = iw.TwoHop(n=3).build()
        >>> Fixed().learn(world, iw.EmbMLPConfig(), seed=0).replicas
        1
    """

    @property
    def steps(self) -> int:
        """Estimated cost in updates of a small model, for the progress display."""
        return 1

    def learn(self, world: World, model: Any, seed: int) -> Model:
        """Return the model as its config builds it, with one replica.

        Args:
            world: World whose number of tokens the model gets.
            model: Config of the model.
            seed: Root seed of the initial values; if the config contains several
                trained modules, the index of the module.
        """
        built: Model = model.build(
            vocabulary=len(world.vocabulary),
            seeds=[seed],
            candidates=world.outputs.tolist(),
        )
        return built
