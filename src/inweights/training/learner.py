"""Learners: ways to obtain a trained model from a world and a model's config.

A :class:`Curriculum` trains it by gradient descent, a :class:`Descent` computes
Node2Vec's descent without autograd, an :class:`Optimum` solves a convex program, a
:class:`Fixed` one leaves it as it is. All of them give a model, which every probe can
measure. :func:`register_learner` adds one of your own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from inweights.config import Config, check_size
from inweights.config.kinds import Kinds
from inweights.errors import ConfigError
from inweights.training.curriculum import MAX_RATE, MAX_STEPS, Curriculum

if TYPE_CHECKING:
    import polars as pl

    from inweights.models.base import Model
    from inweights.models.configs import Node2VecConfig
    from inweights.models.emb_mlp import EmbMLP
    from inweights.models.node2vec import Node2Vec
    from inweights.theory.geometric_memory.node2vec import Trajectory
    from inweights.worlds.world import World


__all__ = ["Curriculum", "Descent", "Fixed", "Learner", "Optimum"]


class Descent(Config, tag_field="kind", tag="descent"):
    """Run Node2Vec's gradient descent with an explicit gradient (Geometric Memory, Lemma 1).

    :func:`inweights.train` minimises the mean over facts; the paper's Node2Vec takes
    for each node the mean over its neighbours, which differs where degrees do. So the
    updates are those of
    :func:`inweights.theory.geometric_memory.node2vec.descend`, from the model's initial
    parameters.

    Attributes:
        rate: Learning rate ``η`` of the sum over nodes.
        steps: Number of updates.

    Raises:
        ConfigError: A value is out of range.

    Example:
        >>> from inweights.models.configs import Node2VecConfig
        >>> import inweights as iw
        >>> ring = iw.worlds.Graph(shape="cycle").build()
        >>> model = Descent().learn(ring, Node2VecConfig(), seed=0)
        >>> bool(iw.probes.hop_correlation(model, ring)["spearman"].item() < -0.95)
        True
    """

    rate: float = 0.01
    steps: int = 10_000

    def __post_init__(self) -> None:
        check_size("descent.rate", self.rate, above=0, most=MAX_RATE)
        check_size("descent.steps", self.steps, least=0, most=MAX_STEPS)

    def trajectory(
        self, world: World, model: Node2VecConfig, seed: int, record: Sequence[int] = ()
    ) -> Trajectory:
        """Compute the descent of one Node2Vec on a graph.

        Args:
            world: A graph.
            model: Config of the Node2Vec; it draws the initial vectors.
            seed: Root seed of the initial vectors.
            record: Steps whose vectors, loss and eigenvalues are recorded; the last is
                in any case.

        Returns:
            The recorded steps.

        Raises:
            DataError: The world must be a graph, or a step to record does not exist.
            SolverError: The vectors diverged.
        """
        from inweights.theory.geometric_memory.node2vec import descend
        from inweights.theory.geometric_memory.spectral import adjacency

        a = adjacency(world)
        fresh = model.build(vocabulary=len(world.vocabulary), seeds=[seed])
        start = fresh.tokens.weight.detach()[:, : len(a)].double().numpy()
        head = None if fresh.head is None else fresh.head.weight.detach()
        targets = None if head is None else head[:, : len(a)].double().numpy()
        return descend(
            start, a, rate=self.rate, steps=self.steps, record=record, targets=targets
        )

    def models(
        self, world: World, model: Node2VecConfig, seed: int, every: int = 0
    ) -> Iterator[tuple[int, Node2Vec]]:
        """Yield ``(step, model)`` each ``every`` steps from step 0 on.

        Args:
            world: A graph.
            model: Config of the Node2Vec.
            seed: Root seed of the initial vectors.
            every: Steps between two models; 0 yields the last one only.

        Returns:
            An iterator over the same model with one replica, changed in place between
            steps.

        Raises:
            ConfigError: The model is untied and ``every`` is not 0.
            DataError: The world must be a graph.
            SolverError: The vectors diverged.
        """
        import torch

        if every and not model.tied:
            raise ConfigError(
                "only the targets of the last step are stored, so an untied model can be "
                "measured at its end only; leave out 'every', or use fewer steps"
            )
        record = range(0, self.steps + 1, every) if every else ()
        run = self.trajectory(world, model, seed, record)
        seen = model.build(
            vocabulary=len(world.vocabulary), seeds=[seed]
        ).requires_grad_(False)
        for step, frame in zip(run.steps.tolist(), run.frames, strict=True):
            seen.tokens.weight[:, : frame.shape[1]] = torch.from_numpy(frame)
            if seen.head is not None and run.targets is not None:
                seen.head.weight[:, : frame.shape[1]] = torch.from_numpy(run.targets)
            yield step, seen

    def observe(
        self,
        probe: Callable[..., pl.DataFrame],
        world: World,
        model: Node2VecConfig,
        seed: int,
        *,
        every: int = 0,
        **options: Any,
    ) -> pl.DataFrame:
        """Measure the model by a probe, at the end or each ``every`` steps.

        Args:
            probe: ``probe(model, world, **options)`` returns a table with a column
                ``replica``.
            world: A graph.
            model: Config of the Node2Vec.
            seed: Root seed of the initial vectors.
            every: Steps between two measurements, from step 0 on; 0 measures at the end
                only.
            options: Options of the probe.

        Returns:
            The probe's table without ``replica``; with a column ``step`` if ``every``
            is not 0.

        Raises:
            ConfigError: The model is untied and ``every`` is not 0.
            DataError: The world must be a graph.
            SolverError: The vectors diverged.
        """
        import polars as pl

        frames = []
        for step, current in self.models(world, model, seed, every):
            table = probe(current, world, **options).drop("replica")
            frames.append(table.with_columns(step=pl.lit(step)) if every else table)
        return pl.concat(frames)

    def learn(self, world: World, model: Node2VecConfig, seed: int) -> Node2Vec:
        """Return the trained model, with one replica.

        Args:
            world: A graph.
            model: Config of the Node2Vec.
            seed: Root seed of the initial vectors.

        Raises:
            DataError: The world must be a graph.
            SolverError: The vectors diverged.
        """
        return list(self.models(world, model, seed))[-1][1]


class Optimum(Config, tag_field="kind", tag="optimum"):
    """Solve program (2): the least nuclear norm under all margins (Identity Bridge §4.3).

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
        """Number of updates of a small model that take as long, for the progress display."""
        return 100

    def learn(self, world: World, _model: None = None, _seed: int = 0) -> EmbMLP:
        """Return the optimum of a world as an Emb-MLP with one replica.

        Args:
            world: Its facts are the margins.
            _model: Not used: the solution decides the width.
            _seed: Not used: the optimum is unique.

        Raises:
            SolverError: No matrix has these margins; names facts that exclude each
                other.
        """
        from inweights.theory.programs.nuclear_norm import solve
        from inweights.theory.programs.to_model import to_model

        return to_model(solve(world, gap=self.gap))


