"""What the path-star recipes share: a graph, how it is learnt, and what is read of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import polars as pl

from inweights.config import Config
from inweights.models.gpt import GPTConfig
from inweights.models.mamba import MambaConfig
from inweights.recipes.recipe import Trial
from inweights.training.curriculum import Curriculum, Optimizer, Phase, Schedule
from inweights.worlds.path_star import PathStar

__all__ = [
    "ALONE",
    "FIRST",
    "FULL",
    "GEOMETRY",
    "HEAD_START",
    "INTERLEAVED",
    "MINI",
    "OURS",
    "PAPER_STAR",
    "PERMUTED",
    "RANDOM",
    "TWO_PHASE",
    "Star",
    "at_the_end",
    "first_step",
    "hardest",
    "whole",
]

#: How a star is learnt. The paper's way: edges and paths together, everything moves.
INTERLEAVED = "interleaved"
#: Edges alone, then edges and paths together; everything moves all along.
HEAD_START = "edges first"
#: The same, and the embeddings stand still in the second phase: paths can only read the geometry.
GEOMETRY = "geometry first"
#: Geometry first, but of the same graph over other nodes: a geometry that helps nobody.
PERMUTED = "permuted"
#: Edges and paths together, and the embeddings never move (E.1).
RANDOM = "random"
#: Edges alone, then paths alone; everything moves (D.3).
TWO_PHASE = "two phases"
#: Edges alone and nothing else (Obs. of §3.1).
ALONE = "edges alone"
#: Where the loss of a path is: at every token, or at the hardest one alone.
FULL, FIRST = "full path", "first token"

Edges = Literal["forward", "backward", "both"]
_ROLES = {
    "forward": ("edge",),
    "backward": ("reverse_edge",),
    "both": ("edge", "reverse_edge"),
}

#: What the paper does not give.
OURS = (
    "At cpu scale graphs of 601 and 801 nodes, 4 layers of width 32 and 2 heads, AdamW at 5e-3, "
    "weight decay .1, flat with 100 warm-up steps and a line to 0 over the last fifth; all edges "
    "and 32 training paths a step. Chosen on the seeds 0 to 7.",
    "Accuracy is by the largest logit over the whole vocabulary, on leaves whose path was never "
    "trained.",
)


class Star(Config):
    """A path-star and how it is learnt.

    Attributes:
        arms: Number of arms.
        nodes: Nodes of a path, root and leaf included.
        pauses: Pause tokens between leaf and path.
        model: The architecture.
        edges: Steps on edges alone, where edges come first.
        paths: Steps with paths, after those.
        together: Steps where edges and paths are interleaved from the start.
        leaves: Trained paths a step; 0 for all.
        sources: Nodes a step, each with all its edges; 0 for all.
        rate: Peak rate.
        weight_decay: Of AdamW.
        warmup: Steps over which the rate rises, at most a quarter of a phase.
        schedule: How it falls: ``linear`` over the last fifth, or the paper's ``cosine`` to a
            tenth.
        precision: ``fp32`` or ``bf16``.
    """

    arms: int = 200
    nodes: int = 4
    pauses: int = 2
    model: GPTConfig | MambaConfig = GPTConfig(layers=4, width=32, heads=2, context=16)
    edges: int = 250
    paths: int = 150
    together: int = 300
    leaves: int = 32
    sources: int = 0
    rate: float = 5e-3
    weight_decay: float = 0.1
    warmup: int = 100
    schedule: Literal["linear", "cosine"] = "linear"
    precision: Literal["fp32", "bf16"] = "fp32"

    @property
    def name(self) -> str:
        """As the paper writes it: ``(arms, nodes)``."""
        return f"({self.arms}, {self.nodes})"

    @property
    def _rest(self) -> tuple[str, ...]:
        """Patterns of all parameters but the token embeddings."""
        has_positions = isinstance(self.model, GPTConfig) and self.model.positions == "learned"
        head = () if self.model.tied else ("head.*",)
        return (*(("positions.*",) if has_positions else ()), "blocks.*", "norm.*", *head)

    def trial(
        self,
        labels: Mapping[str, str | float | bool],
        seed: int,
        *,
        how: str = INTERLEAVED,
        loss: str = FULL,
        edges: Edges = "both",
        reverse: bool = False,
        task_tokens: bool = False,
    ) -> Trial:
        """Return a run.

        Args:
            labels: For the tables.
            seed: Root seed of the world and of the model.
            how: One of the ways above.
            loss: ``full path`` or ``first token``.
            edges: Directions of the edges.
            reverse: Whether the path is said from the leaf.
            task_tokens: Whether a first token says the task; pauses may then be 0.
        """
        world = PathStar(
            arms=self.arms,
            nodes=self.nodes,
            pauses=self.pauses,
            edges=edges,
            reverse=reverse,
            task_tokens=task_tokens,
            answer="first" if loss == FIRST else "path",
            moved=how == PERMUTED,
        )
        return Trial(
            labels=labels,
            world=world,
            model=self.model,
            curriculum=Curriculum(phases=self._phases(how, loss, _ROLES[edges])),
            seed=seed,
        )

    def _phases(self, how: str, loss: str, roles: tuple[str, ...]) -> tuple[Phase, ...]:
        told = tuple(f"moved_{role}" for role in roles) if how == PERMUTED else roles
        alone = self._phase("edges", told, self.edges)
        place = "last" if loss == FIRST else "answer"
        frozen = how in (GEOMETRY, PERMUTED, RANDOM)
        asked = {"loss": place, "moves": self._rest if frozen else ("*",)}
        if how == ALONE:
            return (alone,)
        if how == TWO_PHASE:
            return alone, self._phase("paths", ("path",), self.paths, **asked)
        if how in (INTERLEAVED, RANDOM):
            return (self._phase("both", (*roles, "path"), self.together, **asked),)
        return alone, self._phase("both", (*roles, "path"), self.paths, **asked)

    def _phase(self, name: str, roles: tuple[str, ...], steps: int, **options: Any) -> Phase:
        told = tuple(role for role in roles if role != "path")
        batch = {"+".join(told): self.sources} if told else {}
        if "path" in roles:
            batch["path"] = self.leaves
        linear = self.schedule == "linear"
        return Phase(
            name=name,
            roles=dict.fromkeys(roles, 1.0),
            batch=batch,
            steps=steps,
            pooled=True,
            optimizer=Optimizer(rate=self.rate, weight_decay=self.weight_decay),
            schedule=Schedule(
                kind=self.schedule,
                warmup=min(self.warmup, steps // 4),
                hold=0.8 if linear else 0.0,
                final=0.0 if linear else 0.1,
            ),
            precision=self.precision,
            **options,
        )


#: The paper's (5000, 5) with its sizes and rates (B.2, B.3).
PAPER_STAR = Star(
    arms=5000,
    nodes=5,
    pauses=5,
    model=GPTConfig(layers=12, width=384, heads=8, context=16, positions="sinusoidal"),
    edges=5000,
    paths=20_000,
    together=25_000,
    leaves=512,
    sources=2048,
    rate=5e-4,
    weight_decay=0.01,
    warmup=1000,
    schedule="cosine",
    precision="bf16",
)


#: A few steps on a few arms, for tests.
MINI = Star(
    arms=8,
    model=GPTConfig(layers=1, width=8, heads=1, context=16),
    edges=6,
    paths=6,
    together=12,
    leaves=4,
)


def at_the_end(table: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Rows of the last step of every run, which ``keys`` tell apart."""
    return table.filter(pl.col("step") == pl.col("step").max().over(list(keys)))


