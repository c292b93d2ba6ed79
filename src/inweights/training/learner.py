"""Learners: how a model is trained or solved.

A curriculum trains it, a descent moves it in closed form, an optimum solves for it. Whatever the
way, a model comes out, so that every probe looks at every model.
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


__all__ = ["Curriculum", "Descent", "Learner", "Optimum"]


class Descent(Config, tag_field="kind", tag="descent"):
    """Node2Vec's descent in closed form (Geometric Memory, appendix F, Lemma 1).

    ``train`` takes the mean over facts; the paper's Node2Vec takes the mean over the neighbours of
    a node, which differs where degrees do. So its updates are those of
    :func:`inweights.theory.geometric_memory.node2vec.descend`, from the model's own start.

    Attributes:
        rate: Learning rate ``η``, of the sum over nodes.
        steps: Number of updates.

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
        """Return the descent of one Node2Vec on a graph, ``R = 1``, from the model's own start.

        Vectors, loss and eigenvalues are kept at the steps to ``record`` and at the last one.

        Raises:
            DataError: The world is no graph, or a step to record does not exist.
            SolverError: The vectors diverged.
        """
        from inweights.theory.geometric_memory.node2vec import descend
        from inweights.theory.geometric_memory.spectral import adjacency

        a = adjacency(world)
        fresh = model.build(vocabulary=len(world.vocabulary), seeds=[seed])
        start = fresh.tokens.weight.detach()[:, : len(a)].double().numpy()
        head = None if fresh.head is None else fresh.head.weight.detach()
        targets = None if head is None else head[:, : len(a)].double().numpy()
        return descend(start, a, rate=self.rate, steps=self.steps, record=record, targets=targets)

    def models(
        self, world: World, model: Node2VecConfig, seed: int, every: int = 0
    ) -> Iterator[tuple[int, Node2Vec]]:
        """Yield step and model on the way, from the start on; only the last where ``every`` is 0.

        The model is one and the same, moved on from look to look.
        """
        import torch

        if every and not model.tied:
            raise ConfigError(
                "only the targets of the last step are stored, so an untied model can be "
                "measured at its end only; leave out 'every', or use fewer steps"
            )
        record = range(0, self.steps + 1, every) if every else ()
        run = self.trajectory(world, model, seed, record)
        seen = model.build(vocabulary=len(world.vocabulary), seeds=[seed]).requires_grad_(False)
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
        """Return what ``probe(model, world, **options)`` says at the end.

        Or on the way, each ``every`` steps from the start on, with a column ``step``.
        """
        import polars as pl

        frames = []
        for step, seen in self.models(world, model, seed, every):
            table = probe(seen, world, **options).drop("replica")
            frames.append(table.with_columns(step=pl.lit(step)) if every else table)
        return pl.concat(frames)

    def learn(self, world: World, model: Node2VecConfig, seed: int) -> Node2Vec:
        """Return the model at the end, one replica."""
        return list(self.models(world, model, seed))[-1][1]


class Optimum(Config, tag_field="kind", tag="optimum"):
    """The optimum of program (2), the least nuclear norm under all margins (Identity Bridge §4.3).

    Attributes:
        gap: Certified relative gap of the solution.

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
        """Updates of a small model that take about as long, for the progress display."""
        return 100

    def learn(self, world: World, _model: None = None, _seed: int = 0) -> EmbMLP:
        """Return the optimum of a world as an Emb-MLP of one replica."""
        from inweights.theory.programs.nuclear_norm import solve
        from inweights.theory.programs.to_model import to_model

        return to_model(solve(world, gap=self.gap))


@runtime_checkable
class OwnLearner(Protocol):
    """A learner of one's own: a config with a tag, added by :func:`register_learner`.

    Attributes:
        steps: Updates of a small model that take about as long, for the progress display.
    """

    @property
    def steps(self) -> int: ...

    def learn(self, world: World, model: Any, seed: int) -> Model:
        """Return a trained model of one replica.

        Args:
            world: Has the facts.
            model: Config of the architecture; ``None`` where a sweep gives none.
            seed: Root seed of whatever is drawn.
        """


Learner = Curriculum | Descent | Optimum | OwnLearner

_KINDS = Kinds(
    "learner",
    [Curriculum, Descent, Optimum],
    {"steps": "steps", "learn": "a method learn(world, model, seed)"},
)


def learner_kind(name: str) -> Any:
    """Return the config class of a kind of learner."""
    return _KINDS.find(name)


def register_learner(kind: type[Any]) -> type[Any]:
    """Add a config class to the known learners, under its tag: files then name it by that.

    Args:
        kind: An :class:`OwnLearner`.

    Raises:
        ConfigError: The class has no tag, no ``learn`` or no ``steps``, or the name is taken.
    """
    return _KINDS.add(kind)