class Fixed(Config, tag_field="kind", tag="fixed"):
    """Leave a model as it is built: trained modules with their weights, others untrained.

    :func:`inweights.sweep` takes it for a trained model, :func:`inweights.wrap`, where
    no learner is given.

    Example:
        >>> import inweights as iw
        >>> world = iw.TwoHop(n=3).build()
        >>> Fixed().learn(world, iw.EmbMLPConfig(), seed=0).replicas
        1
    """

    @property
    def steps(self) -> int:
        """Number of updates of a small model that take as long, for the progress display."""
        return 1

    def learn(self, world: World, model: Any, seed: int) -> Model:
        """Return the model as its config builds it, with one replica.

        Args:
            world: Says how many tokens there are.
            model: Config of the model.
            seed: Root seed of what is drawn; of several trained modules the place of
                one.
        """
        built: Model = model.build(
            vocabulary=len(world.vocabulary),
            seeds=[seed],
            candidates=world.outputs.tolist(),
        )
        return built


@runtime_checkable
class OwnLearner(Protocol):
    """What a learner of your own has to offer: a config with a tag, ``steps`` and ``learn``.

    :func:`register_learner` adds it.
    """

    @property
    def steps(self) -> int:
        """Number of updates of a small model that take as long, for the progress display."""
        ...

    def learn(self, world: World, model: Any, seed: int) -> Model:
        """Return a trained model of one replica.

        Args:
            world: Its facts are learnt.
            model: Config of the architecture; ``None`` where a sweep gives none.
            seed: Root seed of all that is drawn.
        """


Learner = Curriculum | Descent | Optimum | Fixed | OwnLearner

_KINDS = Kinds(
    "learner",
    [Curriculum, Descent, Optimum, Fixed],
    {"steps": "steps", "learn": "a method learn(world, model, seed)"},
)


def learner_kind(name: str) -> Any:
    """Return the config class of a kind of learner.

    Raises:
        ConfigError: There is no such kind; names the nearest one.

    Example:
        >>> learner_kind("descent").__name__
        'Descent'
    """
    return _KINDS.find(name)


def register_learner(kind: type[Any]) -> type[Any]:
    """Add a config class to the known kinds of learners, under its tag, and return it.

    Files then name it by the tag. It can be used as a decorator.

    Args:
        kind: A class with the members of :class:`OwnLearner`.

    Raises:
        ConfigError: The class has no tag, no ``learn`` or no ``steps``, or the name is
            taken.
    """
    return _KINDS.add(kind)