def first_step(
    table: pl.DataFrame, column: str, keys: Sequence[str], least: float = 0.5
) -> pl.DataFrame:
    """When ``column`` first reaches ``least``, as ``first``; a step beyond the last if never.

    Example:
        >>> seen = pl.DataFrame({"seed": 0, "step": [0, 10, 20], "exact": [0.0, 0.6, 0.4]})
        >>> first_step(seen, "exact", ["seed"])["first"].item()
        10.0
    """
    reached = pl.col("step").filter(pl.col(column) >= least).min()
    never = pl.col("step").max() + 1
    return table.group_by(list(keys), maintain_order=True).agg(
        first=reached.fill_null(never).cast(pl.Float64)
    )


def hardest(paths: pl.DataFrame) -> pl.DataFrame:
    """Rows of the hardest token on held-out leaves."""
    return paths.filter(pl.col("part") == "queries", pl.col("hardest"))


def whole(paths: pl.DataFrame) -> pl.DataFrame:
    """A row a run: what is known of held-out leaves and of trained ones.

    Returns:
        The labels, ``seed`` and ``step`` (where there is one), ``hardest`` (token of held-out
        leaves), ``exact`` (whole answers of held-out leaves), ``easiest_last`` (the last token of
        held-out leaves), ``trained`` (whole answers of trained leaves).
    """
    about = ("part", "place", "hardest", "accuracy", "loss", "exact", "statements", "chance")
    keys = [name for name in paths.columns if name not in about]
    held, told = (pl.col("part") == part for part in ("queries", "facts"))
    return paths.group_by(keys, maintain_order=True).agg(
        hardest=pl.col("accuracy").filter(held & pl.col("hardest")).mean(),
        exact=pl.col("exact").filter(held).mean(),
        easiest_last=pl.col("accuracy").filter(held).last(),
        trained=pl.col("exact").filter(told).mean(),
        chance=pl.col("chance").filter(held & pl.col("hardest")).mean(),
    )
