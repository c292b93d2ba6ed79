"""What configs of all architectures share: what is asked of one, initial scales, and the start."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import signature
from typing import TYPE_CHECKING, Any, NotRequired, Protocol, TypedDict, TypeVar

from inweights.config import Config, check_size
from inweights.seeds import as_seeds

if TYPE_CHECKING:
    from inweights.models.base import Model

M = TypeVar("M", bound="Model")


class ModelConfig(Protocol):
    """What a recipe, or anyone, asks of an architecture's config: that it builds the model."""

    def build(
        self,
        *,
        vocabulary: int,
        seeds: int | Sequence[int],
        inits: Sequence[Init] | None = None,
        candidates: Sequence[int] | None = None,
    ) -> Model:
        """Build the model, one replica a seed.

        Args:
            vocabulary: Number of tokens ``V``.
            seeds: Root seed of each replica; decides its initial parameters.
            inits: Initial scale of each replica, where the config's own does not hold for all.
            candidates: Tokens that occur as answers; a head may cover only these.
        """
        ...


class Init(Config):
    """Initial scale of every weight matrix: entries from ``N(0, σ²)``.

    Identity Bridge §3.4: GPT-2 takes ``σ = 0.02``; a small initialisation takes
    ``σ = d_in^-γ`` with ``γ > 0.5``.
    The input width of an embedding is the model's width, as for its tied head.

    Attributes:
        std: Standard deviation ``σ``; unused where ``gamma`` is given.
        gamma: Exponent ``γ`` of the input width.

    Example:
        >>> Init().sigma(64), round(Init(gamma=1.25).sigma(64), 4)
        (0.02, 0.0055)
    """

    std: float = 0.02
    gamma: float | None = None

    def __post_init__(self) -> None:
        check_size("init.std", self.std, above=0)
        check_size("init.gamma", 1.0 if self.gamma is None else self.gamma, above=0)

    def sigma(self, fan_in: int) -> float:
        """Standard deviation of a weight matrix whose input width is ``fan_in``."""
        return self.std if self.gamma is None else float(fan_in) ** -self.gamma


class Start(TypedDict):
    """What a model is built from besides its config; see :meth:`ModelConfig.build`."""

    vocabulary: int
    seeds: int | Sequence[int]
    inits: NotRequired[Sequence[Init] | None]
    candidates: NotRequired[Sequence[int] | None]


def built(
    kind: Callable[..., M],
    config: Any,
    *,
    vocabulary: int,
    seeds: int | Sequence[int],
    inits: Sequence[Init] | None = None,
    candidates: Sequence[int] | None = None,
    embedding_std: float | None = None,
) -> M:
    """Make the model of a config and draw the start of every replica; see :class:`Start`.

    A ``kind`` with a head for ``candidates`` is given them. Without ``inits``, ``init`` of the
    config is the scale, and ``embedding_std`` and ``position_std`` are those of its tables.
    """
    import torch

    from inweights.models.layers import Embedding, initialise

    listed = as_seeds(seeds)
    scales = inits or [config.init] * len(listed)
    heads = {"candidates": candidates} if "candidates" in signature(kind).parameters else {}
    model = kind(config, vocabulary=vocabulary, replicas=len(listed), **heads)
    initialise(model, listed, scales)
    stds = {
        "tokens": embedding_std or getattr(config, "embedding_std", None),
        "positions": getattr(config, "position_std", None),
    }
    for name, std in stds.items():
        table = getattr(model, name, None)
        if std is not None and isinstance(table, Embedding):
            factors = [std / init.sigma(table.weight.shape[2]) for init in scales]
            with torch.no_grad():
                table.weight.mul_(torch.tensor(factors).view(-1, 1, 1))
    return model
