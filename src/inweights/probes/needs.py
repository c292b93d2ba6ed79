"""Memory that a probe needs, estimated before it starts.

Every probe declares with the decorator :func:`holds` how many bytes it uses for each
entry of each array that can be large. The sizes of these arrays follow from the model
and its worlds (:func:`sizes`). A probe that would need more memory than is available
raises an error (:func:`check_probe`). The factors were measured:
``tests/probes/test_needs.py`` checks that the estimates agree with the measured peak
memory within a factor of two.
"""

from collections.abc import Callable, Mapping, Sized
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np
import torch

from inweights.errors import ConfigError
from inweights.models.base import Model
from inweights.support.limits import check_memory
from inweights.theory.geometric_memory.spectral import EXACT
from inweights.training.batches.worlds import as_worlds
from inweights.training.scoring import MAX_LOGITS
from inweights.worlds.world import Worlds

P = ParamSpec("P")
T = TypeVar("T")

#: Maximum number of random numbers that a probe has in memory at once.
_DRAWS = 2**22
#: Maximum number of positions whose states a probe has in memory at once.
_POSITIONS = 2**14
#: Options of probes that must not be empty, because they select what is measured.
_SELECTIONS = ("layers", "places", "parts", "methods")
#: Maximum number of pairs of nodes that a probe sorts.
_SORTED = 100_000


def sizes(model: Model, worlds: Worlds, most: float = np.inf) -> dict[str, float]:
    """Return the number of entries of each array that a probe may use, keyed by the array's name.

    Args:
        model: The probed model.
        worlds: One world, or one for each replica; the sizes describe the first world.
        most: Maximum number of statements that the probe reads; by default no limit.

    Returns:
        A dictionary from the name of an array to its number of entries:

        - ``logits``, ``whole``: logits for one block of statements, and for all
          statements of the role with the most statements.
        - ``asked``: logits for one block of nodes and one replica.
        - ``states``: states at all positions of a block, in one layer.
        - ``kept``: states of the statements at one position, in all layers.
        - ``cosines``: cosines of one block of pairs.
        - ``matrix``: pairs of nodes, in graphs whose pairs are not sampled.
        - ``draws``: entries of the random embeddings in memory.
        - ``angles``, ``margins``: cosines (0 if they are not sorted) and margins of
          the random embeddings.
        - ``weights``: pairs of a token and a candidate.
        - ``statements``: statements of the role with the most statements.
        - ``one``: always 1; used for memory whose amount is fixed.

    Raises:
        ConfigError: The model has no replica axis.
        DataError: The worlds do not fit the model.
    """
    world = as_worlds(worlds, model)[0]
    replicas = model.replicas
    outputs = len(model.candidates)
    nodes = len(world.vocabulary)
    parts = [part for part in (world.facts, world.queries) if len(part)]
    count = min(
        most, max((int(np.bincount(part.roles).max()) for part in parts), default=1)
    )
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
    """Estimate how many bytes of memory a probe uses in addition to the model.

    Args:
        probe: Function of a model and worlds; without the decorator :func:`holds`, the
            estimate is 0.
        model: The probed model.
        worlds: One world, or one for each replica.

    Returns:
        Number of bytes; 0 for a probe without the decorator.

    Raises:
        ConfigError: The model has no replica axis.
        DataError: The worlds do not fit the model.
    """
    if not hasattr(probe, "holds"):
        return 0.0
    factors, most = probe.holds
    known = sizes(model, worlds, most)
    return float(sum(factor * known[name] for name, factor in factors.items()))


def holds(
    *, most: float = np.inf, **factors: float
) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Return a decorator that declares a probe's memory needs and checks them at each call.

    The decorated probe computes no gradients.

    Args:
        most: Default of the probe's option ``most``, the largest number of statements
            that it reads.
        factors: Number of bytes for each entry of an array of :func:`sizes`, keyed by
            the array's name.

    Returns:
        The decorator. The decorated probe has an attribute ``holds`` with the factors
        and ``most``.

    Raises:
        ConfigError: The decorated probe is called with a model or world that is too
            large (the message states the memory needed and available), with a model
            without a replica axis, or with an empty sequence of ``layers``, ``places``,
            ``parts`` or ``methods``.
        DataError: The decorated probe is called with worlds that do not fit the model.
    """

    def mark(probe: Callable[P, T]) -> Callable[P, T]:
        @torch.no_grad()
        @wraps(probe)
        def refused_first(*given: P.args, **options: P.kwargs) -> T:
            _refuse_empty(options)
            # An argument that is not a Model raises an error in the probe itself, which
            # states what the argument lacks.
            if given and isinstance(given[0], Model):
                check_probe(refused_first, *given, **options)  # type: ignore[arg-type]
            return probe(*given, **options)

        refused_first.holds = factors, most  # type: ignore[attr-defined]
        return refused_first

    return mark


def _refuse_empty(options: Mapping[str, object]) -> None:
    """Raise an error for an empty selection, which would give a table without columns."""
    for name in _SELECTIONS:
        value = options.get(name)
        if isinstance(value, Sized) and not len(value):
            raise ConfigError(
                f"{name} must not be empty, got {value!r}; leave it out for the default"
            )


def check_probe(
    probe: Callable[..., Any], model: Model, worlds: Worlds, **_: object
) -> None:
    """Raise an error if a probe would need more memory than is available.

    Args:
        probe: Function of a model and worlds.
        model: The probed model.
        worlds: One world, or one for each replica.
        _: Options of the probe, which are ignored.

    Raises:
        ConfigError: The probe would need too much memory (the message states the memory
            needed and available, and what to do), or the model has no replica axis.
        DataError: The worlds do not fit the model.
    """
    name = getattr(probe, "__name__", "(unnamed)")
    what = f"probe '{name}' with {len(model.candidates):,} candidates"
    if model.replicas > 1:
        what += f" and {model.replicas} replicas"
    hint = "use fewer replicas at once or a smaller world"
    check_memory(what, needed(probe, model, worlds), hint=hint)
