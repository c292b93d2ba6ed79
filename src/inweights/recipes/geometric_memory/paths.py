"""Define the graph, the training and the measures that the path-star recipes share."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Literal

from msgspec import structs

import inweights as iw
from inweights.config import check_size
from inweights.experiments import Curriculum, Measure, Trial, Value
from inweights.models.configs import MambaConfig
from inweights.worlds.families.own_path_star import OwnPathStar
from inweights.worlds.families.path_star import PathStar

Way = Literal[
    "interleaved",
    "edges first",
    "geometry first",
    "permuted",
    "random",
    "two phases",
    "edges alone",
]
#: Edges and paths are mixed from the start, as in the paper.
INTERLEAVED: Way = "interleaved"
#: Edges alone in a first phase, then edges and paths.
HEAD_START: Way = "edges first"
#: As ``edges first``, but the embeddings are frozen in the second phase.
GEOMETRY: Way = "geometry first"
#: As ``geometry first``, but the nodes are permuted in the edges of the first phase.
PERMUTED: Way = "permuted"
#: Edges and paths are mixed, and the embeddings are never trained (E.1).
RANDOM: Way = "random"
#: Edges alone in a first phase, then paths alone (D.3).
TWO_PHASE: Way = "two phases"
#: Edges alone, without paths (observations in Section 3.1).
ALONE: Way = "edges alone"

Loss = Literal["full path", "first token"]
#: Loss over all tokens of a path, or only over the hardest one.
FULL: Loss = "full path"
FIRST: Loss = "first token"

EDGES = ("edge", "reverse_edge")
_ROLES = {"forward": EDGES[:1], "backward": EDGES[1:], "both": EDGES}


def curves(every: int = 0) -> Measure:
    """Return the measure ``paths``: accuracy on paths, token by token.

    Args:
        every: Number of steps between measurements during training; if 0 (the default),
            only the final model is measured.

    Returns:
        The measure, whose probe is :func:`inweights.probes.path_accuracy`.

    Raises:
        ConfigError: ``every`` is negative.
    """
    return Measure(name="paths", probe=iw.probes.path_accuracy, every=every)


def recall(every: int = 0, *, apart: bool = False) -> Measure:
    """Return the measure ``edges``: recall of edges in both directions.

    Args:
        every: Number of steps between measurements during training; if 0 (the default),
            only the final model is measured.
        apart: Whether edges of the root are measured separately (column ``hub``); by
            default false.

    Returns:
        The measure, which applies the probe :func:`inweights.probes.stepwise` to the
        roles ``edge`` and ``reverse_edge``.

    Raises:
        ConfigError: ``every`` is negative.
    """
    options = {"roles": EDGES, **({"apart": True} if apart else {})}
    return Measure(name="edges", probe=iw.probes.stepwise, options=options, every=every)


class PathStarTraining(iw.Config):
    """Settings of a path-star, a graph of paths (arms) with a common root, and of its training.

    A value of the wrong type raises a ``ConfigError``; ranges are checked on use.

    Attributes:
        arms: Number of arms, at least 2.
        nodes: Number of nodes of a path, including root and leaf; at least 3.
        pauses: Number of pause tokens between the leaf and its path, at least 0.
        model: Config of the GPT or Mamba to train.
        edges: Number of updates on edges alone, if training on edges comes first.
        paths: Number of updates on paths after the updates on edges.
        together: Number of updates if training mixes edges and paths.
        leaves: Number of training paths in each update; 0 for all.
        sources: Number of nodes whose edges are in each update; 0 for all nodes.
        rehearsed: Number of nodes whose edges are rehearsed in each update on paths, if
            training on edges comes first; if 0, ``sources`` is used.
        rate: Peak learning rate, above 0.
        weight_decay: Weight decay of AdamW, at least 0.
        warmup: Number of warm-up updates, but at most a quarter of a phase.
        schedule: Decay of the learning rate: ``linear`` to 0 over the last fifth of a
            phase, or ``cosine`` to a tenth (as in the paper).
        precision: Precision of the training, ``fp32`` or ``bf16``.
        task_tokens: Whether sequences begin with a task token, ``[EDGE]`` or ``[PATH]``
            (Geometric Memory, B.1).
        pressure: Weight decay on edges alone; if 0, ``weight_decay`` is used.
        settle: Number of further updates on edges alone, with ``weight_decay``.
    """

    later = {"rehearsed": 0, "task_tokens": False, "pressure": 0.0, "settle": 0}

    arms: int = 200
    nodes: int = 4
    pauses: int = 2
    model: iw.GPTConfig | MambaConfig = iw.GPTConfig(
        layers=4, width=32, heads=2, context=16
    )
    edges: int = 250
    paths: int = 150
    together: int = 300
    leaves: int = 32
    sources: int = 0
    rehearsed: int = 0
    rate: float = 5e-3
    weight_decay: float = 0.1
    warmup: int = 100
    schedule: Literal["linear", "cosine"] = "linear"
    precision: Literal["fp32", "bf16"] = "fp32"
    task_tokens: bool = True
    pressure: float = 0.0
    settle: int = 0

    def __post_init__(self) -> None:
        check_size("arms", self.arms, least=2)
        check_size("nodes", self.nodes, least=3)

    @property
    def name(self) -> str:
        """Label of the path-star in the paper's notation, ``(arms, nodes)``."""
        return f"({self.arms}, {self.nodes})"

    def trial(
        self,
        labels: Mapping[str, Value],
        *,
        how: Way = INTERLEAVED,
        loss: Loss = FULL,
        task: PathStar | OwnPathStar = PathStar(),  # noqa: B008
    ) -> Trial:
        """Return the trial of one kind of training on the path-star.

        Args:
            labels: Labels of the trial, by name, which become columns of the tables.
            how: Order of training on edges and paths, by default ``interleaved``;
                :meth:`curriculum` lists all orders.
            loss: ``full path`` (the default; loss over all tokens of a path) or ``first
                token`` (only over the hardest token, the first after the root; the
                answer then consists of this token only).
            task: Config of the world. Its fields ``pauses`` and ``answer`` are
                replaced, according to these settings and to ``loss``. For a
                :class:`PathStar`, ``arms`` and ``nodes`` are replaced as well.

        Raises:
            ConfigError: A number is out of range for a path-star (such as fewer than 2
                arms or 3 nodes), the model or its training, or settings of ``task``
                conflict.
            DataError: ``task`` is an :class:`OwnPathStar` with ``listed`` edges and no
                path.
        """
        own = isinstance(task, OwnPathStar)
        world = structs.replace(
            task,
            pauses=self.pauses,
            task_tokens=self.task_tokens or task.task_tokens,
            answer="first" if loss == FIRST else "path",
            moved=how == PERMUTED,
            **({} if own else {"arms": self.arms, "nodes": self.nodes}),
        )
        roles = (
            world.build().facts.role_names
            if task.edges == "listed"
            else _ROLES[task.edges]
        )
        learner = self.curriculum(
            how, loss, tuple(role for role in EDGES if role in roles)
        )
        return Trial(
            labels=labels,
            world=world,
            model=self.model,
            learner=learner,
        )

    def curriculum(
        self, how: Way, loss: Loss = FULL, roles: tuple[str, ...] = EDGES
    ) -> Curriculum:
        """Return the curriculum for training on paths and on edges of the given roles.

        Args:
            how: ``interleaved`` (edges and paths together), ``random`` (the same with
                frozen embeddings), ``edges first`` (edges, then edges and paths),
                ``geometry first`` (as ``edges first``, but embeddings are frozen in the
                second phase), ``permuted`` (as ``geometry first``, except that the nodes
                are permuted in the edges of the first phase), ``two phases`` (edges, then
                paths alone) or ``edges alone``.
            loss: ``full path`` (the default; loss over all tokens of a path) or ``first
                token`` (only over the hardest token, the first after the root).
            roles: Roles of the edges to train on: ``edge`` (away from the root),
                ``reverse_edge`` (towards the root), or both (the default).

        Returns:
            One to three phases, named ``edges``, ``settle`` (if it has updates) and
            ``both`` or ``paths``.

        Raises:
            ConfigError: ``rate`` is not positive, or a number or a decay is negative.
        """
        told = tuple(f"moved_{role}" for role in roles) if how == PERMUTED else roles
        alone = [
            self._phase("edges", told, self.edges, self.sources, decay=self.pressure)
        ]
        if self.settle:
            alone.append(self._phase("settle", told, self.settle, self.sources))
        with_paths = partial(
            self._phase,
            loss="last" if loss == FIRST else "answer",
            freezes=("tokens.*",) if how in (GEOMETRY, PERMUTED, RANDOM) else (),
        )
        if how == ALONE:
            return Curriculum(phases=tuple(alone))
        if how == TWO_PHASE:
            return Curriculum(
                phases=(*alone, with_paths("paths", ("path",), self.paths))
            )
        both = (*roles, "path")
        if how in (INTERLEAVED, RANDOM):
            return Curriculum(
                phases=(with_paths("both", both, self.together, self.sources),)
            )
        rehearsed = self.rehearsed or self.sources
        return Curriculum(
            phases=(*alone, with_paths("both", both, self.paths, rehearsed))
        )

    def _phase(
        self,
        name: str,
        roles: Sequence[str],
        steps: int,
        sources: int = 0,
        *,
        decay: float = 0.0,
        **how: Any,
    ) -> iw.Phase:
        edges = "+".join(role for role in roles if role != "path")
        batch = {edges: sources} if edges else {}
        if "path" in roles:
            batch["path"] = self.leaves
        linear = self.schedule == "linear"
        return iw.Phase(
            name=name,
            roles=dict.fromkeys(roles, 1.0),
            batch=batch,
            steps=steps,
            pooled=True,
            optimizer=iw.Optimizer(
                rate=self.rate, weight_decay=decay or self.weight_decay, decayed="all"
            ),
            schedule=iw.Schedule(
                kind=self.schedule,
                warmup=min(self.warmup, steps // 4),
                hold=0.8 if linear else 0.0,
                final=0.0 if linear else 0.1,
            ),
            precision=self.precision,
            **how,
        )


#: Stars with 200 arms, with 4 and with 5 nodes per path.
STARS = (PathStarTraining(nodes=4), PathStarTraining(nodes=5))

#: Settings with a few steps on a few arms, for tests.
MINI = PathStarTraining(
    arms=8,
    model=iw.GPTConfig(
        layers=1,
        width=8,
        heads=1,
        context=16,
    ),
    edges=6,
    paths=6,
    together=12,
    leaves=4,
)
