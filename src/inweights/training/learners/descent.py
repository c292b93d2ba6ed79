"""The learner :class:`Descent`, which trains a Node2Vec with an explicit gradient.

The updates are computed in ``theory/geometric_memory/node2vec.py``. This file turns the
results into models, which probes can measure during the descent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from inweights.config import Config, check_size
from inweights.errors import ConfigError
from inweights.training.curriculum import MAX_RATE, MAX_STEPS

if TYPE_CHECKING:
    import polars as pl

    from inweights.models.configs import Node2VecConfig
    from inweights.models.node2vec import Node2Vec
    from inweights.theory.geometric_memory.node2vec import Trajectory
    from inweights.worlds.world import World


class Descent(Config, tag_field="kind", tag="descent"):
    """Learner that trains Node2Vec with an explicit gradient (Geometric Memory, Lemma 1).

    :func:`inweights.train` minimises the mean loss over facts. The Node2Vec objective
    of the paper is a mean over the neighbours of each node, which differs from the mean
    over facts if nodes have different degrees. Therefore this learner performs the
    updates of :func:`inweights.theory.geometric_memory.node2vec.descend`, starting from
    the model's initial parameters.

    Attributes:
        rate: Learning rate ``η``, above 0, for the loss summed over nodes.
        steps: Number of updates, at least 0; with 0 the initial vectors are unchanged.

    Raises:
        ConfigError: ``rate`` is not above 0, or ``steps`` is negative.

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
        """Train one Node2Vec model on a graph by gradient descent, and record selected steps.

        Args:
            world: A graph: a world whose facts are edges.
            model: Config of the Node2Vec model. Together with ``seed``, it determines
                the initial vectors.
            seed: Root seed of the initial vectors.
            record: Steps, from 0 (the start) to ``steps``, at which vectors, loss and
                eigenvalues are recorded; the last step is always recorded.

        Returns:
            The final vectors, and the losses and vectors at the recorded steps, for one
            replica; see
            :class:`~inweights.theory.geometric_memory.node2vec.Trajectory`.

        Raises:
            ConfigError: The model is not a Node2Vec, or the seed is not an integer of at
                least 0.
            DataError: The world is not a graph, or a step in ``record`` does not exist.
            SolverError: The vectors became infinite or NaN.
        """
        from inweights.theory.geometric_memory.node2vec import descend

        a = _adjacency(world, sparse=_is_tied(model))
        nodes = a.shape[0]
        fresh = model.build(vocabulary=len(world.vocabulary), seeds=[seed])
        start = fresh.tokens.weight.detach()[:, :nodes].numpy()
        if not hasattr(a, "tocsr"):
            start = start.astype(np.float64)
        head = None if fresh.head is None else fresh.head.weight.detach()
        targets = None if head is None else head[:, :nodes].double().numpy()
        return descend(
            start,
            a,
            rate=self.rate,
            steps=self.steps,
            record=record,
            targets=targets,
        )

    def models(
        self, world: World, model: Node2VecConfig, seed: int, every: int = 0
    ) -> Iterator[tuple[int, Node2Vec]]:
        """Yield the model at step 0, at every ``every``-th step, and at the last step.

        Args:
            world: A graph: a world whose facts are edges.
            model: Config of the Node2Vec model.
            seed: Root seed of the initial vectors.
            every: Number of steps between two models; 0 yields only the last model.

        Yields:
            Pairs of the number of updates and the model, which has one replica. All
            pairs contain the same model, which is changed in place between steps.

        Raises:
            ConfigError: The model is not a Node2Vec, or is untied (has separate output
                vectors) and ``every`` is not 0; or the seed is not an integer of at
                least 0.
            DataError: The world is not a graph.
            SolverError: The vectors became infinite or NaN.
        """
        import torch

        if every and not _is_tied(model):
            raise ConfigError(
                "an untied model can be measured only at the end of the descent, because the "
                "targets of earlier steps are not stored; leave out 'every', which was set to "
                f"{every}"
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

    def is_unchanged_by_looks(self, world: World, model: Node2VecConfig) -> bool:
        """Return whether the final model is bitwise identical for any choice of measured steps.

        This is the case for graphs with more than 2000 nodes if the model is tied (has
        no separate output vectors). For smaller graphs, the basis is recomputed and the
        method of computation is chosen again at each measured step.

        Args:
            world: A graph: a world whose facts are edges.
            model: Config of the Node2Vec model.

        Raises:
            ConfigError: The model is not a Node2Vec.
            DataError: The world is not a graph.
        """
        from inweights.theory.geometric_memory.graph import edge_ends
        from inweights.theory.geometric_memory.spectral import EXACT

        return _is_tied(model) and edge_ends(world)[0] > EXACT

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
        """Measure the model with a probe during and after gradient descent, or only after it.

        Args:
            probe: Function ``probe(model, world, **options)`` that returns a table with
                a column ``replica``.
            world: A graph: a world whose facts are edges.
            model: Config of the Node2Vec model.
            seed: Root seed of the initial vectors.
            every: Number of steps between two measurements; the first is at step 0. If
                ``every`` is 0, the model is measured only at the end.
            options: Options of the probe.

        Returns:
            The probe's table without ``replica``. If ``every`` is not 0, the tables of
            all measured steps are concatenated, with a column ``step`` (number of
            updates).

        Raises:
            ConfigError: The model is not a Node2Vec, or is untied (has separate output
                vectors) and ``every`` is not 0; or the seed is not an integer of at
                least 0.
            DataError: The world is not a graph.
            SolverError: The vectors became infinite or NaN. Errors of the probe propagate.
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
            world: A graph: a world whose facts are edges.
            model: Config of the Node2Vec model.
            seed: Root seed of the initial vectors.

        Raises:
            ConfigError: The model is not a Node2Vec, or the seed is not an integer of at
                least 0.
            DataError: The world is not a graph.
            SolverError: The vectors became infinite or NaN.
        """
        return list(self.models(world, model, seed))[-1][1]


def _is_tied(model: Any) -> bool:
    """Return whether a Node2Vec has no separate output vectors; refuse other models."""
    from inweights.models.configs import Node2VecConfig

    if not isinstance(model, Node2VecConfig):
        raise ConfigError(
            f"the learner 'descent' trains only the model 'node2vec', got {model!r}; choose "
            "this model, or a different learner"
        )
    return model.tied


def _adjacency(world: World, *, sparse: bool) -> Any:
    """Return the adjacency matrix of a graph; if ``sparse``, large graphs get a sparse array.

    With a sparse array, results are computed in blocks and in single precision, so that
    they differ by rounding from those with a dense matrix. Therefore small graphs
    always have a dense matrix.
    """
    from scipy.sparse import csr_array

    from inweights.theory.geometric_memory.graph import adjacency, edge_ends
    from inweights.theory.geometric_memory.spectral import EXACT

    count, u, v = edge_ends(world)
    if count <= EXACT or not sparse:
        return adjacency(world)
    found = csr_array((np.ones(len(u)), (u, v)), shape=(count, count))
    found.data[:] = 1.0  # parallel edges count once
    return found
