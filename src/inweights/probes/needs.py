"""What a probe holds in memory, estimated before it starts.

Every probe says with :func:`holds` how many bytes it takes for each of the arrays that can be
large; their sizes follow from the model and its worlds. The factors were measured
(``tests/probes/test_needs.py`` holds them to the peaks, within a factor of two).
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np
import torch

from inweights.models.base import Model
from inweights.support.limits import check_memory
from inweights.theory.geometric_memory.spectral import EXACT
from inweights.training.batches.worlds import as_worlds
from inweights.training.scoring import MAX_LOGITS
from inweights.worlds.world import Worlds

P = ParamSpec("P")
T = TypeVar("T")

#: Random numbers, and positions of prompts, that a probe holds at once; pairs that it sorts.
_DRAWS, _POSITIONS, _SORTED = 2**22, 2**14, 100_000


def sizes(model: Model, worlds: Worlds, most: float = np.inf) -> dict[str, float]:
    """Return the numbers in each array that a probe of at most so many statements may hold.

    Returns:
        ``logits``: of a block of statements; ``whole``: of all of them; ``asked``: of a
        block of nodes, of one replica; ``states``: of the positions of a block, at one layer;
        ``kept``: of all prompts, at all layers; ``cosines``: of a block; ``matrix``: of pairs of
        nodes, as far as all are asked; ``draws``: random embeddings; ``angles``: their cosines,
        where they are sorted; ``margins``: theirs; ``weights``: a matrix of tokens and candidates;
        ``statements``; and ``one``, what is there at any size.
    """
    world = as_worlds(worlds, model)[0]
    replicas, outputs = model.replicas, len(model.candidates)
    nodes = len(world.vocabulary)
    parts = [part for part in (world.facts, world.queries) if len(part)]
    count = min(most, max((int(np.bincount(part.roles).max()) for part in parts), default=1))
    length = max((len(part.prompts) / len(part) for part in parts), default=1.0)
    table = model.token_table
    width = 1 if table is None else table.shape[-1]
    return {
        "logits": replicas * min(count * outputs, MAX_LOGITS),
        "whole": replicas * count * outputs,
        "asked": min(nodes * outputs, MAX_LOGITS),
        "states": replicas * min(count * length, _POSITIONS) * width,
        "kept": replicas * count * width * len(model.layer_names),
        "cosines": replicas * min(count**2, 2 * MAX_LOGITS),
        "matrix": min(nodes, EXACT) ** 2,
        "draws": min(200 * nodes * width, _DRAWS),
        "angles": min(200 * nodes**2, _DRAWS // 2) * (nodes**2 <= _SORTED),
        "margins": min(200 * nodes**2, 2 * _DRAWS),
        "weights": nodes * outputs,
        "statements": count,
        "one": 1,
    }


def needed(probe: Callable[..., Any], model: Model, worlds: Worlds) -> float:
    """Return about how many bytes a probe takes beyond the model; 0 of one that does not say."""
    if not hasattr(probe, "holds"):
        return 0.0
    factors, most = probe.holds
    known = sizes(model, worlds, most)
    return float(sum(factor * known[name] for name, factor in factors.items()))


def holds(*, most: float = np.inf, **factors: float) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Say what a probe holds: bytes for each number in an array of :func:`sizes`.

    Of at most ``most`` statements, as its option says by default. The probe computes no gradients,
    and is refused where memory would not do.

    Raises:
        ConfigError: When it is called with too large a model or world; says both numbers.
    """

    def mark(probe: Callable[P, T]) -> Callable[P, T]:
        @torch.no_grad()
        @wraps(probe)
        def refused_first(*given: P.args, **options: P.kwargs) -> T:
            if given and isinstance(given[0], Model):  # any other is refused by what it lacks
                check_probe(refused_first, *given, **options)  # type: ignore[arg-type]
            return probe(*given, **options)

        refused_first.holds = factors, most  # type: ignore[attr-defined]
        return refused_first

    return mark


def check_probe(probe: Callable[..., Any], model: Model, worlds: Worlds, **_: object) -> None:
    """Refuse a probe that would take more memory than there may be.

    Raises:
        ConfigError: It would; says both numbers, and what to do.
    """
    name = getattr(probe, "__name__", "of one's own")
    what = f"probe '{name}' of {len(model.candidates):,} candidates"
    check_memory(
        f"{what} and {model.replicas} replicas" if model.replicas > 1 else what,
        needed(probe, model, worlds),
        hint="look at fewer replicas at once or at a smaller world",
    )
