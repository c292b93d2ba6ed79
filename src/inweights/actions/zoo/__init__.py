"""Load small trained models that come with the library: ``iw.load("two-hop/gpt")``.

Each has a :class:`Card`: its configs, seeds and accuracy, and the claim that it
illustrates. Weights are safetensors, one file a model. ``python -m benchmarks.zoo`` in
a clone makes all of it again.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from inweights.actions.configs import from_dict
from inweights.config import Config, decode
from inweights.errors import check_names

if TYPE_CHECKING:
    import torch

    from inweights.models.base import Model
    from inweights.worlds.world import World

__all__ = ["Card", "Stored", "cards", "load", "weights"]

_HERE = Path(__file__).parent
CARDS = _HERE / "cards.json"
WEIGHTS = _HERE / "weights"


class Card(Config):
    """Description of a stored model.

    Attributes:
        name: Its name, ``<world>/<architecture>``.
        claim: The sentence that it illustrates.
        world: Its config, as :func:`inweights.to_dict` gives it; its seed is 0.
        model: The same of the architecture.
        learner: The same of how it was trained or solved.
        seeds: Root seed of each replica.
        accuracy: By part and role, the mean over replicas.
        hop_correlation: Of a graph, the rank correlation of cosine and distance in
            hops; otherwise ``None``.
        bytes: Size of its file.
    """

    name: str
    claim: str
    world: dict[str, Any]
    model: dict[str, Any]
    learner: dict[str, Any]
    seeds: tuple[int, ...]
    accuracy: dict[str, float] = {}
    hop_correlation: float | None = None
    bytes: int = 0


@dataclass(frozen=True)
class Stored:
    """A stored model with its card and its world.

    Attributes:
        card: What it is.
        model: The model.
    """

    card: Card
    model: Model

    @cached_property
    def world(self) -> World:
        """The world that it was trained on."""
        built: World = from_dict(self.card.world).build(0)
        return built


@cache
def cards() -> tuple[Card, ...]:
    """Return the cards of all stored models.

    Example:
        >>> cards()[0].name
        'two-hop/gpt'
    """
    listed = msgspec.json.decode(CARDS.read_bytes(), type=list[dict[str, Any]])
    return tuple(decode(Card, one) for one in listed)


def load(name: str, device: torch.device | str = "cpu") -> Stored:
    """Return a small trained model that comes with the library.

    Args:
        name: As ``inweights models`` lists it.
        device: Where the model lives.

    Raises:
        ConfigError: There is no model of this name; the message names the nearest.

    Example:
        >>> import inweights as iw
        >>> stored = iw.load("two-hop/emb-mlp")
        >>> iw.probes.accuracy(stored.model, stored.world)["accuracy"].min()
        1.0
    """
    from inweights.models.save import load_model

    known = {card.name: card for card in cards()}
    check_names("stored model", [name], known)
    return Stored(known[name], load_model(weights(name), device))


def weights(name: str) -> Path:
    """Return the file of a stored model."""
    return WEIGHTS / f"{name.replace('/', '--')}.safetensors"
